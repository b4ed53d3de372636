import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from unbraid import precision


def pytest_configure() -> None:
    # Several processes with several threads each are many times slower than with one.
    if "PYTEST_XDIST_WORKER" in os.environ:
        torch.set_num_threads(1)


@pytest.fixture(autouse=True, scope="session")
def fp32_by_default() -> Iterator[None]:
    """Let precision "auto" mean fp32, so that a test does the same on every machine.

    Tests of bf16 ask for it; `native_bf16` itself is tested where it is.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(precision, "native_bf16", lambda device: False)
        precision.inference_precision.set("fp32")  # of processes that tests start, too
        yield


@pytest.fixture(autouse=True, scope="session")
def unsynced_files() -> Iterator[None]:
    """Let files reach the disk when the system likes: no test but those of torture cuts its power.

    Each would wait for all that was written before, and the data sets are a gigabyte.
    """
    with pytest.MonkeyPatch.context() as patch:
        if "UNBRAID_TORTURE" not in os.environ:
            patch.setattr(os, "fsync", lambda handle: None)
        yield


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


@pytest.fixture(scope="module")
def blank_figures() -> Iterator[None]:
    """Save one grey pixel for a chart: tests/figures/ and a report of tests/cli/ draw in full."""
    from matplotlib.figure import Figure
    from PIL import Image

    def savefig(figure: Figure, file: Any, **_: Any) -> None:
        Image.new("L", (1, 1), 128).save(file, format="png")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "savefig", savefig)
        yield


def pytest_collection_finish() -> None:
    """Set aside what was imported: every later search for cycles would walk all of it again."""
    gc.collect()
    gc.freeze()
