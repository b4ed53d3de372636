"""Where codes may be written: nothing of other people's is replaced."""

from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock

from unbraid.workflows.export import EncodeConfig, encode
from unbraid.workflows.export.use import Source

TWO = EncodeConfig(batch_size=2)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("name", ["codes.npz", "codes.parquet", "codes.d.parquet"])
def test_a_file_that_is_not_ours_is_replaced_only_by_force(run, tmp_path, name):
    target = tmp_path / name.replace(".d", "")
    (tmp_path / name).write_text("my thesis")
    with pytest.raises(ValueError, match=r"was not written by `unbraid encode`.*--force"):
        encode(run, Source(), target, config=TWO)
    assert (tmp_path / name).read_text() == "my thesis"
    assert names(tmp_path) == [name]
    encode(run, Source(), target, config=EncodeConfig(force=True))
    encode(run, Source(), target, config=TWO)  # now it is ours
    assert (tmp_path / name).read_bytes()[:9] != b"my thesis"


def test_somebody_elses_codes_are_not_ours(run, tmp_path):
    np.savez(tmp_path / "codes.npz", s=np.zeros(3), d=np.zeros(3), mask=np.ones(3))
    with pytest.raises(ValueError, match="was not written by"):
        encode(run, Source(), tmp_path / "codes.npz")


def test_a_folder_in_the_place_of_the_parts_is_left_alone(run, tmp_path):
    (tmp_path / "codes.npz.parts").mkdir()
    (tmp_path / "codes.npz.parts" / "thesis.txt").write_text("mine")
    with pytest.raises(ValueError, match="holds something else"):
        encode(run, Source(), tmp_path / "codes.npz")
    assert names(tmp_path / "codes.npz.parts") == ["thesis.txt"]


def test_two_processes_cannot_write_one_file(run, tmp_path):
    folder = tmp_path / "codes.npz.parts"
    folder.mkdir()
    with (
        FileLock(folder / "lock"),
        pytest.raises(ValueError, match="another process is encoding to this file"),
    ):
        encode(run, Source(), tmp_path / "codes.npz")
    encode(run, Source(), tmp_path / "codes.npz")
    assert names(tmp_path) == ["codes.npz"]


@pytest.mark.parametrize(
    ("out", "sentence"),
    [
        ("codes", "must end with .npz or .parquet"),
        ("codes.csv", "must end with .npz or .parquet, e.g. codes.npz, got 'codes.csv'"),
        ("folder.npz", "is a folder"),
    ],
)
def test_a_target_that_cannot_be_written_is_refused(run, tmp_path, out, sentence):
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(ValueError, match=sentence):
        encode(run, Source(), tmp_path / out)


def test_a_folder_gets_a_file_with_the_usual_name(run, tmp_path):
    assert encode(run, Source(), tmp_path) == (tmp_path / "codes.npz",)


def test_a_mistake_leaves_nothing_behind(tmp_path):
    with pytest.raises(ValueError, match="not a run folder"):
        encode(tmp_path / "nowhere", Source())
    with pytest.raises(ValueError, match="batch_size must be at least 1"):
        EncodeConfig(batch_size=0)
    assert names(tmp_path) == []
