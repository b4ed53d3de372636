"""Many files become one array of sequences: their number is known when the last has been read."""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import IO

import numpy as np

from unbraid.data.cache import NewArray, cache_root
from unbraid.data.corpus import Array, release
from unbraid.data.published import Progress
from unbraid.data.readers.pictures import Pixels

CHUNK = 32  # sequences in memory at once
WORKERS = 8


@contextmanager
def new_stack(steps: int, frame: tuple[int, ...]) -> Iterator["Stack"]:
    """Make an empty stack; its file is gone afterwards, or if the program is killed."""
    root = cache_root()
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=root) as file:
        yield Stack(file, steps, frame)


class Stack:
    """Sequences of at most `steps` frames, piled up in a file without a name until all are there.

    Attributes:
        lengths: steps of every sequence so far.
    """

    def __init__(self, file: IO[bytes], steps: int, frame: tuple[int, ...]) -> None:
        self.lengths: list[int] = []
        self._file, self._shape = file, (steps, *frame)
        self._bytes = int(np.prod(self._shape))

    def __len__(self) -> int:
        return len(self.lengths)

    def append(self, frames: Pixels) -> None:
        """Add a sequence (T, C, H, W); one that is shorter than others is filled up with black."""
        self._file.seek(len(self) * self._bytes)
        self._file.write(frames.tobytes())
        self._file.write(bytes(self._bytes - frames.nbytes))
        self.lengths.append(len(frames))

    def shrink(self, count: int) -> None:
        """Forget all sequences but the first `count`."""
        del self.lengths[count:]

    def store(self, new: NewArray) -> None:
        """Write the arrays `x` (N, T, C, H, W) and `lengths` (N,)."""
        x = new("x", (len(self), *self._shape), np.uint8)
        self._file.seek(0)
        for start in range(0, len(self), CHUNK):
            rows = x[start : start + CHUNK]
            rows[:] = np.frombuffer(self._file.read(rows.nbytes), np.uint8).reshape(rows.shape)
            release(x)
        new("lengths", (len(self),), np.int64)[:] = self.lengths


def open_lengths(lengths: Array, steps: int) -> Array | None:
    """Return stored lengths as a collection wants them: None if all sequences are full."""
    return None if (lengths == steps).all() else lengths


def read_all(
    read: Callable[[str], Pixels], names: Sequence[str], stack: Stack, progress: Progress | None
) -> dict[str, str]:
    """Pile up what `read` returns of every name, in their order, some read at once.

    Returns:
        Name -> why, for those that `read` raised `ValueError` for.
    """
    skipped: dict[str, str] = {}

    def attempt(name: str) -> Pixels | str:
        try:
            return read(name)
        except ValueError as error:
            return str(error)

    with ThreadPoolExecutor(min(WORKERS, os.cpu_count() or 1)) as pool:
        for start in range(0, len(names), CHUNK):
            some = names[start : start + CHUNK]
            for name, result in zip(some, pool.map(attempt, some), strict=True):
                if isinstance(result, str):
                    skipped[name] = result
                else:
                    stack.append(result)
            if progress is not None:
                progress((start + len(some)) / len(names))
    return skipped


def check_skipped(skipped: Mapping[str, str], total: int, share: float) -> None:
    """Stop if too many videos, or all of them, could not be used.

    Args:
        skipped: name -> why.
        total: number of videos.
        share: of them that may be skipped.
    """
    if len(skipped) <= share * total and len(skipped) < total:
        return
    examples = "; ".join(f"{name}: {why}" for name, why in list(skipped.items())[:3])
    raise ValueError(
        f"{len(skipped)} of {total} videos cannot be used: {examples}"
        f"{'; ...' if len(skipped) > 3 else '.'} Repair or remove them, or allow a greater share "
        "with the setting `broken`."
    )
