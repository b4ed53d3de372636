from pathlib import Path

import numpy as np
import pytest
import soundfile

from unbraid.data import load_data
from unbraid.data.audio.mel import MelConfig, band_edges
from unbraid.data.collection import SplitConfig
from unbraid.data.readers import sounds
from unbraid.data.readers.sounds import Config

PLAIN = Config(conversions=0)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("UNBRAID_DATA", raising=False)


def _tone(
    path: Path, hz: float = 1000.0, *, seconds: float = 1.0, rate: int = 16000, left: float = 1.0
):
    """Write a stereo tone on a constant, with faint noise."""
    path.parent.mkdir(parents=True, exist_ok=True)
    time = np.arange(round(seconds * rate)) / rate
    tone = 0.3 * np.sin(2 * np.pi * hz * time) + np.random.default_rng(0).normal(0, 1e-3, len(time))
    soundfile.write(path, np.stack([left * tone, tone], axis=1) + 0.05, rate)
    return path


def _folder(root: Path, *, speakers: str = "ab", files: int = 3) -> Path:
    for i, speaker in enumerate(speakers):
        for k in range(files):
            _tone(root / speaker / f"{k}.wav", 200.0 + 100 * i + 10 * k)
    return root


def test_formats_rates_and_channels_give_the_same_tone(tmp_path):
    root = tmp_path / "mixed"
    for name, rate in (("a.wav", 8000), ("b.flac", 44100), ("c.mp3", 44100), ("d.ogg", 48000)):
        _tone(root / name, rate=rate)
    _tone(root / "e.WAV")
    collection = sounds.read(root, PLAIN)
    assert collection.x.shape == (25, 20, 80)
    assert collection.skipped == {}
    edges = band_edges(MelConfig()).numpy()
    band = np.flatnonzero((edges[:-2] <= 1000) & (edges[2:] >= 1000))
    assert np.isin(collection.x[:, 2:-2].argmax(-1), band).all()
    levels = collection.x.max(-1)[:, 10]
    assert np.ptp(levels) < 0.1


def test_one_file_can_be_read_and_has_no_split(tmp_path):
    collection = sounds.read(
        _tone(tmp_path / "one.wav"), Config(pattern="{who}/*", dynamic=("who",))
    )
    assert len(collection) == 5
    assert collection.alternatives is not None
    assert collection.alternatives.shape == (5, 1, 20, 80)
    assert set(collection.labels["name"]) == {"one.wav"}
    assert "split" not in collection.labels
    assert sounds.read(tmp_path / "one.wav", Config(dynamic=("word",))).dynamic == ()


def test_files_of_one_recording_never_sit_in_different_splits(tmp_path):
    corpus = load_data(str(_folder(tmp_path / "data", files=6)), {"conversions": 0})
    parts = [set(corpus.split(n).label("name")) for n in ("train", "validation", "test")]
    assert [len(part) for part in parts] == [10, 1, 1]
    assert len(set.union(*parts)) == 12
    assert corpus.spec.static[0].name == "folder"
    assert corpus.spec.features == "log-mel"
    assert corpus.spec.rate == 100.0


def test_a_label_can_group_the_splits(tmp_path):
    root = _folder(tmp_path / "data", speakers="abcd")
    options = {"conversions": 0, "pattern": "{speaker}/*", "split": {"by": "speaker"}}
    corpus = load_data(str(root), options)
    parts = [set(corpus.split(n).label("speaker")) for n in ("train", "validation", "test")]
    assert sorted(len(part) for part in parts) == [1, 1, 2]
    assert len(set.union(*parts)) == 4
    assert {"speaker", "utterance"} <= set(corpus.test.labels)


def test_folders_of_splits_decide_and_validation_is_cut_by_file(tmp_path):
    for part in ("train", "test"):
        for k in range(4):
            _tone(tmp_path / "data" / part / f"{k}.wav")
    corpus = load_data(str(tmp_path / "data"), {"conversions": 0})
    assert all(name.startswith("test/") for name in corpus.test.label("name"))
    assert len(set(corpus.validation.label("name"))) == 1
    assert not set(corpus.validation.label("name")) & set(corpus.train.label("name"))


def test_words_in_a_table_are_labels_that_move_or_stay(tmp_path):
    root = _folder(tmp_path / "data", speakers="a", files=4)
    rows = [f"a/{k}.wav,ann,{word}" for k, word in enumerate(("yes", "no", "yes", "no"))]
    (root / "labels.csv").write_text("\n".join(["file,speaker,word", *rows]))
    collection = sounds.read(root, Config(conversions=0, dynamic=("word",)))
    assert [factor.name for factor in collection.static] == ["speaker"]
    assert [(f.name, f.values) for f in collection.dynamic] == [("word", ("no", "yes"))]
    assert collection.labels["word"].tolist() == [1] * 5 + [0] * 5 + [1] * 5 + [0] * 5


def test_labels_follow_their_files_when_some_are_skipped(tmp_path):
    root = _folder(tmp_path / "data", speakers="abc", files=4)
    _tone(root / "a" / "1.wav", seconds=0.1)
    (root / "b" / "0.wav").write_text("no sound")
    collection = sounds.read(root, PLAIN)
    assert set(collection.skipped) == {"a/1.wav", "b/0.wav"}
    names = [f"{s}/{k}.wav" for s in "abc" for k in range(4) if (s, k) not in (("a", 1), ("b", 0))]
    assert collection.labels["name"].tolist() == np.repeat(names, 5).tolist()
    folders = [collection.static[0].values[i] for i in collection.labels["folder"]]
    assert folders == [name[0] for name in collection.labels["name"]]
    with pytest.raises(ValueError, match=r"1 of 12 recordings cannot be read: b/0\.wav"):
        sounds.read(root, Config(conversions=0, broken=0.05))


def test_a_changed_file_is_read_again_and_another_pattern_is_not(tmp_path, monkeypatch):
    root = _folder(tmp_path / "data")
    first = np.array(sounds.read(root, PLAIN).x)
    _tone(root / "a" / "0.wav", 3000.0, seconds=0.5)
    assert len(sounds.read(root, PLAIN).x) == len(first) - 3
    monkeypatch.setattr(sounds, "write_segments", None)
    assert "who" in sounds.read(root, Config(conversions=0, pattern="{who}/*")).labels


def test_segments_and_features_are_as_told(tmp_path):
    root = _folder(tmp_path / "data")
    config = Config(conversions=0, seconds=0.5, hop=0.02, rate=8000, bands=40)
    collection = sounds.read(root, config)
    assert config.mel == MelConfig(sample_rate=8000, n_fft=512, window=400, hop=160, bands=40)
    assert collection.x.shape == (6 * 2, 25, 40)
    assert collection.rate == 50.0
    assert collection.features != "log-mel"  # nobody shall turn it into sound as if it were
    assert PLAIN.mel == MelConfig()


def test_hidden_files_and_other_files_are_left_out(tmp_path):
    root = _folder(tmp_path / "data", speakers="a")
    (root / "._0.wav").write_text("rubbish of another system")
    (root / "notes.txt").write_text("notes")
    (root / ".trash").mkdir()
    _tone(root / ".trash" / "x.wav")
    assert set(sounds.read(root, PLAIN).labels["name"]) == {"a/0.wav", "a/1.wav", "a/2.wav"}


def test_a_pattern_that_matches_nothing_says_so_before_any_work(tmp_path):
    with pytest.raises(ValueError, match=r"matches none of 6 files, e.g. 'a/0.wav'"):
        sounds.read(_folder(tmp_path / "data"), Config(pattern="{x}/{y}/*"))
    with pytest.raises(KeyError, match="there is no label 'word'"):
        sounds.read(tmp_path / "data", Config(conversions=0, dynamic=("word",)))


def test_a_folder_or_file_without_sound_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="holds no sounds"):
        sounds.read(tmp_path / "empty", PLAIN)
    (tmp_path / "x.wav").write_text("no sound")
    with pytest.raises(ValueError, match=r"1 of 1 recordings cannot be read: x\.wav: it cannot"):
        sounds.read(tmp_path / "x.wav", PLAIN)


def test_two_files_are_too_few_to_keep_apart(tmp_path):
    root = _folder(tmp_path / "data", speakers="ab", files=1)
    assert "split" not in sounds.read(root, PLAIN).labels
    with pytest.raises(ValueError, match="three values of 'name' at least, got 2"):
        load_data(str(root), {"conversions": 0, "split": {"by": "name"}})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hop": 0.5}, r"hop must be 0.001 to 0.1 s, got 0.5"),
        ({"seconds": 0.01}, r"seconds must be two frames at least, 0.02 s, got 0.01"),
        ({"rate": 100}, "rate must be at least 4000, got 100"),
        ({"bands": 0}, "bands must be at least 1"),
        ({"broken": -0.1}, "broken must not be negative"),
        ({"trim": -3.0}, "trim must not be negative"),
        ({"split": SplitConfig(by="speker")}, "there is no label 'speker'"),
    ],
)
def test_settings_are_checked(tmp_path, options, message):
    root = _folder(tmp_path / "data", speakers="a")
    with pytest.raises((ValueError, KeyError), match=message):
        load_data(str(root), {"conversions": 0} | options)
