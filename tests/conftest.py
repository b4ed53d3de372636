import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch


def pytest_configure() -> None:
    # Several processes with several threads each are many times slower than with one.
    if "PYTEST_XDIST_WORKER" in os.environ:
        torch.set_num_threads(1)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of the real data sets, or a skip that says how to get it."""
    root = Path(os.environ.get("UNBRAID_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not root.is_dir():
        pytest.skip(f"no real data at {root.name}: set UNBRAID_DATA to its folder")
    return root


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """One thread: sums are then made in one order, and weights equal those of such a process."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
