from pathlib import Path

import pytest

from unbraid.settings import parse_sets
from unbraid.training.fit import fit
from unbraid.workflows.export import parts

SETS = [
    "method.static_dim=4",
    "method.dynamic_dim=3",
    "method.net.hidden=8",
    "training.steps=2",
    "training.batch_size=4",
    "data.train=12",
    "data.validation=4",
    "data.test=9",
]


@pytest.fixture(scope="session")
def run(tmp_path_factory) -> Path:
    """A run on series of unequal length, 9 of them in the test split."""
    out = tmp_path_factory.mktemp("series")
    return fit("toy-series", "dsvae", settings=parse_sets(SETS), out=out).path


@pytest.fixture(scope="session")
def other_run(tmp_path_factory) -> Path:
    """The same with another model."""
    out = tmp_path_factory.mktemp("other")
    settings = parse_sets([*SETS, "training.lr=0.1"])
    return fit("toy-series", "dsvae", settings=settings, out=out).path


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Make parts of two sequences: with batches of two, 9 sequences are 5 parts."""
    monkeypatch.setattr(parts, "SEQUENCES", 2)
