"""Trained runs that tests of several workflows share; none of them changes a run but adds to it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from unbraid.evaluation.protocols import probes
from unbraid.settings import parse_sets
from unbraid.training.fit import fit

NET = [
    "method.static_dim=4",
    "method.dynamic_dim=4",
    "method.net.hidden=8",
    "training.steps=2",
    "training.batch_size=4",
]
VOICES = [
    "data.speakers=3",
    "data.validation_speakers=1",
    "data.test_speakers=3",
    "data.utterances=2",
    "data.conversions=0",
]
SERIES = ["data.train=40", "data.validation=12", "data.test=40"]


@pytest.fixture(scope="module", autouse=True)
def small_forests() -> Iterator[None]:
    """Grow few trees: here measurements are made and shown; metrics are tested elsewhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(probes, "TREES", 10)
        yield


@pytest.fixture(scope="session")
def voices(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("voices")
    return fit("toy-voices", "dsvae", settings=parse_sets(NET + VOICES), out=out).path


@pytest.fixture(scope="session")
def series(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("series")
    return fit("toy-series", "dbse", settings=parse_sets(NET + SERIES), out=out).path
