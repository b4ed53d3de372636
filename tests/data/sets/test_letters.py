import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from unbraid.data import DATASETS, load_data
from unbraid.data.download import download
from unbraid.data.sets import letters
from unbraid.data.sets.letters import Config, find_drawings
from unbraid.data.sets.words import LETTERS
from unbraid.runs.plan import make_plan

WRITERS = ("1", "2", "10", "61")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("UNBRAID_DATA", raising=False)


@pytest.fixture(scope="session")
def pictures(tmp_path_factory) -> Path:
    """Look-alikes: scans of 40 x 30 pixels, dark ink on grey paper, two samples per letter."""
    root, rng = tmp_path_factory.mktemp("letters"), np.random.default_rng(0)
    for writer in WRITERS:
        (root / writer).mkdir()
        for letter in LETTERS:
            for sample in (1, 2):
                scan = np.full((40, 30, 3), 230, dtype=np.uint8)
                scan[8:32, 6:24] -= rng.integers(0, 200, (24, 18, 3)).astype(np.uint8)
                Image.fromarray(scan).save(root / writer / f"{letter}_{sample}.png")
    return root


@pytest.fixture
def root(pictures: Path, tmp_path) -> Path:
    return shutil.copytree(pictures, tmp_path / "letters")


def test_every_writer_but_61_writes_every_word(root: Path):
    corpus = load_data("letters", {"root": str(root)})
    assert [len(corpus.split(name)) for name in ("train", "validation", "test")] == [210, 30, 60]
    assert corpus.train.take([0, 1]).x.shape == (2, 7, 1, 64, 64)
    assert corpus.spec.static[0].values == ("1", "2", "10")
    assert corpus.spec.dynamic[0].values == LETTERS
    assert corpus.spec.stand_in == ""
    assert corpus.skipped == {"writer 61": "left out by the setting `exclude`"}


def test_frames_are_bright_ink_on_black(root: Path):
    x = load_data("letters", {"root": str(root)}).train.x[:]
    assert (x[..., 0, :] == 0).all()
    assert x.max() > 100


def test_nobody_need_be_left_out(root: Path):
    corpus = load_data("letters", {"root": str(root), "exclude": []})
    assert corpus.spec.static[0].classes == 4
    assert corpus.skipped == {}


def test_a_pattern_tells_where_pictures_lie(root: Path):
    for path in list(root.glob("*/*.png")):
        letter, sample = path.stem.split("_")
        target = root / "lower" / f"{letter}-small" / f"w{path.parent.name}.{sample}.bmp"
        target.parent.mkdir(parents=True, exist_ok=True)
        Image.open(path).save(target)
        path.unlink()
    pattern = "lower/{letter}-*/w{writer}.{sample}.bmp"
    corpus = load_data("letters", {"root": str(root), "pattern": pattern})
    assert corpus.spec.static[0].values == ("1", "2", "10")
    assert len(corpus.train.x.pictures) == 3 * 26 * 2


def test_a_pattern_is_plain_text_but_for_its_fields(tmp_path):
    for name in ("1/a_1.png", "1/aX1.png", "1/b_1.png.txt", "1/A_1.png", "a_1.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    drawings = find_drawings(tmp_path, "{writer}/{letter}_{sample}.png")
    assert [drawing.name for drawing in drawings] == ["1/a_1.png"]


def test_where_no_file_fits_the_message_shows_what_there_is(root: Path):
    with pytest.raises(
        ValueError, match=r"'\{writer\}-\{letter\}'; there is 1/a_1\.png, 1/a_2\.png"
    ):
        load_data("letters", {"root": str(root), "pattern": "{writer}-{letter}"})


def test_broken_pictures_and_lacking_letters_are_named(root: Path):
    (root / "1" / "a_1.png").write_bytes(b"no picture")
    (root / "2" / "q_1.png").unlink()
    (root / "2" / "q_2.png").unlink()
    corpus = load_data("letters", {"root": str(root)})
    assert set(corpus.skipped) == {"1/a_1.png", "writer 2", "writer 61"}
    assert corpus.skipped["writer 2"] == "there is no letter q"
    assert corpus.spec.static[0].values == ("1", "10")


def test_too_many_broken_pictures_leave_no_cache(root: Path, tmp_path):
    for path in (root / "1").iterdir():
        path.write_bytes(b"")
    with pytest.raises(ValueError, match="52 of 156 pictures of letters cannot be used"):
        load_data("letters", {"root": str(root)})
    assert list((tmp_path / "cache").iterdir()) == []


def test_once_prepared_the_pictures_are_not_needed(root: Path):
    first = load_data("letters", {"root": str(root)})
    shutil.rmtree(root)
    again = load_data("letters", {"jitter": 0.0})
    assert np.array_equal(first.test.x[:], again.test.x[:])


def test_without_pictures_and_cache_the_message_says_where_to_get_them():
    with pytest.raises(ValueError, match=r"there is neither.*prepare letters.*data\.mendeley\.com"):
        letters.load(Config())


def test_it_is_not_downloaded(tmp_path):
    with pytest.raises(ValueError, match=r"Fetch it with a browser from https://data\.mendeley"):
        download(letters.SOURCE, tmp_path)


@pytest.mark.parametrize("pattern", ["{letter}.png", "{writer}/a.png", "{writer}{letter}{letter}"])
def test_a_pattern_without_writer_or_letter_is_refused(pattern: str):
    with pytest.raises(ValueError, match=r"pattern must have \{writer\} and \{letter\} once each"):
        Config(pattern=pattern)


def test_settings_of_words_are_checked():
    with pytest.raises(ValueError, match="size must be at least 16, got 4"):
        Config(size=4)


@pytest.mark.parametrize("method", ["dsvae", "cdsvae", "spyl", "dbse"])
def test_its_stand_in_takes_its_presets(method: str):
    assert DATASETS["omniglot"].stand_in == "letters"
    assert make_plan("omniglot", method, preset="paper").preset == "letters"
    assert make_plan("omniglot", method, preset="paper").training.batch_size == 64
