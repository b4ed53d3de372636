"""What the columns of a table mean: which tell sequences, times, values and labels."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbraid.data.collection import SplitConfig
from unbraid.settings import at_least, closest, share_below_one

NONE = "none"  # there is no such column, and none is to be guessed
_THINGS = (
    *("sequence", "seq", "id", "uniqueid", "record", "recording", "patient", "subject", "case"),
    *("unit", "machine", "engine", "series", "item", "episode", "session", "trial", "stay"),
    *("icustay", "user", "person", "participant", "device", "sensor", "station", "run"),
)
SEQUENCE_WORDS = tuple(word for thing in _THINGS for word in (thing, f"{thing}id"))
TIME_WORDS = ("time", "timestamp", "datetime", "date", "ds")
CALENDAR = ("year", "month", "day", "hour", "minute", "second")
STEP_WORDS = ("t", "step", "timestep", "timeidx", "cycle", "frame", "hour")


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What the columns mean, and how their rows become sequences."""

    sequence: str = ""  # column whose words tell sequences apart; empty: guessed; none: one record
    time: str = ""  # column to sort by: dates, hh:mm or numbers; empty: guessed; none: as they come
    values: tuple[str, ...] = ()  # columns of numbers; empty: all that mean nothing else
    labels: tuple[str, ...] = ()  # columns to judge by: per sequence if constant there, or per step
    dynamic: tuple[str, ...] = ()  # labels per sequence that are dynamic factors
    missing: tuple[str, ...] = ()  # what stands for an unknown value, such as "?" or "-9999"
    every: str = ""  # mean on a regular grid: "1h", "10min"; a number where times are numbers
    length: int = 0  # rows of a sequence that are kept, from its start; 0 = all
    piece: int = 0  # rows of the pieces that sequences are cut into; 0 = whole (one record: ~100)
    window: int = 0  # rows of a step; 0 = chosen for about 20 steps
    pattern: str = ""  # labels in the paths of a folder of tables, such as "{plant}/{machine}_*"
    broken: float = 0.1  # share of the files of a folder that may be unreadable
    split: SplitConfig = field(default_factory=SplitConfig)

    def __post_init__(self) -> None:
        at_least(self, 0, "length", "piece", "window")
        share_below_one(self, "broken")


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The columns of a table that are used.

    Attributes:
        sequence: tells sequences apart; empty if nothing does.
        time: one column, or several from the year downwards, or none.
        values: numbers.
        labels: to judge by; `split` among them if there is such a column.
        unused: column -> why it is not used.
    """

    sequence: str
    time: tuple[str, ...]
    values: tuple[str, ...]
    labels: tuple[str, ...]
    unused: dict[str, str]

    @property
    def all(self) -> tuple[str, ...]:
        """Every column that is used, once."""
        named = (self.sequence, *self.time, *self.values, *self.labels)
        return tuple(dict.fromkeys(name for name in named if name))


def find_columns(head: Any, config: Config) -> Columns:
    """Return the columns of a table from its first rows.

    Raises:
        KeyError: a column that was named is not there.
        ValueError: no column of numbers is left.
    """
    names = list(head.columns)
    check_names(names, config)
    sequence = "" if config.sequence == NONE else config.sequence
    if not config.sequence:
        sequence = first_named(names, SEQUENCE_WORDS, used=(*config.labels, *config.values))
    labels = config.labels
    if "split" in names and "split" not in (*labels, *config.values):
        labels = (*labels, "split")
    time = _find_time(names, config, sequence)
    used = {sequence, *time, *labels}
    rest = {name: unfit(head[name], config.missing) for name in names if name not in used}
    values = config.values or tuple(name for name, why in rest.items() if not why)
    if not values:
        raise ValueError(
            f"no column of numbers is left for the values. Columns: {', '.join(names)}. "
            "Name some with data.values."
        )
    unused = {name: why for name, why in rest.items() if why and not config.values}
    return Columns(sequence=sequence, time=time, values=values, labels=labels, unused=unused)


def check_names(names: Sequence[Any], config: Config) -> None:
    """Raise an error unless the columns have names of their own and those in `config` exist."""
    if any(not isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise ValueError(f"every column needs a name of its own, got {', '.join(map(str, names))}.")
    if len(names) > 1 and all(_is_number(name) for name in names):
        examples = ", ".join(names[:5])
        raise ValueError(f"the first row must hold the names of the columns, it holds {examples}.")
    single = [(what, getattr(config, what)) for what in ("sequence", "time")]
    several = [(what, name) for what in ("values", "labels") for name in getattr(config, what)]
    for what, name in (*single, *several):
        if name and name not in names and (what, name) not in (("sequence", NONE), ("time", NONE)):
            raise KeyError(f"{what}: there is no column '{name}'.{closest(name, names)}")
    if "name" in config.labels:
        raise ValueError(
            "labels: 'name' is what sequences are called. If that column tells sequences apart, "
            "say data.sequence=name; else rename it."
        )
    both = set(config.values) & {config.sequence, config.time, *config.labels}
    if both:
        raise ValueError(f"values: column '{min(both)}' cannot be a value and something else.")


def _find_time(names: list[str], config: Config, sequence: str) -> tuple[str, ...]:
    if config.time:
        return () if config.time == NONE else (config.time,)
    used = (sequence, *config.values)  # a label, such as the month, may be a time as well
    plain = first_named(names, TIME_WORDS, used)
    if plain:
        return (plain,)
    parts = list(takewhile(bool, (first_named(names, (word,), used) for word in CALENDAR)))
    if len(parts) >= 3:  # year, month and day
        return tuple(parts)
    step = first_named(names, STEP_WORDS, used)
    return (step,) if step else ()


def first_named(names: list[str], words: tuple[str, ...], used: tuple[str, ...]) -> str:
    """Return the column whose name is the earliest of `words`, or ""."""
    plain = {re.sub(r"[^a-z0-9]", "", name.lower()): name for name in names if name not in used}
    return next((plain[word] for word in words if word in plain), "")


def unfit(column: Any, missing: tuple[str, ...]) -> str:
    """Say why a column is not one of numbers; "" if it is, or is but for some stray words."""
    pandas = table_library()
    types = pandas.api.types
    if str(column.name).startswith("Unnamed: ") or not column.name:
        return "it has no name"
    if types.is_complex_dtype(column.dtype) or types.is_datetime64_any_dtype(column.dtype):
        return f"{column.dtype}, no numbers"
    if len(column) > 50 and types.is_integer_dtype(column.dtype) and (column.diff()[1:] == 1).all():
        return "it counts the rows: name it in data.values if it does not"
    if types.is_numeric_dtype(column.dtype):
        return ""
    known = column[column.notna() & ~column.astype(str).isin(missing)]
    if len(known) and pandas.to_numeric(known, errors="coerce").notna().mean() < 0.5:
        return f"words such as {str(known.iloc[0])!r}: name it in data.labels to judge by it"
    return ""


def numbers(column: Any, missing: tuple[str, ...], *, first: int = 0) -> NDArray[np.float32]:
    """Return a column as numbers, NaN where nothing is known.

    Args:
        column: of a table.
        missing: words and numbers that stand for nothing, besides those that pandas knows.
        first: rows of the table before this one, for the message.

    Raises:
        ValueError: it holds words. The message shows the first of them.
    """
    if column.dtype.kind in "biuf" and isinstance(column.dtype, np.dtype):
        values = column.to_numpy(np.float64)
    else:
        values = _parsed(column, missing, first)
    marks = [float(word) for word in missing if _is_number(word)]
    if marks:
        values = np.where(np.isin(values, marks), np.nan, values)
    with np.errstate(over="ignore"):  # beyond float32: infinite, which counts as unknown
        return values.astype(np.float32)


def _parsed(column: Any, missing: tuple[str, ...], first: int) -> NDArray[np.float64]:
    numbers = table_library().to_numeric(column, errors="coerce")
    values = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    words = column.astype(str).str.strip()
    known = column.notna() & ~words.isin(("", *missing))
    stray = np.isnan(values) & known.to_numpy(bool) & (words.str.lower() != "nan").to_numpy(bool)
    if stray.any():
        row = int(stray.argmax())
        raise ValueError(
            f"column '{column.name}' must hold numbers, got {str(column.iloc[row])!r} in row "
            f"{first + row + 1} below the header. If that means an unknown value, say so: "
            f"data.missing='[{_quoted(column.iloc[row])}]'; else choose with data.values."
        )
    return values


def _quoted(word: Any) -> str:
    return '"' + str(word).replace('"', '\\"') + '"'


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def table_library() -> Any:
    """Return pandas, or say how to install it."""
    try:
        import_module("pyarrow")
        return import_module("pandas")
    except ImportError:
        raise ValueError('tables need pandas and pyarrow: pip install "unbraid[tables]".') from None
