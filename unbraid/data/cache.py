"""Prepared data on disk: folders of memory-mapped arrays, whole or not there at all.

A cache is a folder `<root>/<name>-<key>/` with one `.npy` file per array and `cache.json`, which
says what made it and what the arrays hash to. It is written aside and renamed when complete, so
that an interrupted preparation leaves nothing and two at once end with one good cache.
"""

import hashlib
import json
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from unbraid.data.corpus import Array
from unbraid.files import left_behind, name_when_full, read_json, sync, write_text, writer
from unbraid.safety.limits import check_disk, reserve

FORMAT = 2
ALWAYS_HASHED = 1 << 22  # bytes of an array that is compared with its hash at every opening
LEFTOVER_SECONDS = 24 * 3600.0
Arrays = dict[str, Array]
_log = logging.getLogger(__name__)


@runtime_checkable
class NewArray(Protocol):
    """Makes an array on disk, to be filled in place; it may be larger than memory."""

    def __call__(self, name: str, shape: tuple[int, ...], dtype: Any) -> Array: ...


@dataclass(frozen=True, slots=True)
class Prepared:
    """A cache that is there.

    Attributes:
        folder: where it is.
        arrays: read-only and memory-mapped.
        about: what the caller said of it when it was made (options, source).
        facts: what `build` returned, e.g. which files were skipped.
    """

    folder: Path
    arrays: Arrays
    about: Mapping[str, Any]
    facts: Mapping[str, Any]


Build = Callable[[NewArray], Mapping[str, Any] | None]


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


def listing_key(root: Path, files: Iterable[Path], *, times: bool = False) -> str:
    """Return the SHA-256 of the names and sizes of files below `root`, without reading them.

    Args:
        root: names are relative to it, so that a moved folder is the same source.
        files: in any order.
        times: count the time of the last change, too: files that people edit.
    """
    digest = hashlib.sha256()
    for path in sorted(files):
        facts = path.stat()
        size = 0 if path.is_dir() else facts.st_size  # a folder's own size says nothing
        changed = facts.st_mtime_ns if times else 0
        digest.update(f"{path.relative_to(root).as_posix()}\0{size}\0{changed}\n".encode())
    return digest.hexdigest()


def find_prepared(name: str, about: Mapping[str, Any]) -> Prepared | None:
    """Return the newest cache of a data set about which `about` was said, whatever its source."""
    caches = []
    for path in cache_root().glob(f"{name}-*/cache.json"):
        try:
            facts = read_json(path)
            recorded = facts["about"]
            if facts["name"] == name and all(recorded.get(key) == about[key] for key in about):
                caches.append((path.stat().st_mtime, facts["key"]))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue  # damaged, or not ours: `open_cache` would say so
    return open_cache(name, max(caches)[1]) if caches else None


def open_cache(name: str, key: str) -> Prepared | None:
    """Return a cache; None if it was never made.

    Raises:
        ValueError: the folder is damaged or holds something else.
    """
    folder = cache_folder(name, key)
    if not folder.is_dir():
        return None
    try:
        about = read_json(folder / "cache.json")
        identity = {field: about.get(field) for field in ("format", "name", "key")}
        if identity != {"format": FORMAT, "name": name, "key": key}:
            raise ValueError(f"cache.json names other contents: {identity}")
        arrays = {
            array: _open_array(folder, array, facts) for array, facts in about["arrays"].items()
        }
        _check_hashes(folder, about["arrays"])
        return Prepared(folder, arrays, about["about"], about["found"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError) as error:
        raise ValueError(
            f"the cache {folder} is damaged ({error}). Delete that folder and prepare the data "
            f"again: `unbraid data prepare {name}`."
        ) from None


def open_or_build(
    name: str, key: str, build: Build, *, about: Mapping[str, Any] | None = None
) -> Prepared:
    """Return a cache, made first if there is none; a damaged one is made anew.

    Args:
        name: of the data set.
        key: from `content_key`; other sources or options are another cache.
        build: fills arrays, e.g. `new("x", (n, 8, 3, 64, 64), np.uint8)[:] = frames`. If it
            raises, nothing stays behind. What it returns is kept as `Prepared.facts`.
        about: facts to find the cache by later, without its source: `find_prepared`.
    """
    try:
        prepared = open_cache(name, key)
    except ValueError as error:
        _log.warning("%s It is being made again now.", error)
        _remove(cache_folder(name, key))
        prepared = None
    if prepared is None:
        _build(name, key, build, about or {})
        prepared = open_cache(name, key)
    if prepared is None:
        raise ValueError(f"the cache {cache_folder(name, key)} was deleted while being opened.")
    return prepared


def _build(name: str, key: str, build: Build, about: Mapping[str, Any]) -> None:
    """Write the cache aside, then rename it into place unless somebody was faster."""
    final = cache_folder(name, key)
    final.parent.mkdir(parents=True, exist_ok=True)
    _sweep(final)
    prefix = f".{final.name}.{writer()}."
    with tempfile.TemporaryDirectory(dir=final.parent, prefix=prefix) as aside:
        folder = Path(aside) / "cache"
        folder.mkdir()
        facts, results = _write_arrays(folder, build)
        head = {"format": FORMAT, "name": name, "key": key, "arrays": facts}
        text = json.dumps(head | {"about": dict(about), "found": results}, indent=2)
        (folder / "cache.json").write_text(text + "\n", encoding="utf-8")
        for path in (*folder.iterdir(), folder):
            sync(path)
        try:
            folder.rename(final)
        except OSError:
            if not final.is_dir():
                raise
            return  # somebody else finished first: theirs is as good, ours goes with `aside`
        sync(final.parent)


def _write_arrays(folder: Path, build: Build) -> tuple[dict[str, Any], dict[str, Any]]:
    """Let `build` fill its arrays; return what `cache.json` says of them, and what it found."""
    arrays: dict[str, np.memmap[Any, Any]] = {}

    def new(name: str, shape: tuple[int, ...], dtype: Any) -> Array:
        path = folder / f"{name}.npy"
        check_disk(cache_root(), prod(shape) * np.dtype(dtype).itemsize, name)
        with name_when_full(path):
            arrays[name] = np.lib.format.open_memmap(path, "w+", np.dtype(dtype), shape)
            reserve(path)
        return arrays[name]

    results = dict(build(new) or {})
    facts = {}
    for name, array in arrays.items():
        array.flush()
        path = folder / f"{name}.npy"
        facts[name] = {
            "shape": list(array.shape),
            "dtype": array.dtype.str,
            "bytes": path.stat().st_size,
            "sha256": file_hash(path),
        }
    return facts, results


def _open_array(folder: Path, name: str, facts: dict[str, Any]) -> Array:
    """Map one array, after a look at its size: a torn file is found before it is used."""
    path = folder / f"{name}.npy"
    if path.stat().st_size != facts["bytes"]:
        raise ValueError(f"{path.name} has {path.stat().st_size} bytes, not {facts['bytes']}")
    array = np.load(path, mmap_mode="r", allow_pickle=False)
    if list(array.shape) != facts["shape"] or array.dtype.str != facts["dtype"]:
        raise ValueError(f"{path.name} is {array.dtype.str} {array.shape}, not as cache.json says")
    return array


def _check_hashes(folder: Path, facts: Mapping[str, Any]) -> None:
    """Compare arrays with their SHA-256: small ones always, large ones if changed since the last.

    Files of gigabytes would take seconds at every opening; when they were last found right, by
    size and time of change, is kept in `checked.json`.
    """
    note, stats = folder / "checked.json", {}
    try:
        before = read_json(note)
    except (OSError, ValueError):  # never checked here, or a folder nobody may write to
        before = {}
    for name, about in facts.items():
        path = folder / f"{name}.npy"
        stats[name] = [path.stat().st_size, path.stat().st_mtime_ns]
        known = isinstance(before, dict) and before.get(name) == stats[name]
        if known and about["bytes"] > ALWAYS_HASHED:
            continue
        if file_hash(path) != about["sha256"]:
            raise ValueError(f"{path.name} has other values than when it was made")
    if stats != before:
        with suppress(OSError):
            write_text(note, json.dumps(stats))


def _remove(folder: Path) -> None:
    """Rename out of the way, then delete: nobody sees half a folder."""
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as aside:
        folder.rename(Path(aside) / "damaged")


def _sweep(final: Path) -> None:
    """Delete what killed preparations of this cache left; those of others after a day."""
    for leftover in final.parent.glob(f".{final.name}.*"):
        if left_behind(leftover) or time.time() - leftover.stat().st_mtime > LEFTOVER_SECONDS:
            shutil.rmtree(leftover, ignore_errors=True)
