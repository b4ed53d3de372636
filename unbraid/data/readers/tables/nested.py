"""Tables with one row per sequence, whose cells hold lists, become tables with one row per step."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbraid.data.readers.tables.columns import (
    NONE,
    SEQUENCE_WORDS,
    TIME_WORDS,
    Config,
    check_names,
    first_named,
    table_library,
)

ROW = "row"  # column of row numbers, where no column names the sequences


@dataclass(frozen=True, slots=True)
class Nested:
    """Which columns of a table hold lists with one entry per step.

    Attributes:
        lists: those columns; the first says how many steps a row has.
        plain: columns with one entry per sequence that are used.
        config: settings that fit the table with one row per step.
    """

    lists: tuple[str, ...]
    plain: tuple[str, ...]
    config: Config

    def flatten(self, frame: Any, first: int) -> Any:
        """Return the table with one row per step; rows are numbered from `first`.

        A row with empty lists becomes one step of which nothing is known.
        """
        steps = [_steps(cell) for cell in frame[self.lists[0]]]
        counts = np.maximum(steps, 1)
        columns: dict[str, Any] = {ROW: np.repeat(np.arange(first, first + len(frame)), counts)}
        columns |= {name: frame[name].repeat(counts).array for name in self.plain}
        for name in self.lists:
            columns |= _flat(frame[name], name, steps)
        return table_library().DataFrame(columns)


def find_nested(head: Any, config: Config) -> Nested | None:
    """Return how a table with lists in its cells is to be read, from its first rows; else None.

    A cell of `T` entries is one channel, of `T x F` entries F channels (`x0`, `x1`, ...). Without
    `values`, the columns with the deepest and then the longest lists are taken. Without `labels`,
    lists of words, or that are as long but less deep, are labels per step, and every column without
    lists is one per sequence, unless all its words differ.
    """
    depths = {name: _depth(head[name]) for name in head.columns}
    if not any(depths.values()):
        return None
    lists = [name for name, depth in depths.items() if depth]
    head = head[[all(map(_steps, row)) for row in head[lists].itertuples(index=False)]]
    if not len(head):
        raise ValueError(f"no row has an entry in all its lists: {', '.join(lists)}.")
    asked = config.values
    config = replace(config, values=_whole_columns(asked, depths))
    check_names(list(head.columns), config)
    lists = _find_lists(head, depths, config)
    plain = [name for name, depth in depths.items() if depth == 0]
    sequence = config.sequence or first_named(plain, SEQUENCE_WORDS, config.labels)
    if sequence in ("", NONE) or not head[sequence].is_unique:
        sequence = ROW
    time = config.time or first_named(lists, TIME_WORDS, config.labels) or NONE
    labels = config.labels or (
        *(n for n in plain if n != sequence and _is_label(head[n])),
        *(n for n in lists if n not in (time, *config.values) and _is_side(head[n], depths, n)),
    )
    values = [n for n in lists if n not in (time, *labels)]
    wide = [c for n in values for c in _flat(head[n][:1], n, [_steps(head[n].iloc[0])])]
    used = tuple(n for n in plain if n in (sequence, *labels))
    chosen = asked if asked and set(asked) <= set(wide) else tuple(wide)
    settings = replace(config, values=chosen, labels=labels, time=time, sequence=sequence)
    return Nested((*values, *(n for n in lists if n not in values)), used, settings)


def _whole_columns(names: tuple[str, ...], depths: dict[str, int]) -> tuple[str, ...]:
    """Return the columns that channels such as `x0` and `x1` come from."""
    whole = [name if name in depths else name.rstrip("0123456789") for name in names]
    return tuple(dict.fromkeys(whole))


def _find_lists(head: Any, depths: dict[str, int], config: Config) -> list[str]:
    lists = [name for name, depth in depths.items() if depth > 0]
    named = [name for name in lists if name in (*config.values, *config.labels, config.time)]
    flat = [name for name in config.values if name not in lists]
    if flat:
        raise ValueError(f"values: column '{flat[0]}' must hold lists, as {lists[0]!r} does.")
    spare = list(config.values) or [n for n in lists if n not in config.labels] or lists
    lead = max(spare, key=lambda name: (depths[name], _steps(head[name].iloc[0])))
    steps = _steps(head[lead].iloc[0])
    others = [name for name in lists if _steps(head[name].iloc[0]) == steps]
    if config.values:
        others = [name for name in others if name.lower() in TIME_WORDS]
    return [name for name in lists if name in (*named, *others)]


def _steps(cell: Any) -> int:
    return len(cell) if _is_list(cell) else 0


def _is_list(cell: Any) -> bool:
    return isinstance(cell, list | tuple | np.ndarray)


def _depth(column: Any) -> int:
    """Return how deep the lists in a column are; 0 if there are none."""
    depth = 0
    cell: Any = next((cell for cell in column if _steps(cell)), None)
    while _steps(cell):
        depth, cell = depth + 1, cell[0]
    return depth


def _flat(column: Any, name: str, steps: list[int]) -> dict[str, NDArray[Any]]:
    """Return the entries of all lists of a column, one column for each of their own entries."""
    for row, (cell, count) in enumerate(zip(column, steps, strict=True)):
        if _steps(cell) != count:
            raise ValueError(
                f"column '{name}' must have as many steps as the other lists of its row, row {row} "
                f"has {_steps(cell)} instead of {count}."
            )
    cells = [_stacked(cell) if _steps(cell) else None for cell in column]
    model = next((cell for cell in cells if cell is not None), np.full(1, np.nan))
    blank = np.full((1, *model.shape[1:]), np.nan if model.dtype.kind == "f" else None)
    try:
        flat = np.concatenate([blank if cell is None else cell for cell in cells])
    except ValueError:
        raise ValueError(f"column '{name}' must hold lists of one width in all rows.") from None
    if flat.ndim > 2:
        raise ValueError(f"column '{name}' must hold T or T x F numbers, got {flat.ndim} axes.")
    if flat.ndim == 1:
        return {name: flat}
    return {f"{name}{k}": flat[:, k] for k in range(flat.shape[1])}


def _stacked(cell: Any) -> NDArray[Any]:
    """Return a list of entries, or a list of lists, as one array."""
    try:
        return np.stack(list(cell)) if _is_list(cell[0]) else np.asarray(cell)
    except ValueError:
        return np.empty((1, 0))  # of unequal width, which agrees with no other


def _is_side(column: Any, depths: dict[str, int], name: str) -> bool:
    """Tell labels per step from values: words, or numbers beside rows of numbers."""
    return depths[name] < max(depths.values()) or isinstance(column.iloc[0][0], str)


def _is_label(column: Any) -> bool:
    """Tell labels from names and dates: words that all differ say nothing."""
    types = table_library().api.types
    if types.is_datetime64_any_dtype(column.dtype):
        return False
    return bool(types.is_numeric_dtype(column.dtype) or not column.is_unique)
