"""Codes as data frames, with ids and labels: the tables of `unbraid encode`, in memory."""

from typing import Any, NamedTuple

import numpy as np

from unbraid.data.corpus import Split
from unbraid.data.readers.tables.columns import table_library
from unbraid.evaluation.manipulate import embed
from unbraid.methods.base import Method


class CodeFrames(NamedTuple):
    """`sequences`: id, labels, s_0, ...; `steps`: id, step, d_0, ... as pandas frames."""

    sequences: Any
    steps: Any


def code_frames(method: Method, split: Split, *, batch_size: int = 128) -> CodeFrames:
    """Return the codes of a split as two data frames; steps beyond the end have no rows.

    Args:
        method: the model.
        split: the sequences; `id` is their row in the data, as in `splits.csv`.
        batch_size: how many are encoded at once.
    """
    pandas = table_library()
    codes = embed(method, split, batch_size=batch_size)
    names = {factor.name: factor.values for factor in (*split.spec.static, *split.spec.dynamic)}
    labels = {
        name: _named(split.label(name), names.get(name, ()))
        for name, label in split.labels.items()
        if label.ndim == 1
    }
    sequence, step = np.nonzero(codes.mask)
    statics = {f"s_{k}": column for k, column in enumerate(codes.s.T)}
    dynamics = {f"d_{k}": column for k, column in enumerate(codes.d[codes.mask].T)}
    return CodeFrames(
        pandas.DataFrame({"id": split.rows, **labels, **statics}),
        pandas.DataFrame({"id": split.rows[sequence], "step": step, **dynamics}),
    )


def _named(label: Any, values: tuple[str, ...]) -> Any:
    """Return the names of classes; None where it is unknown."""
    if not values:
        return label
    return [values[k] if k >= 0 else None for k in label.tolist()]
