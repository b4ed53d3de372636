"""The papers' numbers, to stand beside ours."""

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True, slots=True)
class PublishedScore:
    """One printed number; `source` names paper and table."""

    dataset: str
    metric: str
    better: str
    method: str
    value: float
    std: float | None
    source: str


@cache
def published() -> tuple[PublishedScore, ...]:
    """Return all printed numbers."""
    path = Path(__file__).parent / "published.csv"
    with path.open(newline="", encoding="utf-8") as file:
        return tuple(
            PublishedScore(
                row["dataset"],
                row["metric"],
                row["better"],
                row["method"],
                float(row["value"]),
                float(row["std"]) if row["std"] else None,
                row["source"],
            )
            for row in csv.DictReader(file)
        )


def printed(dataset: str, metric: str) -> list[PublishedScore]:
    """Return what was printed of one metric on one data set, best first.

    >>> [row.method for row in printed("etth1", "oil_temperature_mae")][:2]
    ['DiffSDA', 'raw features (DiffSDA re-run)']
    """
    scores = [row for row in published() if (row.dataset, row.metric) == (dataset, metric)]
    return sorted(
        scores, key=lambda row: row.value, reverse=bool(scores) and scores[0].better == "up"
    )
