"""Codes on disk while a split is encoded: one file per part, so that a stopped job can go on.

The folder of parts lies beside the target and is removed when that is written. `about.json` says
which model and settings the parts belong to. A part holds the SHA-256 of the sequences it was made
from: it is used again only if they are still the same.
"""

import hashlib
import json
import shutil
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from filelock import FileLock, Timeout

from unbraid.data.corpus import Array, RowSource, Split, release
from unbraid.evaluation.manipulate import Embedding
from unbraid.files import read_ours, write_text, write_whole

FORMAT = "unbraid-parts-1"
SEQUENCES = 1024  # in a part: the most that an interruption loses
STEPS = 65_536  # in a part: bounds its memory where sequences are long
ARRAYS = ("s", "d", "mask")
_ABOUT, _LOCK = "about.json", "lock"


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a split, finished ones and those to come.

    Attributes:
        folder: where finished parts are.
        split: the sequences.
        batch_size: how many are encoded at once; every part begins with a new batch.
    """

    folder: Path
    split: Split
    batch_size: int

    @property
    def size(self) -> int:
        """Sequences in a part: whole batches, as `embed` would make them."""
        wanted = min(SEQUENCES, STEPS // self.split.x.shape[1])
        return max(1, wanted // self.batch_size) * self.batch_size

    def __len__(self) -> int:
        return -(-len(self.split) // self.size)

    def positions(self, part: int) -> slice:
        """Return the positions of the split that are in a part."""
        return slice(part * self.size, min((part + 1) * self.size, len(self.split)))

    def sequences(self, part: int) -> Split:
        """Return the sequences of a part."""
        return self.split.select(self.positions(part))

    def count(self) -> int:
        """Return how many parts are there, finished for these sequences or for earlier ones."""
        return sum(self._path(part).is_file() for part in range(len(self)))

    def finished(self, part: int) -> bool:
        """Say whether a part is there, whole, and made from the sequences as they are now."""
        try:
            # Opened here: `np.load` would leave a damaged file open.
            with self._path(part).open("rb") as content, np.load(content) as file:
                arrays = {name: file[name] for name in (*ARRAYS, "input")}
        except (OSError, ValueError, KeyError, EOFError, BadZipFile, zlib.error):
            return False
        return str(arrays["input"]) == self._input_hash(part)

    def write(self, part: int, batches: Sequence[Embedding]) -> None:
        """Keep the codes of a part."""
        arrays = {
            name: np.concatenate([getattr(batch, name) for batch in batches]) for name in ARRAYS
        }
        digest = np.array(self._input_hash(part))

        def fill(aside: Path) -> None:
            with aside.open("wb") as file:
                np.savez(file, allow_pickle=False, input=digest, **arrays)

        write_whole(self._path(part), fill)

    def codes(self, part: int, name: str) -> Array:
        """Return `s`, `d` or `mask` of a finished part."""
        with np.load(self._path(part)) as file:
            return file[name]

    def rows(self, part: int) -> Array:
        """Return the rows of the data that are in a part."""
        return self.split.rows[self.positions(part)]

    def labels(self, part: int, name: str) -> Array:
        """Return the labels of a part."""
        return _take(self.split.labels[name], self.rows(part))

    def prepare(self, facts: Mapping[str, Any]) -> list[str]:
        """Remove parts of another model or of other settings; return what has changed since."""
        facts = {"format": FORMAT, **facts}
        path = self.folder / _ABOUT
        before = read_ours(path, FORMAT, "folder of parts") if path.is_file() else facts
        changed = [name for name in facts if before.get(name) != facts[name]]
        if changed:
            for part in self.folder.glob("part-*.npz"):
                part.unlink()
        write_text(path, json.dumps(facts, indent=1))
        return changed

    def remove(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _path(self, part: int) -> Path:
        return self.folder / f"part-{part:06d}.npz"

    def _input_hash(self, part: int) -> str:
        """Return the SHA-256 of all that a part's codes are computed from, but the model."""
        digest = hashlib.sha256()
        split, here = self.split, self.positions(part)
        for start in range(here.start, here.stop, self.batch_size):
            rows = split.rows[start : min(start + self.batch_size, here.stop)]
            for array in (split.x, split.lengths, split.observed):
                if array is not None:
                    digest.update(_take(array, rows).data)
        return digest.hexdigest()


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder of parts, made if it is not there, against other processes.

    Raises:
        ValueError: somebody else holds it, or it holds something else.
    """
    if folder.exists() and not _is_ours(folder):
        raise ValueError(
            f"{folder} is in the way: finished parts would go there, but it holds something else. "
            "Move it, or choose another --out."
        )
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / _LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise ValueError(
            f"another process is encoding to this file: it holds {folder / _LOCK}. Wait for it, "
            "or choose another --out."
        ) from None
    try:
        yield
    finally:
        lock.release()


def _is_ours(folder: Path) -> bool:
    """Say whether a folder is one of parts, or has nothing in it yet."""
    if not folder.is_dir():
        return False
    return (folder / _ABOUT).is_file() or all(
        path.name == _LOCK or path.name.endswith(f".{_ABOUT}") for path in folder.iterdir()
    )


def _take(array: RowSource, rows: Array) -> Array:
    """Copy rows out of a (memory-mapped) array."""
    copied = np.ascontiguousarray(array[rows])
    release(array)
    return copied
