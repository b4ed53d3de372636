import errno
import json
import logging
import multiprocessing
import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from unbraid.data import cache
from unbraid.data.cache import (
    LEFTOVER_SECONDS,
    cache_folder,
    cache_root,
    content_key,
    open_cache,
    open_or_build,
)

KEY = content_key(source="test", options=[1, 2])


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def _fill(new) -> None:
    new("x", (4, 3), np.uint8)[:] = np.arange(12).reshape(4, 3)
    new("length", (4,), np.int64)[:] = 3


def _never(new) -> None:
    raise AssertionError("built again")


def _slow_build(marks: Path, start) -> None:
    """Run in a process of its own: begin with the other, take a moment, check what is opened."""

    def build(new) -> None:
        (marks / str(os.getpid())).touch()
        start.wait(timeout=60)  # both are building now
        _fill(new)

    assert open_or_build("twice", KEY, build).arrays["x"][3, 2] == 11


def test_arrays_come_back_memory_mapped_and_read_only():
    arrays = open_or_build("set", KEY, _fill).arrays
    assert isinstance(arrays["x"], np.memmap)
    assert not arrays["x"].flags.writeable
    assert arrays["x"].tolist() == np.arange(12).reshape(4, 3).tolist()
    assert arrays["length"].tolist() == [3, 3, 3, 3]


def test_a_second_build_reuses_the_first():
    open_or_build("set", KEY, _fill)
    assert open_or_build("set", KEY, _never).arrays["x"].shape == (4, 3)


def test_other_options_are_another_cache(root):
    open_or_build("set", KEY, _fill)
    open_or_build("set", content_key(source="test", options=[3]), _fill)
    assert len(list(root.iterdir())) == 2


def test_cache_json_says_what_made_it(root):
    open_or_build("set", KEY, _fill)
    about = json.loads((cache_folder("set", KEY) / "cache.json").read_text())
    assert (about["format"], about["name"], about["key"]) == (2, "set", KEY)
    assert about["arrays"]["x"]["shape"] == [4, 3]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError("no more space")])
def test_an_interrupted_preparation_leaves_nothing(root, error):
    def build(new) -> None:
        _fill(new)
        raise error

    with pytest.raises((KeyboardInterrupt, ValueError)):
        open_or_build("set", KEY, build)
    assert list(root.iterdir()) == []
    assert open_cache("set", KEY) is None


def test_what_a_killed_preparation_left_is_swept_up_after_a_day(root):
    old, young = root / f".{cache_folder('set', KEY).name}.old", root / ".set-other.young"
    for folder in (old, young):
        folder.mkdir(parents=True)
        day_ago = time.time() - LEFTOVER_SECONDS - 60
        os.utime(folder, (day_ago, day_ago))
    open_or_build("set", KEY, _fill)
    assert not old.exists()
    assert young.exists()


def test_two_processes_at_once_end_with_one_good_cache(root, tmp_path):
    context = multiprocessing.get_context("spawn")
    start, marks = context.Barrier(2), tmp_path / "marks"
    marks.mkdir()
    workers = [context.Process(target=_slow_build, args=(marks, start)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=120)
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert len(list(marks.iterdir())) == 2  # both did build
    assert [path.name for path in root.iterdir()] == [cache_folder("twice", KEY).name]
    assert open_or_build("twice", KEY, _never).arrays["x"][0, 1] == 1


def _truncate(folder: Path) -> None:
    path = folder / "x.npy"
    path.write_bytes(path.read_bytes()[:-5])


def _pickle(folder: Path) -> None:
    np.save(folder / "x.npy", np.array([{}, {}], dtype=object), allow_pickle=True)
    about = json.loads((folder / "cache.json").read_text())
    about["arrays"]["x"]["bytes"] = (folder / "x.npy").stat().st_size
    (folder / "cache.json").write_text(json.dumps(about))


DAMAGES = {
    "truncated": _truncate,
    "array gone": lambda folder: (folder / "length.npy").unlink(),
    "no cache.json": lambda folder: (folder / "cache.json").unlink(),
    "cache.json torn": lambda folder: (folder / "cache.json").write_text('{"format": 1, "na'),
    "cache.json a list": lambda folder: (folder / "cache.json").write_text("[]"),
    "foreign": lambda folder: (folder / "cache.json").write_text('{"format": 99}'),
    "pickled": _pickle,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_cache_is_named_and_made_again(root, caplog, damage):
    open_or_build("set", KEY, _fill)
    damage(cache_folder("set", KEY))
    with pytest.raises(ValueError, match=r"is damaged .* Delete that folder and prepare"):
        open_cache("set", KEY)
    with caplog.at_level(logging.WARNING):
        assert open_or_build("set", KEY, _fill).arrays["x"][3, 2] == 11
    assert "is damaged" in caplog.text
    assert len(list(root.iterdir())) == 1


def test_the_default_place_is_in_the_home_folder(monkeypatch):
    monkeypatch.delenv("UNBRAID_CACHE")
    assert cache_root() == Path.home() / ".cache" / "unbraid"


def test_what_a_killed_preparation_left_goes_at_once_on_the_same_machine(root):
    process = multiprocessing.get_context("fork").Process(target=_die_building)
    process.start()
    process.join()
    assert len(list(root.iterdir())) == 1
    open_or_build("set", KEY, _fill)
    assert [path.name for path in root.iterdir()] == [cache_folder("set", KEY).name]


def _die_building() -> None:
    open_or_build("set", KEY, lambda new: os.kill(os.getpid(), signal.SIGKILL))


def test_a_full_disk_is_met_before_anything_is_mapped(root, monkeypatch):
    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match=r"No space left.*x\.npy"):
        open_or_build("set", KEY, _fill)
    assert list(root.iterdir()) == []


def test_space_that_is_not_there_is_told_in_numbers(root):
    with pytest.raises(ValueError, match=r"x needs 1\.0 PB on the disk"):
        open_or_build("set", KEY, lambda new: new("x", (10**15,), np.uint8))
    assert list(root.iterdir()) == []


def test_other_values_in_an_array_of_the_same_size_are_found(root, caplog):
    path = open_or_build("set", KEY, _fill).folder / "x.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match="other values than when it was made"):
        open_cache("set", KEY)
    with caplog.at_level(logging.CRITICAL):
        assert open_or_build("set", KEY, _fill).arrays["x"][3, 2] == 11


def test_large_arrays_are_hashed_once_and_again_when_they_change(root, monkeypatch):
    monkeypatch.setattr(cache, "ALWAYS_HASHED", 0)
    path = open_or_build("set", KEY, _fill).folder / "x.npy"
    monkeypatch.setattr(cache, "file_hash", lambda path: pytest.fail(f"{path} was read"))
    assert open_cache("set", KEY)
    os.utime(path)
    monkeypatch.setattr(cache, "file_hash", lambda path: "other")
    with pytest.raises(ValueError, match="other values"):
        open_cache("set", KEY)
