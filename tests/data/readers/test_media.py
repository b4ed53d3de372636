"""Columns of sounds and videos of the library `datasets`, which is in none of our extras."""

from pathlib import Path

import numpy as np
import pytest

import unbraid
from tests.data.readers.films import write_video

datasets = pytest.importorskip("datasets", reason="the package datasets is not installed")
RATE, COUNT = 16000, 8
SPEAKERS = ["ann", "bob"]


@pytest.fixture
def waves(tmp_path):
    soundfile = pytest.importorskip("soundfile", reason="needs the extra audio")
    draws, paths = np.random.default_rng(0), []
    for number in range(COUNT):
        paths.append(str(tmp_path / f"{number}.wav"))
        soundfile.write(paths[-1], 0.1 * draws.normal(size=RATE // 2), RATE)
    return paths


@pytest.fixture
def films(tmp_path):
    pytest.importorskip("av", reason="needs the extra video")
    paths = [tmp_path / f"{number}.mkv" for number in range(COUNT)]
    draws = np.random.default_rng(0)
    for path in paths:
        write_video(path, draws.integers(0, 255, (6, 32, 32, 3), dtype=np.uint8))
    return [str(path) for path in paths]


def _audio(paths, **columns):
    table = datasets.Dataset.from_dict({"audio": paths, **columns})
    return table.cast_column("audio", datasets.Audio())


def _speakers():
    return [number % 2 for number in range(COUNT)]


@pytest.mark.parametrize("form", ["table", "stream", "bytes"])
def test_a_column_of_sounds_equals_the_folder_of_its_files(form, waves, tmp_path):
    content = [{"bytes": Path(path).read_bytes(), "path": None} for path in waves]
    table = _audio(content if form == "bytes" else waves, speaker=_speakers())
    table = table.cast_column("speaker", datasets.ClassLabel(names=SPEAKERS))
    table = table.to_iterable_dataset() if form == "stream" else table
    corpus = unbraid.from_dataset(table, options={"conversions": 0})
    folder = unbraid.load_data(str(tmp_path), {"conversions": 0})
    assert corpus.spec.kind == "audio"
    (speaker,) = [factor for factor in corpus.spec.static if factor.name == "speaker"]
    assert speaker.values == ("ann", "bob")
    assert np.array_equal(_features(corpus), _features(folder))


def _features(corpus):
    """All segments, in the order of the files."""
    parts = [part for part in _parts(corpus) if len(part)]
    names = np.concatenate([part.label("name") for part in parts])
    x = np.concatenate([np.asarray(part.take(range(len(part))).x) for part in parts])
    return x[np.argsort(names, kind="stable")]


def _parts(corpus):
    return corpus.train, corpus.validation, corpus.test


def test_sounds_of_a_speaker_stay_with_their_label(waves):
    corpus = unbraid.from_dataset(
        _audio(waves, speaker=["ann", "bob"] * 4, age=[30, None] * 4), options={"conversions": 0}
    )
    for part in _parts(corpus):
        numbers = [int(name[:6]) for name in part.label("name")]
        assert part.label("speaker").tolist() == [number % 2 for number in numbers]


def test_a_column_of_videos_equals_the_folder_of_its_files(films, tmp_path):
    options = {"frames": 4, "size": 16}
    table = datasets.Dataset.from_dict({"clip": films, "who": _speakers()})
    table = table.cast_column("clip", datasets.Video())
    folder = unbraid.load_data(str(tmp_path), options)
    for form in (table, table.to_iterable_dataset()):
        corpus = unbraid.from_dataset(form, options=options)
        assert corpus.spec.kind == "video"
        assert np.array_equal(corpus.train.x, folder.train.x)
        assert corpus.train.label("who").tolist() == [
            int(name[:6]) % 2 for name in corpus.train.label("name")
        ]


def test_video_bytes_are_read_like_files(films):
    options = {"frames": 4, "size": 16}
    content = [{"bytes": Path(path).read_bytes(), "path": None} for path in films]
    corpora = [
        unbraid.from_dataset(
            datasets.Dataset.from_dict({"clip": cells}).cast_column("clip", datasets.Video()),
            options=options,
        )
        for cells in (films, content)
    ]
    assert np.array_equal(corpora[0].train.x, corpora[1].train.x)


def test_the_tables_of_a_media_data_set_are_its_splits(waves):
    parts = {"train": _audio(waves[:4]), "valid": _audio(waves[4:6]), "test": _audio(waves[6:])}
    corpus = unbraid.from_dataset(datasets.DatasetDict(parts), options={"conversions": 0})
    names = [sorted({name.split("/")[0] for name in part.label("name")}) for part in _parts(corpus)]
    assert names == [["train"], ["valid"], ["test"]]


def test_an_empty_cell_counts_as_broken(waves):
    table = _audio([*waves[:7], None])
    with pytest.raises(ValueError, match="1 of 8 recordings cannot be read"):
        unbraid.from_dataset(table, options={"conversions": 0})
    corpus = unbraid.from_dataset(table, options={"conversions": 0, "broken": 0.2})
    assert list(corpus.skipped) == ["000007"]


def test_a_file_that_is_elsewhere_and_two_media_columns_are_refused(waves):
    gone = _audio(["/nowhere/a.wav", *waves])
    with pytest.raises(ValueError, match=r"row 0: there is no file /nowhere/a\.wav"):
        unbraid.from_dataset(gone)
    two = _audio(waves, other=waves).cast_column("other", datasets.Audio())
    with pytest.raises(ValueError, match="columns audio, other hold sounds or videos"):
        unbraid.from_dataset(two)


def test_lists_and_bytes_are_no_labels(waves):
    corpus = unbraid.from_dataset(
        _audio(waves, words=[["a", "b"]] * COUNT), options={"conversions": 0}
    )
    assert "words" not in corpus.train.labels
