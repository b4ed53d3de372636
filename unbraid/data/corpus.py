"""Arrays with labels, cut into training, validation and test: what a data set is once read."""

import mmap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray

from unbraid.records import Batch, Spec

Rows = NDArray[np.int64]
Array = NDArray[Any]
UNKNOWN = -1  # the class where a label has none


@runtime_checkable
class RowSource(Protocol):
    """What is asked of the values of sequences: an array, or what makes the rows asked for."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def ndim(self) -> int: ...
    def __len__(self) -> int: ...
    def __getitem__(self, rows: Any, /) -> Any: ...


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Split:
    """Some rows of arrays that may be larger than memory.

    Attributes:
        spec: what the sequences are.
        x: (N, T, *F) raw values, uint8 or float32; may be memory-mapped and shared by splits, or
            made when rows are asked for.
        rows: which rows of the arrays belong to this split.
        lengths: (N,) number of steps of each sequence; None if all have T.
        observed: (N, T, *F) True where an element is known; None if all are.
        alternatives: (N, K, T, *F) the same dynamics under other identities; None if there are
            none.
        labels: factor or group name -> (N,) per sequence or (N, T) per step.
        group: label whose sequences share more than the factors (a recording, the weather of a
            month); probes keep them on one side. Empty: every sequence stands alone.
    """

    spec: Spec
    x: RowSource
    rows: Rows
    lengths: Array | None = None
    observed: Array | None = None
    alternatives: Array | None = None
    labels: Mapping[str, Array] = field(default_factory=dict)
    group: str = ""

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"Split({self.spec.name}: {len(self)} sequences; labels: {', '.join(self.labels)})"

    def take(self, index: Any, device: torch.device | str = "cpu") -> Batch:
        """Return the sequences at positions `index` of this split, ready for a model.

        The raw bytes travel to the device and become floats there.
        """
        rows = np.atleast_1d(self.rows[_positions(index)])
        raw = _tensor(self.x, rows, device)
        if self.spec.kind == "video":  # laid out as convolutions want it, while it is small
            raw = raw.movedim(2, -1).contiguous().movedim(-1, 2)
        x = self.spec.to_model(raw)
        mask = torch.ones(x.shape[:2], dtype=torch.bool, device=device)
        if self.lengths is not None:
            mask = (
                torch.arange(x.shape[1], device=device)
                < _tensor(self.lengths, rows, device)[:, None]
            )
        observed = None
        if self.observed is not None:
            steps = mask.reshape(*mask.shape, *([1] * (x.ndim - 2)))
            observed = _tensor(self.observed, rows, device) & steps
            x = torch.where(observed, x, 0.0)
        others = None
        if self.alternatives is not None:
            others = self.spec.to_model(_tensor(self.alternatives, rows, device))
        return Batch(x, mask, observed, others)

    def label(self, name: str) -> Array:
        """Return the labels of one factor, in the order of this split."""
        if name not in self.labels:
            known = ", ".join(sorted(self.labels)) or "none"
            raise KeyError(f"{self.spec.name} has no label '{name}'. Labels: {known}.")
        return self.labels[name][self.rows]

    def known_labels(self, name: str) -> tuple[Array, float]:
        """Return the known labels, those of existing steps one by one, and the share unknown."""
        label = self.label(name)
        if label.ndim == 2:
            label = label[self.existing]
        kind = label.dtype.kind
        known = np.isfinite(label) if kind == "f" else label != (UNKNOWN if kind in "iu" else "")
        return label[known], 1.0 - float(known.mean()) if len(known) else 0.0

    @property
    def existing(self) -> NDArray[np.bool_]:
        """(sequences, T): where a sequence has a step."""
        if self.lengths is None:
            return np.ones((len(self), self.spec.length), dtype=bool)
        return np.arange(self.spec.length) < np.asarray(self.lengths)[self.rows][:, None]

    def select(self, index: Any) -> "Split":
        """Return some positions of this split as a split of their own."""
        return replace(self, rows=self.rows[_positions(index)])

    def some(self, limit: int) -> "Split":
        """Return so many sequences at most, chosen at random but always the same, in order.

        The rows of a split may be sorted by person, so the first ones may be of one person.
        """
        return self.select(np.sort(self.shuffled()[:limit]))

    def shuffled(self) -> Rows:
        """Return all positions in a random order that is always the same."""
        return np.random.default_rng(0).permutation(len(self))

    def batches(self, size: int, device: torch.device | str = "cpu") -> Iterator[Batch]:
        """Yield the whole split in order."""
        for start in range(0, len(self), size):
            yield self.take(slice(start, start + size), device)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Corpus:
    """A data set: training for learning, validation for choosing, test to be read once.

    Attributes:
        spec: what the sequences are.
        train: for learning.
        validation: for choosing.
        test: to be read once.
        skipped: what could not be used, by name (a file, a record), and why.
        columns: of a table: "sequence" and "time" -> column that tells it, empty if none does.
    """

    spec: Spec
    train: Split
    validation: Split
    test: Split
    skipped: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        s = self.spec
        shape = " x ".join(map(str, (s.length, *s.frame)))
        counts = ", ".join(f"{len(self.split(n))} {n}" for n in ("train", "validation", "test"))
        return f"Corpus({s.name}, {s.kind} of {shape}: {counts} sequences)"

    def split(self, name: str) -> Split:
        """Return a split by name."""
        if name not in ("train", "validation", "test"):
            raise ValueError(f"split must be train, validation or test, got {name!r}.")
        return getattr(self, name)


def _positions(index: Any) -> Any:
    """Return positions as one array: NumPy would take a tuple for an index into several axes."""
    return index if isinstance(index, slice) else np.asarray(index)


def _tensor(array: RowSource, rows: Rows, device: torch.device | str) -> torch.Tensor:
    """Copy rows out of a (memory-mapped) array in one indexing call."""
    copied = torch.from_numpy(np.ascontiguousarray(array[rows])).to(device)
    release(array)
    return copied


def release(array: RowSource) -> None:
    """Release the pages of a memory-mapped array that were read.

    They stay in the system's cache of files, but no longer count as memory of this process, which
    would otherwise grow up to the size of the data set.
    """
    mapped = getattr(array, "_mmap", None)
    if isinstance(mapped, mmap.mmap) and hasattr(mapped, "madvise"):
        mapped.madvise(mmap.MADV_DONTNEED)


def cut_validation(rows: Rows, groups: Array, *, share: float, seed: int) -> tuple[Rows, Rows]:
    """Cut whole groups off the training rows for validation.

    Args:
        rows: the training rows.
        groups: (N,) group of every row of the arrays (character, speaker, patient): a group is
            never in both parts.
        share: share of the groups that go to validation; at least one group does.
        seed: decides which.

    Returns:
        (training rows, validation rows), each in ascending order.
    """
    names = np.unique(groups[rows])
    if len(names) < 2:
        raise ValueError(f"a validation split needs two groups at least, got {len(names)}.")
    count = min(max(1, round(share * len(names))), len(names) - 1)
    chosen = np.random.default_rng(seed).permutation(names)[:count]
    held_out = np.isin(groups[rows], chosen)
    return np.sort(rows[~held_out]), np.sort(rows[held_out])
