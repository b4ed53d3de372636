"""Our numbers beside the published ones: rows for scripts, tables for people, a verdict."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isnan
from pathlib import Path
from statistics import fmean
from typing import Any

from unbraid.data import data_title
from unbraid.files import read_json, read_ours, write_text
from unbraid.report.published import published
from unbraid.workflows.reproduce.markdown import comparison_of, known, page
from unbraid.workflows.reproduce.methods import (
    PAGE_END,
    PAGE_START,
    by_method,
    page_table,
    refresh,
)
from unbraid.workflows.reproduce.plan import TUNED, VARIANTS, Comparison, Metric, Row, Variant
from unbraid.workflows.reproduce.pool import summary, with_earlier_seeds
from unbraid.workflows.reproduce.runs import FORMAT
from unbraid.workflows.reproduce.scores import measured_so, measurement
from unbraid.workflows.reproduce.strengths import END, START, which_table

Result = dict[str, Any]
"""One number: dataset, protocol, method, metric, better, mean, std, seeds, values, minutes, epochs,
parameters, published, version, command; where a judge gave it, the judge's accuracy in percent."""


@dataclass(frozen=True, slots=True)
class Printed:
    """What the papers print for a metric, by label; of a difference, that of what they print."""

    dataset: str

    def value(self, metric: Metric, label: str) -> float | None:
        """Return the printed number, or None if there is none that compares."""
        if not metric.comparable:
            return None
        if metric.by == "difference":
            parts = [self._find(name, label) for name in metric.of]
            whole = [part for part in parts if part is not None]
            return round(whole[0] - whole[1], 9) if len(whole) == len(parts) else None
        return self._find(metric.name, label)

    def _find(self, metric: str, label: str) -> float | None:
        wanted = (self.dataset, metric, label.removesuffix(TUNED))
        values = (p.value for p in published() if (p.dataset, p.metric, p.method) == wanted)
        return next(values, None)


def results(comparison: Comparison, folder: Path, judge: Path | None = None) -> list[Result]:
    """Return a row per method and metric of what was measured, whatever protocol and seed.

    Mean and std are over training seeds; the std is that of a sample (n - 1), None for one seed.

    Args:
        comparison: what was measured; runs that were measured otherwise are left out.
        folder: of its runs.
        judge: folder of its judge, if there is one.
    """
    rows = []
    for variant in VARIANTS if comparison.authors else VARIANTS[:1]:
        wanted = measurement(comparison, variant, judge)
        for row in comparison.rows:
            every = _read(folder / row.name, variant, comparison.prefix(row, variant))
            scores = _longest(_alike(every, wanted))
            for metric in comparison.metrics if scores else ():
                rows.append(_result(comparison, variant, row, metric, scores))
    return rows


def _read(folder: Path, variant: Variant, prefix: str) -> list[dict[str, Any]]:
    """Return the scores of a row, seed after seed."""
    name = "scores.json" if variant == "paper" else "scores-authors.json"
    paths = folder.glob(f"{prefix}[0-9]*/{name}")
    files = [read_ours(path, FORMAT, "file of scores") for path in paths]
    return sorted(files, key=lambda scores: scores["seed"])


def _alike(seeds: list[dict[str, Any]], wanted: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the runs measured as wanted; if there are none, those of older versions.

    The latter do not tell how they were measured: in one mean with others they may be of another
    judge.
    """
    alike = [scores for scores in seeds if measured_so(scores, wanted)]
    return alike or [scores for scores in seeds if "measured" not in scores]


def _longest(seeds: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out runs of a smaller budget: a mean over unequal ones means nothing."""
    limit = max(map(_limit, seeds), default=None)
    return [scores for scores in seeds if _limit(scores) == limit]


def _limit(scores: dict[str, Any]) -> tuple[int, float]:
    """Return the budget of a run in epochs and in minutes; older files have minutes alone."""
    return scores.get("max_epochs", 0), scores["max_minutes"] or inf


def _result(
    comparison: Comparison, variant: Variant, row: Row, metric: Metric, seeds: list[dict[str, Any]]
) -> Result:
    measured = {str(scores["seed"]): scores["scores"].get(metric.name) for scores in seeds}
    values = {k: float(v) for k, v in measured.items() if v is not None and not isnan(v)}
    complete = len(values) == len(measured)
    pooled = summary(values) if complete else {"mean": None, "std": None, "seeds": len(seeds)}
    return {
        "dataset": data_title(comparison.data),
        "protocol": protocol_words(comparison, variant),
        "method": row.label,
        "metric": metric.name,
        "better": metric.better,
        **pooled,
        "values": values if complete else {},
        "minutes": round(fmean(scores["cpu_minutes"] for scores in seeds), 3),
        "epochs": round(fmean(scores["epochs"] for scores in seeds), 2),
        "parameters": seeds[0]["parameters"],
        "published": Printed(comparison.published).value(metric, row.label),
        "version": ", ".join(sorted({scores["version"] for scores in seeds})),
        "command": command(comparison, variant, row, seeds),
        **_judged(metric, seeds),
    }


def _judged(metric: Metric, seeds: list[dict[str, Any]]) -> Result:
    """Return how often the judges of a number are right on real test data, in percent."""
    accuracies = (scores.get("judge_accuracy", {}).get(metric.factor) for scores in seeds)
    some = sorted({round(100 * accuracy, 2) for accuracy in accuracies if accuracy is not None})
    return {"judge_pct": some} if some and metric.by == "judge" else {}


def protocol_words(comparison: Comparison, variant: Variant) -> str:
    """Return the name of a protocol and its sentence, as they stand in a row."""
    protocol = comparison.protocol(variant)
    return f"{protocol.name or variant}: {protocol.text}"


def protocol_name(words: str) -> str:
    """Return the name out of `protocol_words`; the sentence may be worded anew."""
    return words.partition(":")[0]


def command(
    comparison: Comparison, variant: Variant, row: Row, scores: Sequence[dict[str, Any]]
) -> str:
    """Return what makes a row again."""
    seeds = max(run["seed"] for run in scores) + 1
    words = ["unbraid", "reproduce", comparison.given, "--rows", row.name, "--seeds", str(seeds)]
    epochs, minutes = _limit(scores[0])
    words += ["--epochs", str(epochs)] if epochs else []
    words += ["--max-minutes", f"{minutes:g}"] if minutes < inf else []
    words += ["--protocol", "authors"] if variant == "authors" else []
    return shlex.join(words)


def write_tables(results: Sequence[Result], table: Path) -> Path:
    """Write `results.json` and, for people, `RESULTS.md`; return the latter's path.

    The page lies beside the table, or above it if the folder of the table is called `results`. A
    README beside it that has a place for the table by method gets that, too, `docs/which.md` the
    table of the best, and `docs/results/<comparison>.md` that of its methods.
    """
    folder = table.parent
    beside = folder.parent if folder.resolve().name == "results" else folder
    write_text(table, json.dumps(list(results), indent=1) + "\n")
    write_text(beside / "RESULTS.md", page(results))
    refresh(beside / "README.md", by_method(results))
    refresh(beside / "docs" / "which.md", which_table(results), START, END)
    for name in dict.fromkeys(map(comparison_of, results)):
        if not name.endswith(".toml") and known(name):
            place = beside / "docs" / "results" / f"{name}.md"
            refresh(place, page_table(name, results), PAGE_START, PAGE_END)
    return beside / "RESULTS.md"


def merge_tables(results: Sequence[Result], table: Path) -> Path:
    """Put rows into a table that may be there, each in the place of its like; write both files."""
    old = _read_table(table) if table.is_file() else []
    return write_tables(merged(old, results), table)


def merged(old: Sequence[Result], new: Sequence[Result]) -> list[Result]:
    """Return all rows; of two for the same number the new one, in the place of the old.

    A new row without the first seeds is added to those of the old one.
    """
    every = {_key(row): row for row in old}
    for row in new:
        before = every.get(_key(row))
        every[_key(row)] = with_earlier_seeds(before, row) if before else row
    return list(every.values())


def _key(row: Result) -> tuple[str, ...]:
    """Return what a row is about; of the protocol its name alone."""
    return (row["dataset"], protocol_name(str(row["protocol"])), row["method"], row["metric"])


def _read_table(table: Path) -> list[Result]:
    try:
        rows = read_json(table)
        if not isinstance(rows, list):
            raise TypeError("it is not a list of rows")
        for row in rows:
            _key(row)
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{table} is no table of results: {error}. Nothing was merged.") from None
    return rows
