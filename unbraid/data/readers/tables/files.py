"""CSV, TSV and Parquet files, read in parts that fit in memory."""

import csv
import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from unbraid.data.readers.tables.columns import table_library

HEAD = 10_000  # rows that tell what the columns hold
PART = 4_000_000  # cells that are read together
LONGEST_LINE = 1 << 26  # characters
MOST_COLUMNS = 20_000  # a table is wide by mistake: sequences are its rows
SUFFIXES = (".csv", ".tsv", ".parquet")


def table_head(path: Path) -> Any:
    """Return the first rows of a table."""
    head = next(table_parts(path, rows=HEAD), None)
    if head is None or not len(head):
        raise ValueError(f"{path} holds no rows.")
    return head


def table_parts(
    path: Path, *, columns: Sequence[str] | None = None, words: Sequence[str] = (), rows: int = 0
) -> Iterator[Any]:
    """Yield a table in data frames, one after the other.

    Args:
        path: of the file.
        columns: only these.
        words: columns that are kept as they are written: "007" is not 7.
        rows: of a data frame; 0 = as many as fit in 4 million cells.

    Raises:
        ValueError: the file cannot be read. The message names it and the reason.
    """
    pandas = table_library()
    try:
        if path.suffix.lower() == ".parquet":
            yield from _parquet_parts(path, columns, rows)
        else:
            yield from _csv_parts(pandas, path, columns, words, rows)
    except (OSError, ValueError, KeyError, EOFError, NotImplementedError, csv.Error) as error:
        raise ValueError(f"{path} cannot be read as a table: {_reason(error)}.") from None


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text"
    lost = re.search(r"not found: \[(.*)\]", str(error))
    if lost:
        return f"it has no column {lost[1]}"
    return str(error).strip("'\"\n").partition("\n")[0].rstrip(".") or type(error).__name__


def _csv_parts(
    pandas: Any, path: Path, columns: Sequence[str] | None, words: Sequence[str], rows: int
) -> Iterator[Any]:
    separator, decimal, fitting = _dialect(path)
    with pandas.read_csv(
        path,
        sep=separator,
        decimal=decimal,
        usecols=columns,
        skipinitialspace=True,
        dtype=dict.fromkeys(words, str),
        chunksize=rows or fitting,
        low_memory=False,
        index_col=False,
    ) as parts:
        yield from parts


def _dialect(path: Path) -> tuple[str, str, int]:
    """Return what parts the cells, the decimal mark, and how many rows are 4 million cells."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        lines = list(islice(iter(partial(file.readline, LONGEST_LINE), ""), 20))
    if max(map(len, lines), default=0) >= LONGEST_LINE:
        raise ValueError("its lines are longer than 64 MB: it is no table")
    separator = max((",", ";", "\t", "|"), key=lines[0].count) if lines else ","
    if path.suffix.lower() == ".tsv":
        separator = "\t"
    cells = [len(row) for row in csv.reader(lines[:2], delimiter=separator)]
    _check_width(max([0, *cells]))
    if len(cells) == 2 and cells[1] > cells[0]:  # pandas would take the first for row names
        raise ValueError(f"its first row names {cells[0]} columns, the next has {cells[1]} cells")
    has_commas = separator != "," and re.search(r"\d,\d", "".join(lines[1:]))
    return separator, "," if has_commas else ".", max(1000, PART // max([1, *cells]))


def _check_width(columns: int) -> None:
    if columns > MOST_COLUMNS:
        raise ValueError(
            f"it has {columns:,} columns, at most {MOST_COLUMNS:,} are read. Rows are steps and "
            "columns are channels: perhaps it is the other way round"
        )


def _parquet_parts(path: Path, columns: Sequence[str] | None, rows: int) -> Iterator[Any]:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        width = max(1, len(columns or file.schema_arrow.names))
        _check_width(len(file.schema_arrow.names))
        size = rows or max(1000, PART // width)
        wanted = None if columns is None else list(columns)
        lost = sorted(set(wanted or ()) - set(file.schema_arrow.names))
        if lost:
            raise ValueError(f"columns not found: {lost}")
        for batch in file.iter_batches(batch_size=size, columns=wanted):
            yield batch.to_pandas()
