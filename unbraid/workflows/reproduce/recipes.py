"""Candidates for the recommended recipes, over several data sets of each kind: one table.

A candidate is chosen by its separation on validation labels, mean over the data sets, and reported
on test. Data sets that are not at hand are left out and named.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.console import Console

from unbraid.files import write_text
from unbraid.settings import build, closest, read_toml
from unbraid.workflows.reproduce.comparison import Reproduced, Request, reproduce
from unbraid.workflows.reproduce.markdown import number
from unbraid.workflows.reproduce.plan import FOLDER, Comparison, Metric, Protocol, Row
from unbraid.workflows.reproduce.table import Result, results

NAME = "recipes"
METRICS = (
    Metric(
        name="validation_separation_pct",
        better="up",
        by="separation",
        score="separation",
        split="validation",
    ),
    Metric(name="separation_pct", better="up", by="separation", score="separation"),
    Metric(name="relative_error_pct", better="down", by="reconstruction"),
)
PROTOCOL = Protocol(
    name=NAME,
    text="separation by the strongest of SVC, k-NN and random forest; relative error is the "
    "squared error over that of the mean sequence; training until validation no longer improves, "
    "weights of the lowest validation loss",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """One data set on which candidates are measured."""

    name: str
    data: str
    sets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """The data sets and candidates of one kind of data."""

    kind: str
    minutes: float
    data: tuple[DataSet, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeSuite:
    """Everything that is compared."""

    title: str
    seeds: int
    kinds: tuple[Kind, ...]


def read_suite() -> RecipeSuite:
    """Return the candidates and data sets there are."""
    path = FOLDER / "suites" / f"{NAME}.toml"
    return build(RecipeSuite, read_toml(path), where=path.name)


def comparisons(suite: RecipeSuite, kind: Kind) -> list[Comparison]:
    """Return a comparison of all candidates for every data set of a kind."""
    return [
        Comparison(
            name=f"{NAME}/{one.name}",
            given=NAME,
            title=f"{suite.title}: {one.name}",
            data=one.data,
            published=NAME,
            where="nowhere",
            seeds=suite.seeds,
            minutes=kind.minutes,
            sets=one.sets,
            paper=PROTOCOL,
            rows=kind.rows,
            metrics=METRICS,
        )
        for one in kind.data
    ]


def compare_recipes(
    request: Request,
    data: Sequence[str] = (),
    *,
    console: Console | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Reproduced:
    """Make what is not there yet, data set after data set, then the table of all.

    Args:
        request: seeds, minutes, rows and folder; its name is not read.
        data: some data sets only, by name; empty: all.
        console: where the progress of single runs is shown; nowhere if None.
        say: called with a line now and then.
    """
    suite, failed = read_suite(), dict[str, str]()
    known = [one.name for kind in suite.kinds for one in kind.data]
    for name in data:
        if name not in known:
            raise KeyError(f"recipes have no data set '{name}'.{closest(name, known)}")
    rows: list[Result] = []
    page = request.out / NAME / "RECIPES.md"
    for kind in suite.kinds:
        for one in comparisons(suite, kind):
            chosen = tuple(row.name for row in one.rows if row.name in request.rows)
            if (data and one.name.partition("/")[2] not in data) or (request.rows and not chosen):
                continue
            try:
                part = reproduce(replace(request, rows=chosen), one, console=console, say=say)
            except (ValueError, KeyError, OSError, ImportError) as error:
                failed[one.name] = str(error)  # not at hand
                say(f"{one.name} is left out: {error}")
                continue
            failed |= part.failed
            rows += part.rows
            write_text(page, recipe_page(suite, request.out))
    write_text(page, recipe_page(suite, request.out))
    return Reproduced(page, verdict(suite, request.out), rows, failed)


def recipe_page(suite: RecipeSuite, out: Path) -> str:
    """Return a table per kind; a cell has separation on test, relative error, minutes and seeds."""
    lines = ["# Recipes", "", f"{PROTOCOL.text[0].upper()}{PROTOCOL.text[1:]}.", ""]
    for kind in suite.kinds:
        table = _scores(suite, kind, out)
        names = [one.name for one in kind.data]
        lines += [f"## {kind.kind}", "", f"| candidate | {' | '.join(names)} | validation, mean |"]
        lines += ["|" + " --- |" * (len(names) + 2)]
        for row in kind.rows:
            cells = [_cell(table.get((name, row.label))) for name in names]
            mean = _mean(kind, table, row)
            shown = "-" if mean is None else number(mean, "x_pct")
            lines.append(f"| {row.label} | {' | '.join(cells)} | {shown} |")
        lines += ["", f"**{_choice(kind, table)}**", ""]
    return "\n".join(lines)


def verdict(suite: RecipeSuite, out: Path) -> str:
    """Return which candidate is best for each kind."""
    return " ".join(_choice(kind, _scores(suite, kind, out)) for kind in suite.kinds)


Scores = dict[tuple[str, str], dict[str, Any]]


def _scores(suite: RecipeSuite, kind: Kind, out: Path) -> Scores:
    """Return (data set, candidate) -> metric -> row of results."""
    table: Scores = {}
    for one in comparisons(suite, kind):
        for row in results(one, out / one.name):
            key = one.name.partition("/")[2], row["method"]
            table.setdefault(key, {})[row["metric"]] = row
    return table


def _cell(summary: dict[str, Any] | None) -> str:
    if not summary:
        return "not measured"
    score, error = summary["separation_pct"], summary["relative_error_pct"]
    spread = "" if score["std"] is None else f" ± {score['std']:.1f}"
    return (
        f"{score['mean']:.1f}{spread}, error {error['mean']:.1f} %, {score['minutes']:.1f} min, "
        f"{score['seeds']} seed{'s' if score['seeds'] > 1 else ''}"
    )


def _mean(kind: Kind, table: Scores, row: Row) -> float | None:
    """Return the mean over the data sets on which every candidate measured so far was measured."""
    names = [one.name for one in kind.data]
    measured = [
        other.label for other in kind.rows if any((name, other.label) in table for name in names)
    ]
    if row.label not in measured:
        return None
    shared = [name for name in names if all((name, label) in table for label in measured)]
    values = [table[name, row.label]["validation_separation_pct"]["mean"] for name in shared]
    return fmean(values) if values else None


def _choice(kind: Kind, table: Scores) -> str:
    means = {row.label: _mean(kind, table, row) for row in kind.rows}
    measured = {label: mean for label, mean in means.items() if mean is not None}
    if not measured:
        return f"{kind.kind}: no data set was measured for every candidate."
    best = max(measured, key=measured.__getitem__)
    return f"{kind.kind}: {best} ({measured[best]:.1f} on validation)."
