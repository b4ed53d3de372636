from pathlib import Path

import numpy as np
import pytest
import soundfile

from unbraid.data.sets import timit
from unbraid.data.sets.timit import CORE_TEST, FOLDED, PHONES, Config, label_frames

TRAIN = {"DR1": ("FCJF0", "MCPM0"), "DR3": ("MADC0",), "DR8": ("FBCG1",)}
TEST = {"DR1": ("MDAB0", "FELC0"), "DR2": ("MABW0",)}  # the last is not of the core test set
SENTENCES = ("SA1", "SI1027", "SX37")
TRANSCRIPT = "0 1600 h#\n1600 3200 sh\n3200 6400 ix\n6400 8000 q\n"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("UNBRAID_DATA", raising=False)


def _copy(root: Path, *, lower: bool = False, transcript: str = TRANSCRIPT) -> Path:
    """Write a small look-alike in the publisher's layout: SPHERE files of half a second."""
    case = str.lower if lower else str.upper
    for part, speakers in (("TRAIN", TRAIN), ("TEST", TEST)):
        for dialect, names in speakers.items():
            for number, name in enumerate(names):
                folder = root / case("TIMIT") / case(part) / case(dialect) / case(name)
                folder.mkdir(parents=True)
                for sentence in SENTENCES:
                    wave = np.random.default_rng([number, len(sentence)]).normal(0, 0.1, 8000)
                    soundfile.write(folder / case(f"{sentence}.WAV"), wave, 16000, format="NIST")
                    if transcript:
                        (folder / case(f"{sentence}.PHN")).write_text(transcript)
    return root


def _load(root: Path, **options):
    return timit.load(Config(root=str(root), conversions=0, **options))


@pytest.mark.parametrize("lower", [False, True])
def test_training_is_train_and_test_the_core_speakers_without_sa(tmp_path, lower):
    corpus = _load(_copy(tmp_path / "data", lower=lower))
    speakers = corpus.spec.static[0].values
    assert speakers == ("FBCG1", "FCJF0", "FELC0", "MADC0", "MCPM0", "MDAB0")
    assert {speakers[i] for i in corpus.test.label("speaker")} == {"MDAB0", "FELC0"}
    assert len(np.unique(corpus.test.label("utterance"))) == 2 * 2  # SI and SX
    held_out, seen = (set(corpus.split(n).label("speaker")) for n in ("validation", "train"))
    assert (len(held_out), len(seen)) == (1, 3)
    assert not held_out & seen
    assert len(corpus.train) == 3 * 3 * 2  # half a second is 51 frames, two segments
    assert corpus.train.x.shape == ((4 * 3 + 4) * 2, 20, 80)


def test_the_segments_of_an_utterance_are_a_group(tmp_path):
    test = _load(_copy(tmp_path / "data")).test
    assert test.group == "utterance"
    assert np.unique(test.label(test.group), return_counts=True)[1].tolist() == [2] * 4


def test_sex_and_dialect_come_from_the_folders(tmp_path):
    corpus = _load(_copy(tmp_path / "data"))
    speaker, sex, dialect = corpus.spec.static
    for s, g, r in zip(*(corpus.train.labels[f.name] for f in corpus.spec.static), strict=True):
        name = speaker.values[s]
        assert sex.values[g] == name[0]
        assert name in (TRAIN | TEST | {"DR1": (*TRAIN["DR1"], *TEST["DR1"])})[dialect.values[r]]


def test_the_phone_of_a_frame_is_what_is_said_at_its_centre(tmp_path):
    corpus = _load(_copy(tmp_path / "data"))
    assert corpus.spec.dynamic[0].values == PHONES
    first, second = corpus.test.label("phone")[:2]
    sil, sh, ih = (PHONES.index(name) for name in ("sil", "sh", "ih"))
    assert first.tolist() == [sil] * 10 + [sh] * 10
    assert second.tolist() == [ih] * 20


def test_frames_outside_of_all_phones_are_unknown():
    spans = [(100, 200, 4), (250, 300, 7)]
    assert label_frames(spans, 8, 50).tolist() == [-1, -1, 4, 4, -1, 7, -1, -1]


def test_the_61_symbols_fold_to_39_phones():
    symbols = [symbol for some in FOLDED.values() for symbol in some.split()]
    assert len(set(symbols)) == len(symbols) == 60  # and q, which is dropped
    assert len(PHONES) == 39
    assert sorted(PHONES) == list(PHONES)


def test_the_core_test_set_has_two_men_and_a_woman_of_each_dialect():
    assert len(set(CORE_TEST)) == 24
    assert [name[0] for name in CORE_TEST] == ["M", "M", "F"] * 8


def test_without_transcriptions_there_is_no_dynamic_factor(tmp_path):
    corpus = _load(_copy(tmp_path / "data", transcript=""))
    assert corpus.spec.dynamic == ()
    assert "phone" not in corpus.train.labels


@pytest.mark.parametrize(
    ("text", "reason"),
    [("0 10 xx\n", "'xx' is no phone of TIMIT"), ("0 10\n", "lines must read"), ("ü 1 a", "lines")],
)
def test_a_bad_transcription_is_named_and_its_phones_are_unknown(tmp_path, text, reason):
    root = _copy(tmp_path / "data")
    path = root / "TIMIT" / "TEST" / "DR1" / "MDAB0" / "SX37.PHN"
    path.write_text(text, encoding="utf-8")
    corpus = _load(root)
    assert reason in corpus.skipped["TEST/DR1/MDAB0/SX37.PHN"]
    assert (corpus.test.label("phone") == -1).all(axis=1).sum() == 2


def test_core_test_speakers_that_are_not_there_are_named(tmp_path):
    corpus = _load(_copy(tmp_path / "data"))
    assert set(corpus.skipped) == set(CORE_TEST) - {"MDAB0", "FELC0"}


def test_a_second_converted_file_does_not_count_twice(tmp_path):
    root = _copy(tmp_path / "data")
    for path in list(root.rglob("*.WAV")):
        wave, rate = soundfile.read(path)
        soundfile.write(path.with_name(path.name + ".wav"), wave, rate)
    assert len(_load(root).train) == 18


def test_converted_voices_come_with_every_segment(tmp_path):
    corpus = timit.load(Config(root=str(_copy(tmp_path / "data")), conversions=2))
    batch = corpus.train.take([0])
    assert batch.alternatives is not None
    assert batch.alternatives.shape == (1, 2, 20, 80)


def test_a_prepared_cache_needs_no_files(tmp_path):
    root = _copy(tmp_path / "data")
    rows = _load(root).test.rows
    assert np.array_equal(timit.load(Config(conversions=0)).test.rows, rows)


def test_broken_recordings_are_named_or_too_many(tmp_path):
    root = _copy(tmp_path / "data")
    (root / "TIMIT" / "TRAIN" / "DR1" / "FCJF0" / "SA1.WAV").write_text("no sound")
    assert "TRAIN/DR1/FCJF0/SA1" in _load(root).skipped
    for path in list(root.rglob("SX37.WAV")):
        path.write_text("no sound")
    with pytest.raises(ValueError, match="7 of 16 recordings cannot be read"):
        _load(root)


def test_another_layout_is_refused_and_leaves_no_cache(tmp_path):
    with pytest.raises(ValueError, match=r"must hold TIMIT as published.*found neither"):
        _load(tmp_path)
    root = _copy(tmp_path / "data")
    (root / "TIMIT" / "TEST").rename(root / "TIMIT" / "OTHER")
    with pytest.raises(ValueError, match="found TRAIN alone"):
        _load(root)
    assert list((tmp_path / "cache").iterdir()) == []


def test_without_files_the_message_says_where_to_apply():
    with pytest.raises(ValueError, match=r"not to be downloaded freely.*LDC93S1"):
        timit.load(Config())


def test_settings_are_checked():
    with pytest.raises(ValueError, match=r"validation must lie between 0 and 1, got 0\.0"):
        Config(validation=0.0)
    with pytest.raises(ValueError, match="conversions must not be negative"):
        Config(conversions=-1)
