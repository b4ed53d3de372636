"""Codes as two Parquet tables, written part by part.

`codes.parquet` has one row per sequence: `id`, `split`, `length`, its labels, `s_0`, `s_1`, ...
`codes.d.parquet` has one row per step: `id`, `step`, its labels, `d_0`, `d_1`, ...; padding has no
rows. A label whose classes have names holds the names (a categorical column in pandas, whose codes
are the class numbers), and nothing where it is unknown.
"""

from collections.abc import Iterator
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from unbraid.data.corpus import Array
from unbraid.files import write_whole
from unbraid.records import Factor
from unbraid.workflows.export.parts import Parts

MARK = {b"unbraid": b"codes-1"}
GROUP_BYTES = 16_000_000  # of a row group, which is in memory until it is written


def files(path: Path) -> tuple[Path, ...]:
    """Return the files that are written: the table of sequences and that of steps."""
    return path, path.with_suffix(".d.parquet")


def require() -> None:
    """Check that pyarrow is installed."""
    try:
        import_module("pyarrow.parquet")
    except ImportError:
        raise ValueError(
            'Parquet files need pyarrow: pip install "unbraid[tables]", or write an .npz file.'
        ) from None


def is_ours(path: Path) -> bool:
    """Say whether a file was written by `write`."""
    import pyarrow
    from pyarrow import parquet

    try:
        metadata = parquet.read_schema(path).metadata or {}
    except (OSError, pyarrow.ArrowException):
        return False
    return MARK.items() <= metadata.items()


def write(path: Path, parts: Parts, split: str) -> None:
    """Write the two tables.

    Args:
        path: of the table of sequences.
        parts: all of them finished.
        split: its name; if empty, the label `split` decides, or else it is `input`.
    """
    static, dynamic = files(path)
    every = range(len(parts))
    _write_table(dynamic, (_steps(parts, part) for part in every))
    _write_table(static, (_sequences(parts, part, split) for part in every))


def _sequences(parts: Parts, part: int, split: str) -> Any:
    """Return a part of the table of sequences."""
    labels = {name: parts.labels(part, name) for name in _names(parts, axes=1)}
    split_labels = labels.pop("split", None)
    rows = parts.rows(part)
    columns = {
        "id": rows,
        "split": np.full(len(rows), split or "input"),
        "length": parts.codes(part, "mask").sum(1),
    }
    if split_labels is not None and not split:
        columns["split"] = split_labels
    return _table(parts, columns, labels, _code_columns("s", parts.codes(part, "s")))


def _steps(parts: Parts, part: int) -> Any:
    """Return a part of the table of steps; those beyond the end of a sequence are not in it."""
    mask = parts.codes(part, "mask")
    labels = {name: parts.labels(part, name)[mask] for name in _names(parts, axes=2)}
    sequence, step = np.nonzero(mask)
    columns = {"id": parts.rows(part)[sequence], "step": step}
    return _table(parts, columns, labels, _code_columns("d", parts.codes(part, "d")[mask]))


def _names(parts: Parts, *, axes: int) -> list[str]:
    """Return the labels per sequence (1 axis) or per step (2 axes)."""
    return [name for name, label in parts.split.labels.items() if label.ndim == axes]


def _code_columns(letter: str, codes: Array) -> dict[str, Array]:
    columns = np.ascontiguousarray(codes.T)
    return {f"{letter}_{k}": column for k, column in enumerate(columns)}


def _table(
    parts: Parts, columns: dict[str, Array], labels: dict[str, Array], codes: dict[str, Array]
) -> Any:
    """Return an Arrow table; a label whose name is taken gets one that is not."""
    import pyarrow

    spec = parts.split.spec
    factors = {factor.name: factor for factor in (*spec.static, *spec.dynamic)}
    named = {
        f"label_{name}" if name in columns or name in codes else name: _label(
            values, factors.get(name)
        )
        for name, values in labels.items()
    }
    return pyarrow.table({**columns, **named, **codes}).replace_schema_metadata(MARK)


def _label(values: Array, factor: Factor | None) -> Any:
    """Return labels as a column: the names of the classes, if they have any."""
    import pyarrow

    if factor is None or not factor.values:
        return pyarrow.array(values)
    numbers = pyarrow.array(values, pyarrow.int32(), mask=values < 0)
    return pyarrow.DictionaryArray.from_arrays(numbers, list(factor.values))


def _write_table(path: Path, tables: Iterator[Any]) -> None:
    """Write a table that comes in parts; few parts become one row group."""
    from pyarrow import concat_tables, float32, parquet

    first = next(tables)
    # Codes hardly ever repeat: a dictionary of them would be given up after much work.
    repetitive = [field.name for field in first.schema if field.type != float32()]

    def fill(aside: Path) -> None:
        with parquet.ParquetWriter(aside, first.schema, use_dictionary=repetitive) as file:
            group = []
            for table in chain((first,), tables):
                group.append(table)
                if sum(part.nbytes for part in group) >= GROUP_BYTES:
                    file.write_table(concat_tables(group))
                    group = []
            if group:
                file.write_table(concat_tables(group))

    write_whole(path, fill)
