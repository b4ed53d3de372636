"""What an examination of data found, as tables and sentences for the terminal."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from unbraid.data.checks.balance import Label
from unbraid.data.checks.examine import Contents, SplitSummary
from unbraid.settings import flat
from unbraid.workflows.check.checks import Finding
from unbraid.workflows.check.examination import Examination

MOST_CHANNELS, MOST_SKIPPED, MOST_VALUES = 24, 20, 3
COLOURS = {"problem": "bold red", "warning": "bold yellow", "note": "bold"}


def screen(examination: Examination) -> Iterator[Any]:
    """Yield what to print before the verdict, in order."""
    if examination.contents is not None:
        yield from _contents(examination.data, examination.contents)
        yield from _outlook(examination)
    if examination.findings:
        yield from (_list(examination.findings), "")


def verdict(examination: Examination) -> Text:
    """Return the last line: a command to be copied, or that there is none."""
    if examination.ready:
        return Text("ready to train: ", style="bold green").append(
            examination.command, style="default"
        )
    return Text(f"not ready: {examination.data} cannot be trained on as it is.", style="bold red")


def _list(findings: Sequence[Finding]) -> Table:
    """Return findings as a numbered list, each with what to do on a line of its own."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1, 0, 0))
    for number, finding in enumerate(findings, start=1):
        text = Text(f"{finding.level}: ", style=COLOURS[finding.level])
        text.append(finding.what, style="default")
        if finding.do:
            text.append(f"\n{finding.do}", style="default")
        table.add_row(f"{number}.", text)
    return table


def _contents(name: str, c: Contents) -> Iterator[Any]:
    yield Text(f"{name}: {c.kind}, {_shape(c)}; {c.dtype}, {_size(c.bytes)} {c.kept}")
    if c.stand_in:
        yield Text(f"stands in for {c.stand_in}", style="bold")
    yield ""
    yield _split_table(c)
    yield from _looked_at(c)
    if c.kind == "series":
        yield from ("", _channel_table(c))
    if c.labels:
        yield from ("", _label_table(c))
        apart = ", ".join(group.name for group in c.groups if not group.shared)
        if apart:
            yield Text(f"No value of {apart} is both in training and in test.")
    if c.skipped:
        shown = list(c.skipped.items())[:MOST_SKIPPED]
        more = (
            f" (the first {MOST_SKIPPED}; --json lists all)" if len(c.skipped) > len(shown) else ""
        )
        yield from ("", Text(f"{len(c.skipped):,} not used{more}", style="bold"))
        yield from (Text(f"  {file}: {reason}") for file, reason in shown)
    yield ""


def _shape(c: Contents) -> str:
    if c.kind == "video":
        colours = {1: "grey", 3: "RGB"}.get(c.frame[0], f"{c.frame[0]} channels")
        return f"{c.length} x {c.frame[1]} x {c.frame[2]} {colours}"
    if c.kind == "audio":
        return f"{c.length} steps x {c.frame[0]} bands"
    return f"{c.length} steps x {c.frame[0]} rows x {c.frame[1]} channels"


def _size(count: int) -> str:
    """Return bytes as people say them.

    >>> _size(2_500_000)
    '2.5 MB'
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"


def _split_table(c: Contents) -> Table:
    columns = ("split", ">sequences", ">steps", ">lengths", ">values", ">scaled", ">missing")
    return _table(columns, [[name, *_split_row(part)] for name, part in c.parts.items()])


def _split_row(part: SplitSummary) -> list[str]:
    steps = f"{part.shortest}/{part.median:g}/{part.longest}"
    return [
        f"{part.sequences:,}",
        steps if part.lengths > 1 else str(part.longest),
        "one" if part.lengths == 1 else str(part.lengths),
        _range(part.low, part.high),
        _range(part.low_seen, part.high_seen),
        _percent(part.missing),
    ]


def _looked_at(c: Contents) -> Iterator[Any]:
    """Say what the numbers are, and of how many sequences."""
    parts = c.parts.values()
    if any(part.lengths > 1 for part in parts):
        yield Text("Steps: least/median/most; lengths: how many different.", style="dim")
    total, seen = sum(part.sequences for part in parts), sum(part.examined for part in parts)
    notes = []
    if seen < total:
        notes.append(f"values of {seen:,} sequences, spread over the splits")
    if c.twins.compared < total:
        notes.append(f"duplicates among {c.twins.compared:,}")
    if notes:
        yield Text(f"Examined: {'; '.join(notes)}. All of them with --deep.", style="dim")


def _channel_table(c: Contents) -> Table:
    shown = c.channels[:MOST_CHANNELS]
    more = f", the first {len(shown)} of {len(c.channels)}" if len(shown) < len(c.channels) else ""
    rows = [
        [
            x.name,
            _range(x.low, x.high),
            _number(x.mean),
            _number(x.std),
            _percent(x.missing),
            "constant" if x.constant else "one per sequence" if x.per_sequence else "",
        ]
        for x in shown
    ]
    columns = (f"channel in training{more}", ">values", ">mean", ">std", ">missing", "")
    return _table(columns, rows)


def _label_table(c: Contents) -> Table:
    rows = [[x.name, x.role, _per(x), *_balance(x)] for x in c.labels]
    return _table(("label", "role", "per", ">values", "splits", "balance in training"), rows)


def _per(label: Label) -> str:
    return "step" if label.per_step else "sequence"


def _balance(label: Label) -> list[str]:
    """Return the number of values, the splits they are in, and the most frequent ones."""
    if not label.values:
        there = label.low is not None
        return ["number", "all" if there else "none", f"from {_range(label.low, label.high)}"]
    where = [name for name, counts in label.counts.items() if counts]
    splits = "all" if len(where) in (0, 3) else ", ".join(where)
    train = label.counts.get("train", {}) if label.has_balance else {}
    total = sum(train.values())
    order = sorted(train.items(), key=lambda item: -item[1])
    shares = [f"{value} {100 * count / total:.0f} %" for value, count in order]
    if len(shares) > MOST_VALUES:
        shares = [f"{shares[0]} ... {shares[-1]}"]
    return [f"{label.values:,}", splits, ", ".join(shares)]


def _outlook(examination: Examination) -> Iterator[Any]:
    """Say what will be done with the data."""
    yield Text(f"Scaling: {examination.scaling}.")
    settings = ", ".join(
        f"{key}={value}" for key, value in flat(examination.settings) if value not in ("", [])
    )
    if examination.contents and examination.contents.columns:
        yield Text(_columns(examination.contents.columns, examination.settings))
    if settings:
        yield Text(f"Settings (--set data.NAME=VALUE): {settings}")
    rows = [
        [
            plan.method,
            plan.preset if plan.preset != "none" else "its defaults",
            f"{plan.parameters:,}",
            str(plan.batch_size),
            plan.budget,
        ]
        for plan in examination.methods
        if not plan.refusal
    ]
    if rows:
        columns = ("method", "preset", ">parameters", ">batch", ">budget")
        yield from ("", _table(columns, rows))
    yield ""


def _columns(columns: Mapping[str, str], settings: Mapping[str, Any]) -> str:
    """Say which columns of a table tell sequences and times, and whether that was guessed."""
    without = {"sequence": "none, one per file", "time": "none, rows as they come"}
    parts = (
        f"{what}: {name or without[what]}{' (guessed)' if settings.get(what) == '' else ''}"
        for what, name in columns.items()
    )
    return f"Columns: {'; '.join(parts)}. Others: data.sequence=NAME, data.time=NAME or none."


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Return a table for the terminal; a column whose name begins with > is set right."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in columns:
        right = name.startswith(">")
        table.add_column(name.lstrip(">"), justify="right" if right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


def _range(low: float | None, high: float | None) -> str:
    return "none known" if low is None else f"{_number(low)} to {_number(high)}"


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.3g}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share else "none"
