"""Rows of tables are gathered as numbers: values, times, and words that are numbered."""

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbraid.data.readers.tables.columns import CALENDAR, Columns, numbers, table_library

Ints = NDArray[np.int64]
_CLOCK = re.compile(r"\s*\d+:[0-5]\d(:[0-5]\d(\.\d+)?)?\s*")


class Words:
    """The different words of a column, numbered as they appear; -1 is missing."""

    def __init__(self, missing: tuple[str, ...] = ()) -> None:
        self.places: dict[Any, int] = {}
        self.missing = ("", *missing)

    def codes(self, column: Any) -> Ints:
        """Return the number of every word of a column."""
        codes, words = table_library().factorize(column)
        known = [self.place(word) for word in words.tolist()]
        return np.array([*known, -1], dtype=np.int64)[codes]  # a missing word has code -1: the last

    def place(self, word: Any) -> int:
        """Return the number of one word."""
        if isinstance(word, str | int | float) and str(word) in self.missing:
            return -1
        return self.places.setdefault(word, len(self.places))


class Gathered:
    """Parts of tables, one below the other: only numbers are kept, so that they are small."""

    def __init__(self, columns: Columns, missing: tuple[str, ...]) -> None:
        self.columns, self.missing = columns, missing
        self.ids = Words()
        self.words = {name: Words(missing) for name in columns.labels}
        self.owners: list[Ints] = []
        self.values: list[NDArray[np.float32]] = []
        self.times: dict[str, list[Any]] = {name: [] for name in columns.time}
        self.labels: dict[str, list[Ints]] = {name: [] for name in columns.labels}

    def add(self, part: Any, *, name: str, first: int, path_labels: Mapping[str, str]) -> None:
        """Add a part of a table.

        Args:
            part: a data frame.
            name: of its sequence, if no column tells.
            first: rows of that table before this part, for messages.
            path_labels: labels of the whole part that are in no column.
        """
        columns = [numbers(part[c], self.missing, first=first) for c in self.columns.values]
        self.values.append(np.stack(columns, axis=1))
        for column, times in self.times.items():
            times.append(part[column])
        if self.columns.sequence:
            self.owners.append(self.ids.codes(part[self.columns.sequence]))
        else:
            self.owners.append(np.full(len(part), self.ids.place(name), dtype=np.int64))
        for label, words in self.words.items():
            if label in path_labels:
                codes = np.full(len(part), words.place(path_labels[label]), dtype=np.int64)
            else:
                codes = words.codes(part[label])
            self.labels[label].append(codes)

    def rewind(self, parts: int) -> None:
        """Forget all but the first parts: the rest turned out to be broken."""
        columns: list[list[Any]] = [self.owners, self.values]
        for column in (*columns, *self.times.values(), *self.labels.values()):
            del column[parts:]


@dataclass(frozen=True, slots=True)
class Times:
    """Times of rows: numbers, or microseconds where they are dates or durations."""

    values: NDArray[Any]
    known: NDArray[np.bool_]
    dated: bool


def read_times(parts: Mapping[str, list[Any]]) -> Times | None:
    """Return the times in one column, or in several from the year downwards; None without any.

    Args:
        parts: column -> its parts, one below the other.
    """
    pandas = table_library()
    columns = [pandas.concat(column, ignore_index=True) for column in parts.values()]
    if not columns:
        return None
    if len(columns) > 1:
        calendar = pandas.DataFrame(dict(zip(CALENDAR, columns, strict=False)))
        return _dates(pandas.to_datetime(calendar, errors="coerce"))
    column, types = columns[0], pandas.api.types
    if types.is_integer_dtype(column.dtype) and not column.isna().any():
        return Times(column.to_numpy(np.int64), np.ones(len(column), dtype=bool), False)
    if types.is_numeric_dtype(column.dtype):
        values = column.to_numpy(np.float64, na_value=np.nan)
        return Times(values, np.isfinite(values), False)
    is_dated = types.is_datetime64_any_dtype(column.dtype)
    return _dates(column if is_dated or column.dtype.kind == "m" else _parsed(column))


def _parsed(column: Any) -> Any:
    """Return words as durations (`47:30`) or dates."""
    pandas = table_library()
    words = column.astype(str).str.strip().where(column.notna())
    if words.notna().any() and words.dropna().str.fullmatch(_CLOCK).all():
        return pandas.to_timedelta(words.mask(words.str.count(":") == 1, words + ":00"))
    for how in ({"format": "ISO8601"}, {}, {"dayfirst": True}):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that dates of this form are slow to read
                return pandas.to_datetime(words, utc=True, **how)
        except (ValueError, TypeError, OverflowError):
            continue
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bad = words[pandas.to_datetime(words, utc=True, errors="coerce").isna() & words.notna()]
    raise ValueError(
        f"time: column '{column.name}' must hold dates, hh:mm or numbers, got "
        f"{bad.iloc[0] if len(bad) else words.iloc[0]!r}. Choose another with data.time, or "
        "data.time=none to take the rows as they come."
    )


def _dates(column: Any) -> Times:
    """Return dates or durations in microseconds."""
    if column.dtype.kind == "m":
        values = column.to_numpy().astype("m8[us]")
    else:
        dates = table_library().to_datetime(column, utc=True).dt.tz_convert(None)
        values = dates.to_numpy().astype("M8[us]")
    return Times(values.astype(np.int64), ~np.isnat(values), True)
