import errno
import multiprocessing
import os
import signal
from pathlib import Path

import pytest
from safetensors import SafetensorError

from unbraid.files import hold, write_whole
from unbraid.safety.ownership import replacing_ours


def break_halfway(path: Path) -> None:
    path.write_text("half")
    raise OSError("disk full")


def test_a_file_and_its_folder_are_written(tmp_path: Path):
    path = tmp_path / "a" / "b" / "c.txt"
    write_whole(path, lambda aside: aside.write_text("whole"))
    assert path.read_text() == "whole"
    assert list(path.parent.iterdir()) == [path]


def test_the_file_aside_keeps_the_suffix(tmp_path: Path):
    seen = []
    write_whole(tmp_path / "c.png", lambda aside: seen.append(aside) or aside.write_text(""))
    assert seen[0].suffix == ".png"
    assert seen[0].parent == tmp_path
    assert seen[0] != tmp_path / "c.png"


def test_an_error_leaves_nothing(tmp_path: Path):
    with pytest.raises(OSError, match="disk full"):
        write_whole(tmp_path / "c.txt", break_halfway)
    assert list(tmp_path.iterdir()) == []


def test_an_error_keeps_the_old_file(tmp_path: Path):
    path = tmp_path / "c.txt"
    path.write_text("old")
    with pytest.raises(OSError, match="disk full"):
        write_whole(path, break_halfway)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_an_interruption_leaves_nothing(tmp_path: Path):
    def stop(path: Path) -> None:
        path.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "c.txt", stop)
    assert list(tmp_path.iterdir()) == []


def test_a_file_can_be_read_by_whom_the_umask_allows(tmp_path: Path):
    path = tmp_path / "shared.txt"

    def private(aside: Path) -> None:
        aside.write_text("x")
        aside.chmod(0o600)

    old = os.umask(0o022)
    try:
        write_whole(path, private)
    finally:
        os.umask(old)
    assert path.stat().st_mode & 0o777 == 0o644


def _killed(path: Path) -> None:
    write_whole(
        path, lambda aside: (aside.write_text("half"), os.kill(os.getpid(), signal.SIGKILL))
    )


def test_what_a_killed_process_left_aside_goes_with_the_next_write(tmp_path: Path):
    path = tmp_path / "last[1].txt"
    process = multiprocessing.get_context("spawn").Process(target=_killed, args=(path,))
    process.start()
    process.join()
    assert len(list(tmp_path.iterdir())) == 1
    write_whole(path, lambda aside: aside.write_text("whole"))
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_process_left_anywhere_in_a_folder_goes_with_the_next_hold(tmp_path: Path):
    process = multiprocessing.get_context("spawn").Process(
        target=_killed, args=(tmp_path / "a" / "b.txt",)
    )
    process.start()
    process.join()
    assert list((tmp_path / "a").iterdir())
    with hold(tmp_path):
        assert not list((tmp_path / "a").iterdir())


def test_a_file_is_on_the_disk_before_it_takes_its_name(tmp_path: Path, monkeypatch):
    synced = []
    monkeypatch.setattr("unbraid.files.sync", lambda path: synced.append(path.name))
    write_whole(tmp_path / "a.txt", lambda aside: aside.write_text("x"))
    assert synced[0].endswith(".a.txt")
    assert synced[1] == tmp_path.name


@pytest.mark.parametrize(
    "error",
    [
        SafetensorError("I/O error: No space left on device (os error 28)"),
        OSError(errno.ENOSPC, "No space left on device"),
    ],
)
def test_a_full_disk_is_named_whatever_library_met_it(tmp_path: Path, error: Exception):
    def write(aside: Path) -> None:
        aside.write_text("half")
        raise error

    with pytest.raises(OSError, match=r"No space left.*a\.txt") as caught:
        write_whole(tmp_path / "a.txt", write)
    assert caught.value.errno == errno.ENOSPC
    assert list(tmp_path.iterdir()) == []


def test_only_files_of_ours_are_replaced(tmp_path: Path):
    path = tmp_path / "swap.npz"
    with replacing_ours(tmp_path, ["swap"], force=False):
        write_whole(path, lambda aside: aside.write_text("ours"))
    with replacing_ours(tmp_path, ["swap"], force=False):
        write_whole(path, lambda aside: aside.write_text("again"))
    path.write_text("edited")
    with (
        pytest.raises(ValueError, match="--force"),
        replacing_ours(tmp_path, ["swap"], force=False),
    ):
        raise AssertionError("work was begun")
    other = tmp_path / "swap-01.wav"
    other.write_text("foreign")
    with pytest.raises(ValueError, match="--force"), replacing_ours(tmp_path, [], force=False):
        write_whole(other, lambda aside: aside.write_text("ours"))
    assert other.read_text() == "foreign"
    with replacing_ours(tmp_path, ["swap"], force=True):
        write_whole(path, lambda aside: aside.write_text("forced"))
    assert path.read_text() == "forced"
