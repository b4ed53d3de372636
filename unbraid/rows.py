"""Rows of numbers in a CSV file: appended one by one, cut where a run goes on."""

import csv
import os
from pathlib import Path
from typing import Any

from unbraid.files import name_when_full, write_whole

Row = dict[str, float]


def append_row(path: Path, row: Row) -> None:
    """Append a row to a CSV file; the file is rewritten only when a row brings new columns."""
    names: list[str] = []
    if path.exists():
        with path.open(newline="", encoding="utf-8") as file:
            names = next(csv.reader(file), [])
    new = [name for name in row if name not in names]
    if new:
        old = read_rows(path) if names else []
        write_rows(path, [*old, row], names + new)
        return
    size = path.stat().st_size
    try:
        with name_when_full(path), path.open("a", newline="", encoding="utf-8") as file:
            csv.DictWriter(file, names).writerow(_as_text(row))
    except OSError:  # half a row would be taken for one
        os.truncate(path, size)
        raise


def write_rows(path: Path, rows: list[Any], names: list[str]) -> None:
    """Write a whole CSV file of rows of numbers."""

    def write(aside: Path) -> None:
        with aside.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, names)
            writer.writeheader()
            for row in rows:
                writer.writerow(_as_text(row))

    write_whole(path, write)


def _as_text(row: dict[str, Any]) -> dict[str, str]:
    """Return numbers with six digits, but steps with all of theirs."""
    numbers = {name: value for name, value in row.items() if not isinstance(value, str)}
    texts = {k: str(int(v)) if k == "step" else f"{v:.6g}" for k, v in numbers.items()}
    return {**row, **texts}


def read_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):  # the process was killed while it wrote
        lines.pop()
    return list(csv.DictReader(lines))


def cut_rows(path: Path, step: int) -> None:
    """Drop what was logged after `step`: a resumed run writes it again."""
    rows = read_rows(path) if path.exists() else []
    try:
        rows_before = [row for row in rows if float(row["step"]) <= step]
    except (KeyError, TypeError, ValueError):
        raise ValueError(
            f"{path} is damaged: it must have a column step of numbers. Restore or delete it."
        ) from None
    if rows:
        write_rows(path, rows_before, list(rows[0]))
    else:  # a header at most, which the next row brings along
        path.unlink(missing_ok=True)
