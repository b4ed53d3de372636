"""Codes as one row per sequence, and back; decoded sequences in the axes of the data."""

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from unbraid.data.corpus import Array
from unbraid.evaluation.manipulate import Embedding
from unbraid.records import Codes, Spec
from unbraid.shapes import ShapeError

Table = NDArray[np.float32]


def code_names(output: str, sizes: tuple[int, int], length: int) -> list[str]:
    """Return the names of the columns.

    >>> code_names("both", (1, 2), 2)
    ['s_0', 'd_0_0', 'd_0_1', 'd_1_0', 'd_1_1']
    """
    static = [f"s_{i}" for i in range(sizes[0])] if output != "dynamic" else []
    steps = range(length) if output != "static" else ()
    return [*static, *(f"d_{t}_{i}" for t in steps for i in range(sizes[1]))]


def code_table(codes: Embedding, output: str, length: int) -> Table:
    """Return codes as (N, columns); NaN where a sequence has no step."""
    if output == "static":
        return codes.s
    count, steps, size = codes.d.shape
    if steps > length:
        raise ShapeError(
            f"sequences have {steps} steps, more than the {length} of fit, so their columns do not "
            'fit. Use output="static", or encode(X).'
        )
    d = np.full((count, length, size), np.nan, dtype=np.float32)
    d[:, :steps] = np.where(codes.mask[..., None], codes.d, np.nan)
    table = d.reshape(count, -1)
    return table if output == "dynamic" else np.concatenate([codes.s, table], axis=1)


def codes_of_table(
    table: Table, sizes: tuple[int, int], length: int
) -> tuple[Codes, NDArray[np.int64]]:
    """Undo `code_table` of both codes: the codes, and how many steps each sequence has."""
    s, d = sizes
    if table.ndim != 2 or table.shape[1] != s + length * d:
        raise ShapeError(f"codes have {s + length * d} columns, got shape {table.shape}.")
    steps = table[:, s:].reshape(len(table), length, d)
    lengths = (~np.isnan(steps).any(-1)).sum(1)
    static, dynamic = table[:, :s].copy(), np.nan_to_num(steps)
    return Codes(torch.from_numpy(static), torch.from_numpy(dynamic)), lengths


def in_data_units(spec: Spec, x: Float[Tensor, "N T *F"], rows: NDArray[np.int64]) -> Array:
    """Return decoded sequences as the data are, windows joined again; NaN beyond `rows`."""
    values: Array = spec.to_data(x.float().cpu()).numpy()
    if spec.kind == "series":
        values = values.reshape(len(values), -1, spec.frame[-1])
    values = values[:, : rows.max()]
    values[np.arange(values.shape[1]) >= rows[:, None]] = np.nan
    return values
