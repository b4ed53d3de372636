"""Labels of any kind become class numbers with names, or numbers to be regressed."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from unbraid.data.corpus import UNKNOWN, Array
from unbraid.records import Factor
from unbraid.settings import closest
from unbraid.shapes import ShapeError

GROUPS = ("split", "name")  # labels that are never factors


def encode_label(name: str, values: Sequence[Any] | Array) -> tuple[Array, Factor]:
    """Return labels as evaluation wants them, and the factor that describes them.

    Words and scattered whole numbers (1088, 1447) become classes 0, 1, ... in sorted order, which
    keep their names; small whole numbers stay; other numbers are to be regressed. An empty word, a
    NaN among words, and a negative class are unknown (-1).

    >>> encode_label("who", ["ann", "bob", "ann", ""])[0].tolist()
    [0, 1, 0, -1]
    """
    array = label_array(values)
    if array.dtype.kind == "f":
        return array.astype(np.float64), Factor(name=name, classes=0, per_step=array.ndim == 2)
    if array.dtype.kind == "b":
        array = array.astype(np.int64)
    if array.dtype.kind in "iu":
        array = array.astype(np.int64)
        known = np.unique(array[array >= 0])
        if len(known) == 0 or known[-1] < 2 * len(known):
            classes = int(known[-1]) + 1 if len(known) else 0
            return array, Factor(name=name, classes=classes, per_step=array.ndim == 2)
        array = np.where(array >= 0, array.astype(str), "")
        order = [str(number) for number in known]
    else:
        array = np.array([_word(v) for v in array.ravel().tolist()], dtype=str).reshape(array.shape)
        order = sorted(set(array.ravel().tolist()) - {""})
    place = {word: number for number, word in enumerate(order)} | {"": UNKNOWN}
    flat = np.array([place[word] for word in array.ravel().tolist()], dtype=np.int64)
    factor = Factor(name=name, classes=len(order), values=tuple(order), per_step=array.ndim == 2)
    return flat.reshape(array.shape), factor


def label_array(values: Any) -> Array:
    """Return labels as one array; a NaN among words stays what it is and is not the word nan."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise ShapeError("a label must have one entry per sequence, or T per sequence.") from None
    if array.dtype.kind in "US" and not isinstance(values, np.ndarray):
        return np.asarray(values, dtype=object)
    return array


def where_known(labels: Array, mask: Array) -> Array:
    """Return where classes are known: (N,), or (N, T) for those per step, at existing steps.

    >>> where_known(np.array([[0, -1, 2]]), np.array([[True, True, False]])).tolist()
    [[True, False, False]]
    """
    known = labels >= 0
    return known & mask if labels.ndim == 2 else known


def _is_known(array: Array) -> Array:
    return np.isfinite(array) if array.dtype.kind == "f" else array != UNKNOWN


def _word(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return "" if value is None or value != value else str(value)  # NaN differs from itself


def encode_labels(
    labels: Mapping[str, Any], *, dynamic: Iterable[str] = ()
) -> tuple[dict[str, Array], tuple[Factor, ...], tuple[Factor, ...]]:
    """Return the labels, the static factors and the dynamic factors.

    Args:
        labels: name -> (N,) per sequence or (N, T) per step. `split` and `name` are kept as words;
            one that is unknown everywhere is no factor.
        dynamic: labels per sequence that are dynamic factors (an action); per step, all are.
    """
    dynamic = tuple(dynamic)
    for name in dynamic:
        if name not in labels:
            raise KeyError(f"dynamic: there is no label '{name}'.{closest(name, labels)}")
    arrays: dict[str, Array] = {}
    static: list[Factor] = []
    moving: list[Factor] = []
    for name, values in labels.items():
        if name in GROUPS:
            arrays[name] = np.asarray(values, dtype=str)
            continue
        arrays[name], factor = encode_label(name, values)
        if _is_known(arrays[name]).any():
            (moving if factor.per_step or name in dynamic else static).append(factor)
    return arrays, tuple(static), tuple(moving)
