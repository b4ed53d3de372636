"""Tiny studies of toy series."""

import csv
from pathlib import Path

from unbraid.settings import parse_sets
from unbraid.workflows.tune.search import Search, make_search

TINY = [
    "data.train=12",
    "data.validation=6",
    "data.test=3",
    "data.windows=4",
    "training.steps=10",
    "training.batch_size=4",
    "training.checkpoint_every=2",
    "method.static_dim=4",
    "method.dynamic_dim=4",
    "method.net.hidden=8",
]


def tiny_search(*sets: str, **rest) -> Search:
    return make_search("toy-series", "dbse", settings=parse_sets([*TINY, *sets]), **rest)


def rows(folder: Path) -> list[dict[str, str]]:
    """The trials of a study without how long they took."""
    with (folder / "trials.csv").open(newline="") as file:
        return [{k: v for k, v in row.items() if k != "minutes"} for row in csv.DictReader(file)]
