import os
from pathlib import Path

import pytest

from unbraid.files import write_whole


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
