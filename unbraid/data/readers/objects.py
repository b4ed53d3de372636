"""Data sets that other libraries hold: `torch.utils.data.Dataset`, columns of sounds and videos."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from unbraid.data.corpus import Array, Corpus
from unbraid.data.readers.arrays import from_arrays

LARGEST = 1_000_000  # sequences of a data set that does not say how many it has


def from_torch(
    dataset: Any,
    *,
    labels: tuple[str, ...] = (),
    name: str = "dataset",
    options: Mapping[str, Any] | None = None,
) -> Corpus:
    """Return a `torch.utils.data.Dataset`, or any sequence or stream of items, as a corpus.

    An item is a sequence (T, ...), a tuple (sequence, label, ...), or a mapping with the sequence
    under `x`. Sequences may be of unequal length.

    Args:
        dataset: has `__getitem__` and `__len__`, or can be iterated over.
        labels: names of what follows a sequence in a tuple; `label`, `label1`, ... if empty. Keys
            of a mapping name themselves.
        name: what to call it.
        options: of `from_arrays`.
    """
    sequences: list[Array] = []
    columns: dict[str, list[Any]] = {}
    for item in _items(dataset):
        x, sides = _parts(item, labels)
        sequences.append(np.asarray(x))
        for key, value in sides.items():
            columns.setdefault(key, []).append(np.asarray(value)[()])
    if not sequences:
        raise ValueError(f"{name} holds no sequences.")
    ragged = [key for key, values in columns.items() if len(values) != len(sequences)]
    if ragged:
        raise ValueError(f"{name}: some items have no '{ragged[0]}'. Give every item the same.")
    x = sequences if len({one.shape for one in sequences}) > 1 else np.stack(sequences)
    arrays = {key: _column(values) for key, values in columns.items()}
    return from_arrays(x, labels=arrays, name=name, options=options)


def _items(dataset: Any) -> Iterator[Any]:
    if hasattr(dataset, "__getitem__") and hasattr(dataset, "__len__"):
        yield from (dataset[i] for i in range(len(dataset)))
        return
    for count, item in enumerate(dataset):
        if count == LARGEST:
            raise ValueError(f"a stream of more than {LARGEST:,} sequences: take some of it.")
        yield item


def _parts(item: Any, names: tuple[str, ...]) -> tuple[Any, dict[str, Any]]:
    """Return the sequence of an item and its labels."""
    if isinstance(item, Mapping):
        if "x" not in item:
            keys = ", ".join(map(str, item)) or "nothing"
            raise ValueError(f"an item must have its sequence under 'x', it has: {keys}.")
        return item["x"], {str(key): value for key, value in item.items() if key != "x"}
    if not isinstance(item, tuple):
        return item, {}
    x, *sides = item
    known = names or tuple(f"label{i or ''}" for i in range(len(sides)))
    if len(known) != len(sides):
        raise ValueError(f"items have {len(sides)} labels, got {len(known)} names: {known}.")
    return x, dict(zip(known, sides, strict=True))


def _column(values: list[Any]) -> Any:
    """Return labels as an array, or a list where steps differ in number."""
    return values if len({np.shape(value) for value in values}) > 1 else np.asarray(values)
