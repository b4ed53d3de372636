"""A preview writes pictures of the sequences asked for, whatever they are."""

from pathlib import Path

import numpy as np
import pytest
import soundfile
from PIL import Image

from unbraid.data import load_data
from unbraid.data.readers.arrays import from_arrays
from unbraid.workflows.check.preview import preview, shown_rows

RNG = np.random.default_rng(0)
SIZES = {"train": 12, "validation": 4, "test": 8}
VOICES = {
    "speakers": 3,
    "validation_speakers": 1,
    "test_speakers": 2,
    "utterances": 2,
    "conversions": 0,
}


def _names(paths: list[Path], folder: Path) -> list[str]:
    assert all(path.is_file() for path in paths)
    return [path.relative_to(folder).as_posix() for path in paths]


def test_video_becomes_rows_of_frames_and_an_animation(tmp_path):
    corpus = from_arrays(RNG.random((20, 8, 3, 64, 64)), labels={"who": np.arange(20) % 3})
    paths = preview(corpus, out=tmp_path, count=3)
    assert _names(paths, tmp_path) == ["sequences.png", "sequences.gif", "sequences-labels.png"]
    with Image.open(paths[0]) as picture:
        assert picture.height == 3 * 130 - 2
        assert picture.width > 8 * 130
    with Image.open(paths[1]) as player:
        assert player.n_frames == 8


def test_series_and_their_labels_are_drawn(tmp_path):
    paths = preview("toy-series", SIZES, out=tmp_path / "mine.png", count=2, split="test")
    assert _names(paths, tmp_path) == ["mine.png", "mine-labels.png"]
    assert (tmp_path / "mine-labels.json").is_file()


def test_log_mel_features_can_be_heard(tmp_path):
    paths = preview("toy-voices", VOICES, out=tmp_path, count=2)
    sounds = [path for path in paths if path.suffix == ".wav"]
    assert len(sounds) == 2
    assert "speaker" in sounds[0].name
    wave, rate = soundfile.read(sounds[0])
    assert rate == 16000
    assert np.abs(wave).max() > 0


def test_rows_know_their_labels_and_end_where_the_sequence_does():
    corpus = load_data("toy-series", SIZES)
    rows = shown_rows(corpus.train)
    assert [len(row.x) for row in rows] == corpus.train.lengths[corpus.train.rows].tolist()
    machine = ("pump", "fan", "press", "mill")[corpus.train.label("machine")[0]]
    assert rows[0].lines[0] == f"machine: {machine}"
    missing = ~corpus.train.take([0]).observed.numpy()[0, : len(rows[0].x)]
    np.testing.assert_array_equal(np.isnan(rows[0].x), missing)
    assert rows[0].spans[0][0] == 0


@pytest.mark.parametrize("channels", [1, 2])
def test_videos_of_unequal_length_and_strange_channels_are_drawn(tmp_path, channels):
    x = [RNG.random((steps, channels, 16, 16)).astype(np.float32) for steps in (3, 5, 30, 4)]
    corpus = from_arrays(x)
    longest = corpus.train.lengths[corpus.train.rows].max()
    paths = preview(corpus, out=tmp_path, count=4)
    with Image.open(paths[1]) as player:
        assert player.n_frames == longest


def test_data_without_labels_still_have_lengths(tmp_path):
    x = RNG.normal(size=(30, 8, 3)).astype(np.float32)
    assert len(preview(from_arrays(x), out=tmp_path)) == 2


def test_wrong_requests_are_refused_in_words(tmp_path):
    with pytest.raises(ValueError, match="count must be 1 or more, got 0"):
        preview("toy-series", SIZES, out=tmp_path, count=0)
    with pytest.raises(ValueError, match=r"a folder or a \.png file, got .*x\.jpg"):
        preview("toy-series", SIZES, out=tmp_path / "x.jpg")
    with pytest.raises(ValueError, match="split must be train, validation or test, got 'dev'"):
        preview("toy-series", SIZES, out=tmp_path, split="dev")
