import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from unbraid.data import data_kind, data_options, load_data
from unbraid.data.collection import Collection, SplitConfig
from unbraid.data.readers.own import (
    LOOKED_AT,
    is_path,
    kind_of,
    load_own,
    read_own,
    reader_of,
)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))


def _touch(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


def _reader(path: Path) -> str:
    return reader_of(path)


@pytest.mark.parametrize(
    ("word", "wanted"),
    [
        ("mine.npz", True),
        ("MINE.CSV", True),
        ("./folder", True),
        ("/data/videos", True),
        ("a/b", True),
        ("sprites", False),
        ("notes.txt", False),
        ("", False),
    ],
)
def test_a_word_with_a_slash_or_a_known_ending_is_a_path(word, wanted, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert is_path(word) == wanted


def test_a_folder_that_is_there_is_a_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert not is_path("recordings")
    (tmp_path / "recordings").mkdir()
    assert is_path("recordings")


def test_a_name_of_the_catalogue_goes_before_a_folder_of_that_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "toy-series").mkdir()
    assert data_kind("toy-series") == "series"
    assert load_data("toy-series", {"train": 3, "validation": 1, "test": 1}).spec.size == 3


@pytest.mark.parametrize(
    ("name", "reader"),
    [("a.npy", "arrays"), ("a.TSV", "tables"), ("a.Mp4", "videos"), ("a.flac", "sounds")],
)
def test_a_file_is_read_by_its_ending(tmp_path, name, reader):
    assert _reader(_touch(tmp_path, name) / name) == reader


@pytest.mark.parametrize(
    ("names", "reader"),
    [
        (["a/1.png", "a/2.png", "b/1.png", "labels.csv"], "videos"),
        (["a.wav", "labels.csv"], "sounds"),
        (["a.csv", "b.csv", "c.parquet", "cover.png"], "tables"),
        (["a.flac", "a.txt", "b.txt", "c.txt", "README"], "sounds"),
        (["a.wav", ".cache/1.png", ".cache/2.png", ".x.csv"], "sounds"),
    ],
)
def test_a_folder_is_read_as_most_of_its_files(tmp_path, names, reader):
    assert _reader(_touch(tmp_path, *names)) == reader


def test_a_folder_named_like_a_file_is_no_file(tmp_path):
    (tmp_path / "a.png").mkdir()
    (tmp_path / "b.png").mkdir()
    _touch(tmp_path, "a.png/1.wav")
    assert _reader(tmp_path) == "sounds"


def test_only_the_first_files_of_a_large_folder_are_looked_at(tmp_path, monkeypatch):
    monkeypatch.setattr("unbraid.data.readers.own.LOOKED_AT", 3)
    assert LOOKED_AT > 3
    assert _reader(_touch(tmp_path, *(f"{n}.wav" for n in range(9)))) == "sounds"


def test_what_cannot_be_read_is_refused_with_what_can(tmp_path):
    with pytest.raises(ValueError, match=r"there is no file or folder .*gone\.npz"):
        reader_of(tmp_path / "gone.npz")
    with pytest.raises(
        ValueError, match=r"notes\.txt cannot be read as sequences. Readable: \.npz"
    ):
        reader_of(_touch(tmp_path, "notes.txt") / "notes.txt")
    with pytest.raises(ValueError, match="holds nothing that can be read as sequences"):
        reader_of(tmp_path)
    with pytest.raises(KeyError, match=r"there is no data set or file 'sprits'\. Did you mean"):
        load_data("sprits")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Config:
    size: int = 2
    split: SplitConfig = field(default_factory=SplitConfig)


@pytest.fixture
def sound(tmp_path, monkeypatch) -> str:
    """A path whose reader makes ten sequences of `size` bands."""

    def read(path: Path, config: _Config) -> Collection:
        x = np.random.default_rng(0).normal(size=(10, 3, config.size)).astype(np.float32)
        return Collection(name=path.stem, kind="audio", x=x)

    reader = ModuleType("unbraid.data.readers.sounds")
    reader.Config, reader.read = _Config, read
    monkeypatch.setitem(sys.modules, "unbraid.data.readers.sounds", reader)
    return str(_touch(tmp_path, "a.wav") / "a.wav")


def test_a_path_becomes_a_corpus_with_the_settings_of_its_reader(sound):
    corpus = load_own(sound, {"size": 5, "split": {"test": 0.3}})
    assert corpus.spec.frame == (5,)
    assert (len(corpus.train), len(corpus.validation), len(corpus.test)) == (6, 1, 3)
    assert len(load_data(sound).test) == 1
    assert len(read_own(sound)) == 10
    assert data_options(sound, {"size": 3}, where="here") == _Config(size=3)


def test_settings_of_the_reader_are_checked(sound):
    with pytest.raises(
        KeyError, match=r"a\.wav: _Config has no setting 'sise'. Did you mean 'size'"
    ):
        load_own(sound, {"sise": 5})
    with pytest.raises(ValueError, match=r"here: split: test must lie between 0 and 1, got 2\.0"):
        data_options(sound, {"split": {"test": 2.0}}, where="here")


def test_the_kind_is_known_by_the_reader_or_by_the_axes(sound, tmp_path):
    assert kind_of(sound) == "audio"
    np.save(tmp_path / "a.npy", np.zeros((4, 3, 2), np.float32))
    assert data_kind(str(tmp_path / "a.npy")) == "series"
    assert data_kind(str(tmp_path / "a.npy"), {"kind": "audio"}) == "audio"
    np.save(tmp_path / "b.npy", np.zeros((4, 3, 1, 8, 8), np.uint8))
    assert data_kind(str(tmp_path / "b.npy")) == "video"


def test_the_home_folder_may_be_written_as_a_tilde(sound, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert len(load_own("~/a.wav").train) == 8
