"""Prepared data on disk: folders of memory-mapped arrays, whole or not there at all.

A cache is a folder `<root>/<name>-<key>/` with one `.npy` file per array and `cache.json`, which
says what made it. It is written aside and renamed when complete, so that an interrupted
preparation leaves nothing and two at once end with one good cache.
"""

import hashlib
import json
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from unbraid.data.corpus import Array

FORMAT = 1
LEFTOVER_SECONDS = 24 * 3600.0
Arrays = dict[str, Array]
_log = logging.getLogger(__name__)


@runtime_checkable
class NewArray(Protocol):
    """Makes an array on disk, to be filled in place; it may be larger than memory."""

    def __call__(self, name: str, shape: tuple[int, ...], dtype: Any) -> Array: ...


def cache_root() -> Path:
    """Return the folder of all caches: `UNBRAID_CACHE`, or `~/.cache/unbraid`."""
    chosen = os.environ.get("UNBRAID_CACHE", "")
    return Path(chosen).expanduser() if chosen else Path.home() / ".cache" / "unbraid"


def content_key(**parts: Any) -> str:
    """Return the SHA-256 of what a cache is made of: hashes of sources, options, versions.

    >>> content_key(window=24, source="ab12") == content_key(source="ab12", window=24)
    True
    """
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def cache_folder(name: str, key: str) -> Path:
    """Return where a cache is or would be."""
    return cache_root() / f"{name}-{key[:12]}"


def open_cache(name: str, key: str) -> Arrays | None:
    """Return the arrays of a cache, read-only and memory-mapped; None if it was never made.

    Raises:
        ValueError: the folder is damaged or holds something else.
    """
    folder = cache_folder(name, key)
    if not folder.is_dir():
        return None
    try:
        about = json.loads((folder / "cache.json").read_text(encoding="utf-8"))
        made = {field: about.get(field) for field in ("format", "name", "key")}
        if made != {"format": FORMAT, "name": name, "key": key}:
            raise ValueError(f"cache.json names other contents: {made}")
        return {
            array: _open_array(folder, array, facts) for array, facts in about["arrays"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError) as error:
        raise ValueError(
            f"the cache {folder} is damaged ({error}). Delete that folder and prepare the data "
            f"again: `unbraid data prepare {name}`."
        ) from None


def open_or_build(name: str, key: str, build: Callable[[NewArray], None]) -> Arrays:
    """Return the arrays of a cache, made first if there is none; a damaged one is made anew.

    Args:
        name: of the data set.
        key: from `content_key`; other sources or options are another cache.
        build: fills arrays, e.g. `new("x", (n, 8, 3, 64, 64), np.uint8)[:] = frames`. If it
            raises, nothing stays behind.
    """
    try:
        arrays = open_cache(name, key)
    except ValueError as error:
        _log.warning("%s It is being made again now.", error)
        _remove(cache_folder(name, key))
        arrays = None
    if arrays is None:
        _build(name, key, build)
        arrays = open_cache(name, key)
    if arrays is None:
        raise ValueError(f"the cache {cache_folder(name, key)} was deleted while being opened.")
    return arrays


def _build(name: str, key: str, build: Callable[[NewArray], None]) -> None:
    """Write the cache aside, then rename it into place unless somebody was faster."""
    final = cache_folder(name, key)
    final.parent.mkdir(parents=True, exist_ok=True)
    _sweep(final)
    with tempfile.TemporaryDirectory(dir=final.parent, prefix=f".{final.name}.") as aside:
        folder = Path(aside) / "cache"
        folder.mkdir()
        facts = _write_arrays(folder, build)
        about = {"format": FORMAT, "name": name, "key": key, "arrays": facts}
        (folder / "cache.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
        for path in (*folder.iterdir(), folder):
            _sync(path)
        try:
            folder.rename(final)
        except OSError:
            if not final.is_dir():
                raise
            return  # somebody else finished first: theirs is as good, ours goes with `aside`
        _sync(final.parent)


def _write_arrays(folder: Path, build: Callable[[NewArray], None]) -> dict[str, Any]:
    """Let `build` fill its arrays; return what `cache.json` says of them."""
    made: dict[str, np.memmap[Any, Any]] = {}

    def new(name: str, shape: tuple[int, ...], dtype: Any) -> Array:
        made[name] = np.lib.format.open_memmap(
            folder / f"{name}.npy", mode="w+", dtype=np.dtype(dtype), shape=shape
        )
        return made[name]

    build(new)
    facts = {}
    for name, array in made.items():
        array.flush()
        size = (folder / f"{name}.npy").stat().st_size
        facts[name] = {"shape": list(array.shape), "dtype": array.dtype.str, "bytes": size}
    return facts


def _open_array(folder: Path, name: str, facts: dict[str, Any]) -> Array:
    """Map one array, after a look at its size: a torn file is found before it is used."""
    path = folder / f"{name}.npy"
    if path.stat().st_size != facts["bytes"]:
        raise ValueError(f"{path.name} has {path.stat().st_size} bytes, not {facts['bytes']}")
    array = np.load(path, mmap_mode="r", allow_pickle=False)
    if list(array.shape) != facts["shape"] or array.dtype.str != facts["dtype"]:
        raise ValueError(f"{path.name} is {array.dtype.str} {array.shape}, not as cache.json says")
    return array


def _sync(path: Path) -> None:
    """Make sure that a file or folder is on the disk, not only on its way there."""
    if path.is_dir() and os.name == "nt":
        return  # Windows cannot open folders
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove(folder: Path) -> None:
    """Rename out of the way, then delete: nobody sees half a folder."""
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as aside:
        folder.rename(Path(aside) / "damaged")


def _sweep(final: Path) -> None:
    """Delete what killed preparations of this cache left; younger ones may still be running."""
    for leftover in final.parent.glob(f".{final.name}.*"):
        if time.time() - leftover.stat().st_mtime > LEFTOVER_SECONDS:
            shutil.rmtree(leftover, ignore_errors=True)
