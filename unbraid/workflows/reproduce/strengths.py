"""Where a method is best by our own table of results, and the page "which method when"."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import unbraid
from unbraid.files import read_json
from unbraid.workflows.reproduce.markdown import comparison_of, known, ours, short_name
from unbraid.workflows.reproduce.methods import ARROWS, counts
from unbraid.workflows.reproduce.plan import RAW, Comparison, Metric, improvement

Result = dict[str, Any]
FEWEST = 3  # methods that must be measured before one of them is called best
UNSTEADY = 5.0  # times the spread of the best: a method whose seeds differ so much is not level
START, END = "<!-- best by our tables -->\n", "<!-- end of best by our tables -->"
PACKAGE = Path(unbraid.__file__).parent
TABLES = (PACKAGE / "results.json", PACKAGE.parent / "results" / "results.json")
"""The table of results: as installed, and in a checkout."""


@dataclass(frozen=True, slots=True)
class Contest:
    """One metric of a comparison: who is best, who is level with it, what raw values reach."""

    comparison: str
    metric: str
    better: str
    best: Result
    level: tuple[Result, ...]  # within one standard deviation of the best, the best not among them
    others: tuple[Result, ...]
    raw: Result | None

    @property
    def useful(self) -> bool:
        """Say whether the best method is at least as good as raw values."""
        return self.raw is None or self._ahead(self.best, self.raw) >= 0

    def rank(self, method: str) -> str:
        """Return best, level or behind; empty if the method was not measured."""
        places = {"best": (self.best,), "level": self.level, "behind": self.others}
        return next((k for k, v in places.items() if method in [r["key"] for r in v]), "")

    def _ahead(self, row: Result, other: Result) -> float:
        return improvement(row["mean"], other["mean"], self.better)


@cache
def shipped_results() -> tuple[Result, ...]:
    """Return the committed results; none where neither file is there."""
    path = next((path for path in TABLES if path.is_file()), None)
    return tuple(read_json(path)) if path else ()


def contests(results: Sequence[Result]) -> list[Contest]:
    """Return every metric a comparison is about and that enough methods were measured by."""
    rows: dict[str, list[Result]] = {}
    for row in results:
        if counts(row) and row["mean"] is not None:
            rows.setdefault(comparison_of(row), []).append(row)
    return [
        contest
        for name, part in rows.items()
        if (comparison := known(name))
        for contest in _contests_of(comparison, part)
    ]


@cache
def _shipped_contests() -> tuple[Contest, ...]:
    return tuple(contests(shipped_results()))


def _contests_of(comparison: Comparison, rows: list[Result]) -> Iterator[Contest]:
    keys = {row.label: row.method for row in comparison.rows}
    for metric in comparison.main_metrics:
        measured = [
            row | {"key": keys[row["method"]]}
            for row in rows
            if row["metric"] == metric.name and row["method"] in keys
        ]
        yield from _contest(comparison.name, metric, measured)


def _contest(name: str, metric: Metric, rows: list[Result]) -> Iterator[Contest]:
    """Yield the contest of a metric, the best row of every method in it, if there are enough."""
    ordered = sorted(
        rows, key=lambda row: improvement(row["mean"], 0.0, metric.better), reverse=True
    )
    first = {row["key"]: row for row in reversed(ordered)}  # of each method its best row
    raw = first.pop(RAW, None)
    if len(first) < FEWEST:
        return
    best, *rest = sorted(first.values(), key=ordered.index)
    level = [row for row in rest if _level(best, row, metric.better)]
    others = [row for row in rest if row not in level]
    yield Contest(name, metric.name, metric.better, best, tuple(level), tuple(others), raw)


def _level(best: Result, row: Result, better: str) -> bool:
    """Say whether a row is within one standard deviation of the best, the larger of the two.

    A spread of more than `UNSTEADY` times that of the best does not count: a method that fails in
    some seeds would be level because it fails.
    """
    ours, theirs = row["std"] or 0.0, best["std"]
    unsteady = theirs is not None and ours > UNSTEADY * theirs
    spread = max(theirs or 0.0, 0.0 if unsteady else ours)
    return improvement(best["mean"], row["mean"], better) <= spread


def good_at(
    method: str, results: Sequence[Result] | None = None
) -> dict[str, dict[str, list[str]]]:
    """Return by comparison the metrics a method was measured by, under best, level and behind.

    Where raw values are better than every method, all are behind.
    """
    places: dict[str, dict[str, list[str]]] = {}
    for contest in _shipped_contests() if results is None else contests(results):
        if rank := contest.rank(method):
            rank = rank if contest.useful else "behind"
            places.setdefault(contest.comparison, {}).setdefault(rank, []).append(contest.metric)
    return places


def good_at_words(places: dict[str, dict[str, list[str]]]) -> str:
    """Return where a method is best or level with the best, as `comparison 2 of 3`.

    >>> good_at_words({"sprites": {"best": ["a"], "behind": ["b"]}, "etth1": {"behind": ["c"]}})
    'sprites 1 of 2'
    """
    words = []
    for name, ranks in places.items():
        metrics = sum(map(len, ranks.values()))
        if good := metrics - len(ranks.get("behind", ())):
            words.append(f"{name} {good} of {metrics}")
    return ", ".join(words) or ("-" if places else "not measured")


def which_table(results: Sequence[Result]) -> str:
    """Return the best method of every metric as a table in Markdown."""
    head = ("comparison", "metric", "best", "ours", "level with it", "behind", "raw values")
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    for c in contests(results):
        best = f"`{c.best['key']}`" if c.useful else "raw values"
        value = f"{ours(c.best)} (seeds: {c.best['seeds']}, CPU-minutes: {c.best['minutes']:.1f})"
        level, behind = (_names(rows) for rows in (c.level, c.others))
        raw = "-" if c.raw is None else ours(c.raw)
        value = value if c.useful else f"`{c.best['key']}` {value}"
        cells = (f"`{c.comparison}`", f"{short_name(c.metric)} {ARROWS[c.better]}", best, value)
        lines.append(f"| {' | '.join((*cells, level, behind, raw))} |")
    return "\n".join([*lines, ""])


def _names(rows: Sequence[Result]) -> str:
    return ", ".join(f"`{row['key']}`" for row in rows) or "-"
