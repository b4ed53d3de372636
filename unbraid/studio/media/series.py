"""Series: values for the page's charts, tables to keep."""

import csv as tables
import io
import json as texts

import numpy as np
from numpy.typing import NDArray

from unbraid.figures.sequences.render import raw_values
from unbraid.records import Spec

Values = NDArray[np.float32]


def json(spec: Spec, x: Values) -> bytes:
    """Return a list of values per channel in the units of the data; null where none is observed."""
    rows = _rows(spec, x)  # (T·W, F)
    columns = [
        [float(f"{v:.5g}") if np.isfinite(v) else None for v in column.tolist()]
        for column in rows.T
    ]
    return texts.dumps({"values": columns}, allow_nan=False).encode()


def csv(spec: Spec, x: Values) -> bytes:
    """Return a table with a row per time and a column per channel; empty where not observed."""
    rows = _rows(spec, x)
    names = spec.channels or tuple(f"channel {i}" for i in range(rows.shape[1]))
    buffer = io.StringIO(newline="")
    writer = tables.writer(buffer)
    writer.writerow(["row", *map(_cell, names)])
    for number, row in enumerate(rows.tolist()):
        writer.writerow([number, *("" if np.isnan(v) else f"{v:.7g}" for v in row)])
    return buffer.getvalue().encode()


def _cell(name: str) -> str:
    """Return a name that no spreadsheet takes for a formula."""
    return f"'{name}" if name[:1] in "=+-@\t\r" else name


def _rows(spec: Spec, x: Values) -> Values:
    raw = raw_values(spec, x)
    return raw.reshape(-1, raw.shape[-1])
