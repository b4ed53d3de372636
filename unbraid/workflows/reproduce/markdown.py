"""What a table of results says: a page in Markdown, and a verdict in one line."""

import shlex
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from unbraid.workflows.reproduce.plan import (
    RAW,
    Comparison,
    Metric,
    PaperFinding,
    Variant,
    find_comparison,
    improvement,
)

Result = dict[str, Any]
COLUMNS = (
    "method",
    "metric",
    "ours",
    "seeds",
    "published",
    "difference",
    "CPU-minutes",
    "epochs",
    "parameters",
    "version",
)
HEAD = """# Results

Ours: mean ± standard deviation over training seeds (of a sample, n - 1), on the test split, which a
run reads once, after training; the weights are those of the last step, unless a section says
otherwise. Trials that were read on test, too: `docs/results.md`, "What is fair about them".
CPU-minutes are those of all cores in one training, epochs its length. Paper and table of the
published numbers: `unbraid/report/published.csv`. Made by `unbraid reproduce`.
"""


def page(results: Sequence[Result]) -> str:
    """Return all results as Markdown: a section for every comparison and protocol."""
    parts = [HEAD]
    ordered = sorted(results, key=_section)  # stable: methods and metrics keep their order
    for (name, protocol), rows in groupby(ordered, key=_section):
        parts.append(_chapter(name, protocol, list(rows)))
    return "\n".join(parts)


def _section(row: Result) -> tuple[str, str]:
    """Return comparison and protocol."""
    return comparison_of(row), row["protocol"]


def comparison_of(row: Result) -> str:
    """Return the name of the comparison a row belongs to; its command has it."""
    return shlex.split(row["command"])[2]


def _chapter(name: str, protocol: str, rows: list[Result]) -> str:
    comparison = known(name)
    title = comparison.title if comparison else name
    lines = [f"## {name}: {title}" if comparison else f"## {name}", ""]
    lines += [f"Data: {rows[0]['dataset']}. Protocol, {protocol}.", ""]
    if comparison:
        lines += [f"Published: {comparison.where}. {_note(comparison, protocol)}".strip(), ""]
        lines += [f"**{verdict(comparison, rows)}**", ""]
    if weights := which_weights(comparison, rows):
        lines += [weights, ""]
    if judges := which_judges(rows):
        lines += [judges, ""]
    lines += [f"| {' | '.join(COLUMNS)} |", f"|{' --- |' * len(COLUMNS)}"]
    lines += [f"| {' | '.join(_cells(row))} |" for row in rows]
    commands = sorted({row["command"] for row in rows})
    lines += ["", "```console", *(f"$ {command}" for command in commands), "```", ""]
    if comparison and comparison.findings:
        lines += [*(f"* {line}" for line in finding_lines(comparison, rows)), ""]
    return "\n".join(lines)


def which_weights(comparison: Comparison | None, rows: Sequence[Result]) -> str:
    """Name the rows whose weights are those of the lowest validation loss; "" if there are none.

    A row trained with `training.patience` keeps those, not the ones of the last step.
    """
    general = "Rows trained with `training.patience` have weights of the lowest validation loss."
    if comparison is None:
        return general
    authors = {row["method"]: "authors" in row["command"].split() for row in rows}
    try:
        patient = [label for label, other in authors.items() if _patient(comparison, label, other)]
    except (KeyError, ValueError, OSError):  # a file or data of somebody's own are gone by now
        return general
    if not patient:
        return ""
    return f"Weights of the lowest validation loss (`training.patience`): {', '.join(patient)}."


def which_judges(rows: Sequence[Result]) -> str:
    """Say how often the judges of rows are right on real test data; "" if no row tells.

    Rows of older tables do not tell, so those that do are named.

    >>> which_judges([{"method": "SPYL", "judge_pct": [98.8, 99.1]}, {"method": "DSVAE"}])
    'Right on real test data: judges of SPYL 98.80 and 99.10 %.'
    """
    accuracies = {row["method"]: row["judge_pct"] for row in rows if "judge_pct" in row}
    if not accuracies:
        return ""
    methods: dict[str, list[str]] = {}
    for method, shares in accuracies.items():
        methods.setdefault(" and ".join(f"{share:.2f}" for share in shares), []).append(method)
    named = [f"judges of {', '.join(names)} {shares} %" for shares, names in methods.items()]
    return f"Right on real test data: {'; '.join(named)}."


def _patient(comparison: Comparison, label: str, authors: bool) -> bool:
    """Say whether a row was trained with patience."""
    variant: Variant = "authors" if authors else "paper"
    plans = (
        comparison.plan(row, variant, seed=0, budget=comparison.budget)
        for row in comparison.rows
        if row.label == label and row.method != RAW
    )
    return any(plan.training.patience for plan in plans)


def known(name: str) -> Comparison | None:
    """Return a comparison of ours; a file of somebody's own may be gone by now."""
    try:
        return find_comparison(name)
    except (KeyError, ValueError):
        return None


def _note(comparison: Comparison, protocol: str) -> str:
    for variant in (comparison.paper, comparison.authors):
        if variant and protocol.partition(": ")[2] == variant.text:
            return variant.note
    return ""


def _cells(row: Result) -> list[str]:
    metric, theirs = row["metric"], row["published"]
    apart = "-"
    if theirs is not None and row["mean"] is not None:
        apart = signed(row["mean"] - theirs, metric, row["better"])
    return [
        row["method"],
        f"`{metric}`".replace("|", "\\|"),
        ours(row),
        str(row["seeds"]),
        "-" if theirs is None else number(theirs, metric),
        apart,
        f"{row['minutes']:.1f}",
        f"{row['epochs']:g}",
        f"{row['parameters']:,}",
        row["version"],
    ]


def ours(row: Result) -> str:
    """Return mean and, over several seeds, standard deviation."""
    if row["mean"] is None:
        return "-"
    mean = number(row["mean"], row["metric"])
    return mean if row["std"] is None else f"{mean} ± {number(row['std'], row['metric'])}"


def short_name(metric: str) -> str:
    """Return the name of a metric for the head of a table.

    >>> short_name("icu_type_accuracy_pct")
    'icu type accuracy'
    """
    return metric.removesuffix("_pct").replace("_", " ").replace("|", "\\|")


def number(value: float, metric: str) -> str:
    """Return a number with the digits its metric deserves.

    >>> number(99.987, "accuracy_pct"), number(8.9421, "inception_score"), number(1.6e-07, "x")
    ('99.99', '8.942', '1.6e-07')
    """
    if metric.endswith("_pct"):
        return f"{value:.2f}"
    return f"{value:.2g}" if 0 < abs(value) < 0.001 else f"{value:.3f}"


def signed(difference: float, metric: str, better: str) -> str:
    """Return a difference with its sign, and what it means.

    >>> signed(-0.1, "oil_temperature_mae", "down")
    '-0.100 (better)'
    """
    text = ("+" if difference >= 0 else "-") + number(abs(difference), metric)
    if difference == 0:
        return "0 (equal)"
    return f"{text} ({'better' if (difference > 0) == (better == 'up') else 'worse'})"


def verdict(comparison: Comparison, rows: Sequence[Result]) -> str:
    """Return one line: targets met, by how much others are missed, findings seen.

    The best method counts; raw values are a reference, not a method.
    """
    raw = [row.label for row in comparison.rows if row.method == RAW]
    measured = [row for row in rows if row["method"] not in raw and row["mean"] is not None]
    parts: dict[str, list[str]] = {"met": [], "missed": [], "not measured": []}
    for metric in comparison.metrics:
        if metric.target is not None:
            state, line = _against(metric, metric.target, measured)
            parts[state].append(line)
    targets = sum(map(len, parts.values()))
    clauses = []
    if targets:
        clauses.append(f"{len(parts['met'])} of {targets} targets met by the best method")
        clauses += [f"{state}: {', '.join(lines)}" for state, lines in parts.items() if lines]
    if comparison.findings:
        seen = [_finding_state(finding, comparison, rows) for finding in comparison.findings]
        count = ", ".join(f"{seen.count(word)} {word}" for word in FINDING_STATES if word in seen)
        clauses.append(f"of {len(seen)} published findings: {count}")
    fewest = min((row["seeds"] for row in measured), default=0)
    clauses.append(
        f"{fewest} seed{'' if fewest == 1 else 's'} at least" if measured else "no run made"
    )
    return f"{rows[0]['dataset'] if rows else comparison.data}: {'; '.join(clauses)}."


def _against(metric: Metric, target: float, rows: Sequence[Result]) -> tuple[str, str]:
    candidates = [row for row in rows if row["metric"] == metric.name]
    wanted = f"wanted {'≥' if metric.better == 'up' else '≤'} {target:g}"
    if not candidates:
        return "not measured", f"{metric.name} ({wanted})"
    best = max(candidates, key=lambda row: improvement(row["mean"], target, metric.better))
    ahead = improvement(best["mean"], target, metric.better)
    value = f"{metric.name} {number(best['mean'], metric.name)} ({best['method']}; {wanted}"
    if ahead >= 0:
        return "met", f"{value})"
    return "missed", f"{value}, {number(-ahead, metric.name)} off)"


FINDING_STATES = ("seen", "within the noise", "opposite", "not measured")


def finding_lines(comparison: Comparison, rows: Sequence[Result]) -> list[str]:
    """Return for every published finding whether it was seen here."""
    return [f"{f.says}: {_finding_state(f, comparison, rows)}" for f in comparison.findings]


def _finding_state(finding: PaperFinding, comparison: Comparison, rows: Sequence[Result]) -> str:
    """Say whether a finding shows; a difference below the larger std is within the noise."""
    labels = {row.name: row.label for row in comparison.rows}
    by = {row["method"]: row for row in rows if row["metric"] == finding.metric}
    one, other = by.get(labels[finding.row]), by.get(labels[finding.than])
    if not one or not other or None in (one["mean"], other["mean"]):
        return "not measured"
    ahead = improvement(one["mean"], other["mean"], one["better"])
    if finding.within:
        return "seen" if abs(ahead) <= finding.within else "opposite"
    if abs(ahead) <= max(one["std"] or 0.0, other["std"] or 0.0):
        return "within the noise"
    return "seen" if ahead > 0 else "opposite"
