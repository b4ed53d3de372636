"""Results by method: every number of ours beside the one its own paper prints."""

from collections.abc import Callable, Iterable, Sequence
from math import inf
from pathlib import Path
from typing import Any

from unbraid.files import write_text
from unbraid.workflows.reproduce.markdown import comparison_of, known, number, ours, short_name
from unbraid.workflows.reproduce.plan import TUNED, Metric, find_comparison, improvement

Result = dict[str, Any]
ARROWS = {"up": "↑", "down": "↓"}
MARKS = {"better": "✓", "within": "≈", "worse": "✗"}
START, END = "<!-- results by method -->\n", "<!-- end of results by method -->"
PAGE_START, PAGE_END = "<!-- results -->\n", "<!-- end of results -->"
LAST = "✓ and ≈, of all published metrics"
LEGEND = (
    "Each cell: ours / published for the same method, metrics as in the column's head; ✓ at or "
    "better than published, ≈ worse, but within one standard deviation of our seeds, which is "
    "then shown, ✗ worse, - not measured or not published. The last column counts every published "
    "metric of RESULTS.md, also those without a column: H(y) on Sprites, the dynamic EER of "
    "speech, the single probe accuracies of Letters. † settings (weights, sizes, epochs or "
    "optimiser) chosen here on validation or taken from the authors' code, not the printed ones; "
    "RESULTS.md has the row with the printed ones, if it was measured. A preset can hold weights "
    "found on validation, too, and has no mark: its file says so. `unbraid reproduce COLUMN "
    "--rows ROW` makes a cell again."
)


def standing(row: Result) -> str:
    """Say how a number stands to the published one: better, within one std, worse; or nothing.

    >>> standing({"mean": 7.3, "std": 0.7, "published": 7.0, "better": "down"})
    'within'
    """
    if row["published"] is None or row["mean"] is None:
        return ""
    ahead = improvement(row["mean"], row["published"], row["better"])
    if ahead >= 0:
        return "better"
    return "within" if -ahead <= (row["std"] or 0.0) else "worse"


def by_method(results: Sequence[Result]) -> str:
    """Return the table rows = methods, columns = comparisons, and its legend, as Markdown."""
    counted = _tuned_where_there_is([row for row in results if counts(row)])
    published = [row for row in counted if row["published"] is not None]
    names = list(dict.fromkeys(comparison_of(row) for row in published))
    head = ["method", *(_head(name, counted) for name in names), LAST]
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    for method in dict.fromkeys(_name(row) for row in published):
        rows = [row for row in counted if _name(row) == method]
        cells = [_cell(name, rows) for name in names]
        lines.append(f"| {' | '.join((method, *cells, _count(rows)))} |")
    return "\n".join([*lines, "", LEGEND, ""])


def page_table(name: str, results: Sequence[Result]) -> str:
    """Return the methods of one comparison, ours / published for every target, as Markdown.

    Without targets: every metric, ours alone, the best method first.
    """
    rows = [row for row in results if comparison_of(row) == name and counts(row)]
    targets = _targets(name, rows)
    metrics, cell = targets or list(find_comparison(name).metrics), _against if targets else _alone
    rows = rows if targets else _best_first(rows, metrics[0])
    head = [f"{short_name(metric.name)} {ARROWS[metric.better]}" for metric in metrics]
    lines = [f"| {' | '.join(['method', *head, 'seeds'])} |", f"|{' --- |' * (len(head) + 2)}"]
    for method in dict.fromkeys(row["method"] for row in rows):
        mine = {row["metric"]: row for row in rows if row["method"] == method}
        cells = [cell(mine.get(metric.name), ours) for metric in metrics]
        seeds = min(row["seeds"] for row in mine.values())
        lines.append(f"| {' | '.join([method, *cells, str(seeds)])} |")
    return "\n".join([*lines, ""])


def refresh(page: Path, table: str, start: str = START, end: str = END) -> None:
    """Write a table anew where a page has a place for it; other pages stay as they are."""
    text = page.read_text(encoding="utf-8") if page.is_file() else ""
    if start in text and end in text:
        before, after = text.split(start)[0], text.split(end)[1]
        write_text(page, f"{before}{start}{table}{end}{after}")


def counts(row: Result) -> bool:
    """Say whether a row is of a comparison with published numbers, by the papers' protocol."""
    comparison = known(comparison_of(row))
    if comparison is None or comparison.findings:
        return False
    return "authors" not in row["command"].split()


def _name(row: Result) -> str:
    """Return the method of a row, however its weights were found."""
    return str(row["method"]).removesuffix(TUNED)


def _tuned(row: Result) -> bool:
    return str(row["method"]).endswith(TUNED)


def _tuned_where_there_is(rows: Sequence[Result]) -> list[Result]:
    """Leave out the printed weights of a method where a comparison has its tuned ones."""
    tuned = {(comparison_of(row), _name(row)) for row in rows if _tuned(row)}
    return [row for row in rows if _tuned(row) or (comparison_of(row), _name(row)) not in tuned]


def _head(name: str, rows: Iterable[Result]) -> str:
    metrics = ", ".join(short_name(metric.name) for metric in _targets(name, rows))
    return f"`{name}`<br>{metrics}"


def _targets(name: str, rows: Iterable[Result]) -> list[Metric]:
    """Return the metrics a comparison is about: those with a target, if anyone measured them."""
    measured = {row["metric"] for row in rows if comparison_of(row) == name}
    metrics = find_comparison(name).metrics
    return [m for m in metrics if m.target is not None and m.name in measured]


def _cell(name: str, rows: Sequence[Result]) -> str:
    mine = {row["metric"]: row for row in rows if comparison_of(row) == name}
    if not mine:
        return "-"
    metrics = _targets(name, mine.values())
    cell = "<br>".join(_against(mine.get(metric.name)) for metric in metrics)
    return f"{cell} †" if any(map(_tuned, mine.values())) else cell


def _mean(row: Result) -> str:
    return number(row["mean"], row["metric"])


def _against(row: Result | None, form: Callable[[Result], str] = _mean) -> str:
    if row is None or row["mean"] is None:
        return "-"
    theirs = "-" if row["published"] is None else number(row["published"], row["metric"])
    where = standing(row)
    text = ours(row) if where == "within" else form(row)  # a wide spread must not pass unseen
    return f"{text} / {theirs} {MARKS.get(where, '')}".rstrip()


def _alone(row: Result | None, form: Callable[[Result], str] = _mean) -> str:
    return "-" if row is None or row["mean"] is None else form(row)


def _best_first(rows: Sequence[Result], metric: Metric) -> list[Result]:
    """Return rows sorted by how their method stands by a metric."""
    values = {
        row["method"]: improvement(row["mean"], 0.0, metric.better)
        for row in rows
        if row["metric"] == metric.name and row["mean"] is not None
    }
    return sorted(rows, key=lambda row: values.get(row["method"], -inf), reverse=True)


def _count(rows: Iterable[Result]) -> str:
    stand = [standing(row) for row in rows if standing(row)]
    better, within = stand.count("better"), stand.count("within")
    close = f" and {within} {MARKS['within']}" if within else ""
    return f"{better} {MARKS['better']}{close}, of {len(stand)}"
