import hashlib
import shutil
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from unbraid.data import Corpus, load_data
from unbraid.data.sets import omniglot
from unbraid.data.sets.omniglot import Config, find_drawings

ZIP = "images_background_small1.zip"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("UNBRAID_DATA", raising=False)


@pytest.fixture(scope="session")
def real(real_data, tmp_path_factory) -> Iterator[Corpus]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UNBRAID_CACHE", str(tmp_path_factory.mktemp("prepared")))
        yield omniglot.load(Config(root=str(real_data / "omniglot_small")))


def _picture(seed: int) -> bytes:
    pixels = np.random.default_rng(seed).random((105, 105)) > 0.1
    pixels[[0, -1]], pixels[:, [0, -1]] = True, True
    file = BytesIO()
    Image.fromarray(pixels).save(file, "png")
    return file.getvalue()


def _names(alphabet: str, characters: int = 26, writers: int = 3) -> list[str]:
    return [
        f"images_background_small1/{alphabet}/character{c:02d}/{600 + c:04d}_{w:02d}.png"
        for c in range(1, characters + 1)
        for w in range(1, writers + 1)
    ]


@pytest.fixture
def root(tmp_path) -> Path:
    """A look-alike archive: 3 writers of Latin, and an alphabet of 24 characters."""
    (tmp_path / "omniglot").mkdir()
    with zipfile.ZipFile(tmp_path / "omniglot" / ZIP, "w") as archive:
        for seed, name in enumerate([*_names("Latin"), *_names("Greek", 24)]):
            archive.writestr(name, _picture(seed))
    return tmp_path / "omniglot"


def test_every_writer_writes_every_word(root: Path):
    corpus = load_data("omniglot", {"root": str(root)})
    assert [len(corpus.split(name)) for name in ("train", "validation", "test")] == [210, 30, 60]
    assert corpus.spec.static[0].values == ("01", "02", "03")
    assert (corpus.spec.frame, corpus.spec.length) == ((1, 64, 64), 7)
    assert corpus.spec.stand_in == "Letters"


def test_an_unpacked_folder_is_the_same(root: Path):
    packed = load_data("omniglot", {"root": str(root)})
    with zipfile.ZipFile(root / ZIP) as archive:
        archive.extractall(root)
    (root / ZIP).unlink()
    for folder in (root, root / "images_background_small1"):
        unpacked = load_data("omniglot", {"root": str(folder)})
        assert np.array_equal(unpacked.train.x[:], packed.train.x[:])


def test_files_that_are_no_letters_are_left_alone():
    names = ["a/Latin/character27/0709_01.png", "Latin/character01/0683_01.txt", "LICENSE", "a/"]
    assert find_drawings(names, "Latin") == []
    assert find_drawings(["Latin/character26/0708_20.png"], "Latin")[0][:2] == ("20", "z")


def test_an_alphabet_that_is_not_there_or_too_short_is_named(root: Path, tmp_path):
    with pytest.raises(ValueError, match=r"alphabet Tengwar of Omniglot.* there is Greek, Latin\."):
        load_data("omniglot", {"root": str(root), "alphabet": "Tengwar"})
    with pytest.raises(ValueError, match="the alphabet Greek has fewer than 26 characters"):
        load_data("omniglot", {"root": str(root), "alphabet": "Greek"})
    assert list((tmp_path / "cache").iterdir()) == []


def test_an_empty_folder_says_how_to_get_the_files(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"there is no alphabet.*prepare omniglot.*--download"):
        load_data("omniglot", {"root": str(tmp_path / "empty")})
    with pytest.raises(ValueError, match="there is neither"):
        omniglot.load(Config())


def test_a_torn_archive_is_named(root: Path):
    (root / ZIP).write_bytes((root / ZIP).read_bytes()[:5000])
    with pytest.raises(ValueError, match=rf"{ZIP} cannot be read as a zip file"):
        load_data("omniglot", {"root": str(root)})


def test_damaged_pictures_of_an_archive_are_skipped_and_their_writer_too(root: Path):
    data = bytearray((root / ZIP).read_bytes())
    with zipfile.ZipFile(root / ZIP) as archive:
        torn = archive.infolist()[7]
    start = torn.header_offset + 200  # inside the picture: its check sum no longer fits
    data[start : start + 20] = bytes(20)
    (root / ZIP).write_bytes(data)
    corpus = load_data("omniglot", {"root": str(root)})
    assert corpus.skipped[torn.filename].startswith("Bad CRC-32")
    assert corpus.skipped["writer 02"] == "there is no letter c"
    assert corpus.spec.static[0].values == ("01", "03")


@pytest.mark.data
def test_twenty_writers_write_a_hundred_words(real: Corpus):
    assert [len(real.split(name)) for name in ("train", "validation", "test")] == [1400, 200, 400]
    assert real.spec.static[0].values == tuple(f"{writer:02d}" for writer in range(1, 21))
    assert real.train.x.shape == (2000, 7, 1, 64, 64)
    assert len(real.train.x.pictures) == 26 * 20
    assert real.skipped == {}
    assert set(real.test.label("writer")) == set(range(20))
    assert not set(real.test.label("word")) & set(real.train.label("word"))


@pytest.mark.data
def test_letters_look_like_themselves(real: Corpus):
    """A vertical stroke for l, a ring for o, and the dots of i and j above a gap."""
    pictures = np.asarray(real.train.x.pictures).reshape(20, 26, 64, 64) > 60
    widths = (pictures.any(2).sum(2)).mean(0)  # columns with ink, by letter
    assert widths.argmin() in (8, 11)  # i or l
    assert widths.argmax() in (12, 22)  # m or w
    rows = pictures.any(3)
    gaps = [
        (np.diff(letter.astype(int), axis=1) == 1).sum(1).mean() for letter in rows.swapaxes(0, 1)
    ]
    assert set(np.argsort(gaps)[-2:]) == {8, 9}  # i and j have two parts, one above the other


@pytest.mark.data
def test_another_alphabet_can_be_had(real_data):
    root = str(real_data / "omniglot_small")
    assert (
        load_data("omniglot", {"root": root, "alphabet": "Korean", "size": 32}).spec.frame[1] == 32
    )
    katakana = load_data("omniglot", {"root": root, "alphabet": "Japanese_(katakana)"})
    assert katakana.spec.static[0].classes == 20
    with pytest.raises(ValueError, match="the alphabet Greek has fewer than 26 characters"):
        load_data("omniglot", {"root": root, "alphabet": "Greek"})


@pytest.mark.data
def test_the_source_has_the_hash_of_the_archive(real_data):
    data = (real_data / "omniglot_small" / ZIP).read_bytes()
    assert omniglot.SOURCE.files == {ZIP: hashlib.sha256(data).hexdigest()}


@pytest.mark.data
def test_the_usual_folder_is_found(real_data, tmp_path, monkeypatch):
    shutil.copytree(real_data / "omniglot_small", tmp_path / "data" / "omniglot_small")
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path / "data"))
    assert len(load_data("omniglot").train) == 1400
