import os
from pathlib import Path

import pytest
import torch


def pytest_configure() -> None:
    torch.set_num_threads(1 if "PYTEST_XDIST_WORKER" in os.environ else 2)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of the real data sets, or a skip that says how to get it."""
    root = Path(os.environ.get("UNBRAID_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not root.is_dir():
        pytest.skip(f"no real data at {root.name}: set UNBRAID_DATA to its folder")
    return root
