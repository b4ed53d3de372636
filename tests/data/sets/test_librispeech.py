import csv
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile

from unbraid.data import load_data
from unbraid.data.sets import librispeech
from unbraid.data.sets.librispeech import Config, deal_speakers

FOLDER = "librispeech_mini_subset"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("UNBRAID_DATA", raising=False)


@pytest.fixture(scope="session")
def spoken(real_data, tmp_path_factory) -> Iterator[Path]:
    root = tmp_path_factory.mktemp("spoken")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UNBRAID_CACHE", str(root))
        librispeech.load(Config(root=str(real_data / FOLDER), conversions=0))
    yield root
    shutil.rmtree(root)


@pytest.fixture
def cache(spoken, monkeypatch) -> None:
    monkeypatch.setenv("UNBRAID_CACHE", str(spoken))


@pytest.fixture(scope="session")
def listed(real_data) -> list[dict[str, str]]:
    with (real_data / FOLDER / "manifest.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _tree(root: Path, speakers: str = "FFMM") -> Path:
    """Write two utterances of each speaker, in the publisher's layout."""
    base = root / "LibriSpeech"
    lines = ["; comments", ";ID  |SEX| SUBSET"]
    for number, sex in enumerate(speakers, start=11):
        folder = base / "train-clean-5" / f"{number}" / "7"
        folder.mkdir(parents=True)
        lines.append(f"{number}   | {sex} | train-clean-100  | 25.19 | A | B")
        for k in range(2):
            wave = np.random.default_rng(10 * number + k).normal(0, 0.1, 8000)
            soundfile.write(folder / f"{number}-7-{k:04d}.flac", wave, 16000)
        (folder / f"{number}-7.trans.txt").write_text("WORDS\n")
    (base / "SPEAKERS.TXT").write_text("\n".join(lines) + "\n")
    return root


def _pack(tree: Path, root: Path) -> Path:
    root.mkdir()
    with tarfile.open(root / "train-clean-5.tar.gz", "w:gz") as tar:
        files = [path for path in tree.rglob("*") if path.is_file()]
        for path in sorted(files, reverse=True):
            tar.add(path, path.relative_to(tree).as_posix())
    return root


def _small(**options) -> Config:
    return Config(test_speakers=2, validation_speakers=1, conversions=0, **options)


@pytest.mark.data
def test_the_subset_has_28_speakers_and_224_utterances_as_listed(cache, listed):
    corpus = load_data("librispeech", {"conversions": 0})
    labels = corpus.train.labels
    assert len(np.unique(labels["utterance"])) == len(listed) == 224
    assert corpus.spec.static[0].values == tuple(sorted({row["speaker_id"] for row in listed}))
    assert corpus.spec.static[0].classes == 28
    assert corpus.spec.stand_in == "TIMIT"
    assert corpus.skipped == {}


@pytest.mark.data
def test_segments_follow_from_the_listed_lengths(cache, listed):
    corpus = load_data("librispeech", {"conversions": 0})
    rows = sorted(listed, key=lambda row: Path(row["file"]).stem)
    counts = [(1 + int(row["n_samples"]) // 160) // 20 for row in rows]
    assert np.bincount(corpus.train.labels["utterance"]).tolist() == counts
    assert corpus.train.x.shape == (sum(counts), 20, 80)
    speakers = [corpus.spec.static[0].values.index(row["speaker_id"]) for row in rows]
    assert np.array_equal(corpus.train.labels["speaker"], np.repeat(speakers, counts))
    sexes = ["FM".index(row["sex"]) for row in rows]
    assert np.array_equal(corpus.train.labels["sex"], np.repeat(sexes, counts))


@pytest.mark.data
def test_no_speaker_sits_in_two_splits_and_the_sexes_are_balanced(cache):
    corpus = load_data("librispeech", {"conversions": 0})
    parts = [set(corpus.split(n).label("speaker")) for n in ("train", "validation", "test")]
    assert [len(part) for part in parts] == [17, 3, 8]
    assert len(set.union(*parts)) == 28
    pairs = set(zip(corpus.test.label("speaker"), corpus.test.label("sex"), strict=True))
    assert sorted(sex for _, sex in pairs) == [0] * 4 + [1] * 4
    assert sum(len(corpus.split(n)) for n in ("train", "validation", "test")) == len(corpus.train.x)


@pytest.mark.data
def test_features_of_a_batch_have_unit_scale(cache):
    corpus = load_data("librispeech", {"conversions": 0})
    batch = corpus.train.take(slice(None))
    assert batch.x.shape[1:] == (20, 80)
    assert np.allclose(batch.x.mean((0, 1)), 0, atol=1e-3)
    assert np.allclose(batch.x.std((0, 1)), 1, atol=1e-2)


def test_an_archive_gives_the_same_as_its_contents(tmp_path):
    tree = _tree(tmp_path / "tree")
    packed = _pack(tree, tmp_path / "packed")
    loose, archived = (librispeech.load(_small(root=str(root))) for root in (tree, packed))
    assert np.array_equal(loose.train.x, archived.train.x)
    for name in ("speaker", "sex", "utterance"):
        assert np.array_equal(loose.train.labels[name], archived.train.labels[name])
    assert loose.spec == archived.spec
    assert loose.spec.static[1].values == ("F", "M")
    assert len(loose.train.x) == 4 * 2 * 2  # half a second is 51 frames


def test_another_seed_deals_other_speakers(tmp_path):
    root = str(_tree(tmp_path / "tree", "FFFFMMMM"))
    tests = [tuple(librispeech.load(_small(root=root, seed=s)).test.rows) for s in (0, 0, 1, 2)]
    assert tests[0] == tests[1]
    assert len(set(tests)) > 1


def test_without_a_table_of_sexes_speakers_are_dealt_all_the_same(tmp_path):
    root = _tree(tmp_path / "tree")
    (root / "LibriSpeech" / "SPEAKERS.TXT").unlink()
    corpus = librispeech.load(_small(root=str(root)))
    assert set(corpus.train.labels["sex"]) == {-1}
    assert len(set(corpus.test.label("speaker"))) == 2


def test_converted_voices_come_with_every_segment(tmp_path):
    root = str(_tree(tmp_path / "tree"))
    corpus = librispeech.load(Config(root=root, test_speakers=1, validation_speakers=1))
    batch = corpus.train.take([0, 1])
    assert batch.alternatives is not None
    assert batch.alternatives.shape == (2, 1, 20, 80)


def test_segments_of_other_lengths_have_a_cache_of_their_own(tmp_path):
    root = str(_tree(tmp_path / "tree"))
    short = librispeech.load(_small(root=root))
    long = librispeech.load(_small(root=root, frames=30, frame_ms=8.5))
    assert (short.spec.frame, long.spec.frame) == ((80,), (80,))
    assert (short.train.x.shape[1], long.train.x.shape[1]) == (20, 30)
    assert long.spec.rate == pytest.approx(1000 / 8.5)
    assert librispeech.load(_small(root=root)).train.x.shape[1] == 20


def test_the_segments_of_an_utterance_are_a_group(tmp_path):
    test = librispeech.load(_small(root=str(_tree(tmp_path / "tree")))).test
    assert test.group == "utterance"
    assert np.unique(test.label(test.group), return_counts=True)[1].tolist() == [2] * 4


def test_women_and_men_are_dealt_in_turn():
    sexes = {f"{i}": "F" if i < 5 else "M" for i in range(8)}
    parts = deal_speakers(sexes, Config(test_speakers=4, validation_speakers=2))
    dealt = {part: sorted(sexes[who] for who in some) for part, some in parts.items()}
    assert dealt == {"test": list("FFMM"), "validation": list("FM"), "train": list("FF")}
    assert sorted(who for some in parts.values() for who in some) == sorted(sexes)


def test_too_few_speakers_are_told_what_is_needed(tmp_path):
    with pytest.raises(ValueError, match="need 12 speakers at least, there are 4"):
        librispeech.load(Config(root=str(_tree(tmp_path / "tree")), conversions=0))


def test_a_torn_archive_is_named_and_leaves_no_cache(tmp_path):
    packed = _pack(_tree(tmp_path / "tree"), tmp_path / "packed")
    archive = packed / "train-clean-5.tar.gz"
    archive.write_bytes(archive.read_bytes()[:-20000])
    with pytest.raises(ValueError, match=r"train-clean-5.tar.gz cannot be read to its end"):
        librispeech.load(_small(root=str(packed)))
    archive.write_text("no archive")
    with pytest.raises(ValueError, match=r"train-clean-5.tar.gz cannot be read to its end"):
        librispeech.load(_small(root=str(packed)))
    assert list((tmp_path / "cache").iterdir()) == []


def test_broken_recordings_are_named_or_too_many(tmp_path):
    root = _tree(tmp_path / "tree")
    bad = root / "LibriSpeech" / "train-clean-5" / "11" / "7" / "11-7-0000.flac"
    bad.write_text("no sound")
    corpus = librispeech.load(_small(root=str(root), broken=0.2))
    assert list(corpus.skipped) == ["11-7-0000"]
    with pytest.raises(ValueError, match="1 of 8 recordings cannot be read: 11-7-0000"):
        librispeech.load(_small(root=str(root), broken=0.1))  # though it is prepared


def test_a_folder_without_recordings_says_what_is_wanted(tmp_path):
    with pytest.raises(ValueError, match=r"neither recordings .* nor an archive"):
        librispeech.load(Config(root=str(tmp_path)))
    with pytest.raises(ValueError, match=r"prepare librispeech --root DIR.*--download"):
        librispeech.load(Config())


def test_settings_are_checked():
    with pytest.raises(ValueError, match="test_speakers must be at least 1, got 0"):
        Config(test_speakers=0)
    with pytest.raises(ValueError, match="conversions must not be negative"):
        Config(conversions=-1)
