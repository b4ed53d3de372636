"""Rows of a table, in any order, find their sequence, their row of it, and their piece."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbraid.data.readers.tables.columns import NONE, Columns, Config, table_library
from unbraid.data.readers.tables.rows import Ints, Times

REPEATED = 0.5  # share of rows with a time that was there before: the columns are others
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the rows of a table go.

    Attributes:
        order: rows of the table that are used, by sequence and time.
        owner: sequence of each.
        place: row of that sequence; several rows may share one.
        source: id of every sequence.
        number: which piece of that id it is.
        lengths: rows of every sequence.
        notes: what was left out or joined, and why.
    """

    order: Ints
    owner: Ints
    place: Ints
    source: Ints
    number: Ints
    lengths: Ints
    notes: dict[str, str]

    @property
    def starts(self) -> Ints:
        """Where every sequence begins in `order`."""
        return np.flatnonzero(_changes(self.owner))

    @property
    def cells(self) -> Ints:
        """Where every (owner, place) begins in `order`."""
        return np.flatnonzero(_changes(self.owner) | _changes(self.place))

    def without(self, bad: Bools) -> "Layout":
        """Return it without some of the sequences."""
        valid = ~bad[self.owner]
        return replace(
            self,
            order=self.order[valid],
            place=self.place[valid],
            owner=(np.cumsum(~bad) - 1)[self.owner[valid]],
            source=self.source[~bad],
            number=self.number[~bad],
            lengths=self.lengths[~bad],
        )


def arrange(owner: Ints, times: Times | None, columns: Columns, config: Config) -> Layout:
    """Sort rows by sequence and time, and find the row of its sequence that each becomes.

    Args:
        owner: id of every row, -1 if it has none.
        times: of every row; None: the rows are in order.
        columns: that these were taken from.
        config: says how sequences are cut.
    """
    notes: dict[str, str] = {}
    keep = owner >= 0
    _note(notes, "rows without a sequence", keep)
    if times is not None:
        _note(notes, "rows without a time", times.known | ~keep)
        keep &= times.known
    order = np.flatnonzero(keep)
    if not len(order):
        raise ValueError(f"none of {len(keep)} rows has a sequence and a time.")
    when: NDArray[Any] = np.arange(len(keep)) if times is None else times.values
    order = order[np.lexsort((when[order], owner[order]))]
    owner, when = owner[order], when[order]
    begins = _changes(owner)
    fresh = begins | _changes(when)
    if not (config.time and config.sequence):
        _check_guess(begins, fresh, columns)
    if not (config.every or fresh.all()):
        many = int((~fresh).sum())
        notes["repeated rows"] = f"{many:,} with the sequence and time of another row: averaged"
    ticks = _grid(when, times, config.every) if config.every else np.cumsum(fresh, dtype=np.int64)
    place = ticks - ticks[begins][np.cumsum(begins) - 1]
    return _cut(Layout(order, owner, place, owner, owner, owner, notes), config)


def _cut(rows: Layout, config: Config) -> Layout:
    """Keep the first `length` rows of a sequence and cut those into pieces."""
    if config.length:
        inside = rows.place < config.length
        rows = replace(
            rows, order=rows.order[inside], owner=rows.owner[inside], place=rows.place[inside]
        )
    number = rows.place // config.piece if config.piece else np.zeros_like(rows.place)
    begins = _changes(rows.owner) | _changes(number)
    place = rows.place - number * config.piece
    ends = np.append(np.flatnonzero(begins)[1:], len(place)) - 1
    source, number = rows.owner[begins], number[begins]
    last = np.append(source[1:] != source[:-1], True)
    lengths = np.where(last, place[ends] + 1, config.piece)
    layout = replace(
        rows,
        owner=np.cumsum(begins) - 1,
        place=place,
        source=source,
        number=number,
        lengths=lengths,
    )
    short = last & (number > 0) & (2 * lengths < config.piece)
    if short.any():
        rows.notes["ends of sequences"] = (
            f"{int(short.sum())} that are shorter than half a piece, "
            f"{int(lengths[short].sum())} rows in all"
        )
    return layout.without(short)


def _grid(when: NDArray[Any], times: Times | None, every: str) -> Ints:
    """Return the number of the bin of a regular grid that each time lies in."""
    pandas = table_library()
    if times is None:
        raise ValueError(f"every={every!r} needs a column of times: name it with data.time.")
    try:
        size = pandas.Timedelta(every) // pandas.Timedelta("1us") if times.dated else float(every)
    except ValueError:
        size = 0
    if not 0 < size < np.inf:
        wanted = 'a duration such as "10min" or "1h"' if times.dated else "a number, as times are"
        raise ValueError(f"every must be {wanted}, got {every!r}.")
    return np.floor_divide(when, size).astype(np.int64)


def _check_guess(begins: Bools, fresh: Bools, columns: Columns) -> None:
    """Refuse columns that cannot be what they were taken for."""
    guess = f"(sequence: {columns.sequence or NONE}, time: {' '.join(columns.time) or NONE})"
    if len(begins) > 2 and begins.all():
        what = "is a sequence of its own, in which nothing can move"
        share = f"each of {len(begins)} rows"
    elif (~fresh).mean() > REPEATED:
        what = "have the sequence and time of another row"
        share = f"{int((~fresh).sum())} of {len(fresh)} rows"
    else:
        return
    raise ValueError(
        f"{share} {what} {guess}. Name the columns that tell sequences and times with "
        "data.sequence and data.time; none says that there is no such column."
    )


def _note(notes: dict[str, str], what: str, good: Bools) -> None:
    if not good.all():
        notes[what] = f"{int((~good).sum())} of {len(good)} rows"


def _changes(column: NDArray[Any]) -> Bools:
    """Return where a value differs from the one before it; the first one does."""
    return np.append(np.ones(min(1, len(column)), dtype=bool), column[1:] != column[:-1])
