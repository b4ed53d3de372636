import gzip
import hashlib
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from unbraid.data import Corpus, load_data
from unbraid.data.generated.bounce import Painted
from unbraid.data.sets import sm_mnist
from unbraid.data.sets.sm_mnist import Config, enlarge, read_idx
from unbraid.evaluation.judge import fingerprint

SPLITS = ("train", "validation", "test")
SIZES = {"train": 300, "validation": 100, "test": 200}
# How often each digit occurs in the published training and test files.
TRAINING_COUNTS = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
TEST_COUNTS = [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("UNBRAID_DATA", raising=False)


def _idx(array: np.ndarray) -> bytes:
    return (
        bytes((0, 0, 8, array.ndim)) + struct.pack(f">{array.ndim}I", *array.shape) + bytes(array)
    )


def _write(root: Path, *, packed: bool = True) -> str:
    """Write look-alikes: 30 training and 12 test images per digit; return the SHA-256 of all."""
    root.mkdir()
    rng, digest = np.random.default_rng(0), hashlib.sha256()
    for part, count in (("train", 300), ("t10k", 120)):
        labels = (np.arange(count) % 10).astype(np.uint8)
        images = rng.integers(0, 256, (count, 28, 28)).astype(np.uint8)
        for name, array in (("images-idx3", images), ("labels-idx1", labels)):
            digest.update(bytes(array))
            path = root / f"{part}-{name}-ubyte{'.gz' if packed else ''}"
            path.write_bytes(gzip.compress(_idx(array)) if packed else _idx(array))
    return digest.hexdigest()


@pytest.fixture
def root(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(sm_mnist, "CONTENT", _write(tmp_path / "mnist"))
    return tmp_path / "mnist"


@pytest.fixture
def corpus(root: Path) -> Corpus:
    return load_data("sm-mnist", {"root": str(root), **SIZES})


@pytest.fixture(scope="session")
def real(real_data, tmp_path_factory) -> Iterator[Corpus]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UNBRAID_CACHE", str(tmp_path_factory.mktemp("prepared")))
        shares: list[float] = []
        config = Config(root=str(real_data / "mnist"), train=2000, validation=500, test=1000)
        yield sm_mnist.load(config, progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_splits_have_the_sizes_and_shapes_asked_for(corpus: Corpus):
    assert [len(corpus.split(name)) for name in SPLITS] == [300, 100, 200]
    assert corpus.train.take([0, 5]).x.shape == (2, 15, 1, 64, 64)
    assert (corpus.spec.frame, corpus.spec.length, corpus.spec.size) == ((1, 64, 64), 15, 300)
    assert (np.bincount(corpus.test.label("pair")) == 2).all()


def test_a_batch_is_what_was_painted_as_numbers_up_to_one(corpus: Corpus):
    batch = corpus.test.take([3, 1]).x.numpy()
    raw = corpus.test.x[corpus.test.rows[[3, 1]]]
    assert np.allclose(batch, raw / 255, atol=1e-6)


def test_images_are_in_one_split_only_and_test_has_the_test_images(corpus: Corpus):
    used = [
        set(np.concatenate([split.label("first_image"), split.label("second_image")]).tolist())
        for split in map(corpus.split, SPLITS)
    ]
    assert sum(map(len, used)) == len(set.union(*used))
    assert max(used[0] | used[1]) < 300 <= min(used[2])
    assert len(used[1]) <= 30


def test_labels_agree_with_the_images(corpus: Corpus):
    for which in ("first", "second"):
        assert np.array_equal(corpus.train.label(f"{which}_image") % 10, corpus.train.label(which))
    pair = 10 * corpus.train.label("first") + corpus.train.label("second")
    assert np.array_equal(corpus.train.label("pair"), pair)


def test_one_seed_gives_one_result_and_sizes_of_other_splits_do_not_matter(root: Path):
    def frames(**options: int) -> np.ndarray:
        split = load_data("sm-mnist", {"root": str(root), **SIZES, **options}).test
        return split.x[split.rows[:20]]

    assert np.array_equal(frames(), frames(train=77, validation=5))
    assert not np.array_equal(frames(), frames(seed=1))


def test_the_second_digit_is_dimmer_unless_order_is_none(root: Path):
    for order, light in (("brightness", 0.6), ("none", 1.0)):
        x = load_data("sm-mnist", {"root": str(root), **SIZES, "order": order}).train.x
        assert isinstance(x, Painted)
        assert x.brightness == (1.0, light)


def test_without_an_order_there_are_55_pairs_with_the_smaller_digit_first(root: Path):
    corpus = load_data("sm-mnist", {"root": str(root), **SIZES, "order": "none"})
    pair, first, second = (corpus.test.label(name) for name in ("pair", "first", "second"))
    factor = corpus.spec.static[0]
    assert (factor.classes, len(factor.values)) == (55, 55)
    assert (first <= second).all()
    assert [factor.values[p] for p in pair] == [
        f"{a} {b}" for a, b in zip(first, second, strict=True)
    ]
    assert sorted(np.bincount(pair, minlength=55)) == [2] * 10 + [4] * 45
    assert np.array_equal(corpus.test.label("second_image") % 10, second)


def test_what_is_kept_does_not_grow_with_frames(corpus: Corpus):
    x = corpus.train.x
    assert isinstance(x, Painted)
    assert x.images.nbytes + x.paths.nbytes < 100 * len(x)
    assert np.prod(x.shape[1:]) == 61440  # bytes of the frames of a sequence


def test_the_data_can_be_told_by_a_fingerprint(root: Path):
    a, b, c = (
        fingerprint(load_data("sm-mnist", {"root": str(root), **SIZES, "seed": seed}))
        for seed in (0, 0, 1)
    )
    assert a == b != c


def test_unpacked_files_are_read_as_well(tmp_path, monkeypatch, corpus: Corpus):
    monkeypatch.setattr(sm_mnist, "CONTENT", _write(tmp_path / "plain", packed=False))
    plain = load_data("sm-mnist", {"root": str(tmp_path / "plain"), **SIZES})
    assert np.array_equal(plain.train.x[:3], corpus.train.x[:3])


def test_many_images_are_enlarged_as_one_alone():
    images = np.random.default_rng(0).integers(0, 256, (5, 28, 28)).astype(np.uint8)
    one_by_one = [Image.fromarray(i).resize((32, 32), Image.Resampling.BILINEAR) for i in images]
    assert np.array_equal(enlarge(images), np.stack([np.asarray(image) for image in one_by_one]))


def test_once_prepared_the_files_are_not_needed(corpus: Corpus):
    assert np.array_equal(load_data("sm-mnist", SIZES).train.x[:3], corpus.train.x[:3])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", r"begins with the bytes 0 0 8 3, got nothing"),
        (_idx(np.zeros(4, np.uint8)), r"with 3 axes, .*, got 0 0 8 1"),
        (_idx(np.zeros((2, 28, 28), np.uint8))[:-5], r"2 x 28 x 28 values and has 1563 of 1568"),
        (bytes((0, 0, 8, 3)) + b"\xff" * 12, r"has 0 of \d+ bytes"),
    ],
)
def test_a_damaged_idx_file_is_named_with_what_is_wrong(tmp_path, data: bytes, message: str):
    (tmp_path / "file").write_bytes(data)
    with pytest.raises(ValueError, match=rf"file .*{message}"):
        read_idx(tmp_path / "file", axes=3)


@pytest.mark.parametrize(
    "data", [b"no gzip", gzip.compress(bytes(2000))[:-12]], ids=["text", "torn"]
)
def test_a_torn_gzip_file_is_named(tmp_path, data: bytes):
    (tmp_path / "file.gz").write_bytes(data)
    with pytest.raises(ValueError, match=r"file\.gz cannot be read"):
        read_idx(tmp_path / "file.gz", axes=3)


def test_a_missing_file_is_named_and_leaves_no_cache(root: Path, tmp_path):
    (root / "t10k-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(ValueError, match=r"should hold t10k-labels-idx1-ubyte\.gz or .*--download"):
        sm_mnist.load(Config(root=str(root)))
    assert list((tmp_path / "cache").iterdir()) == []


def test_images_of_another_size_are_refused(root: Path):
    path = root / "train-images-idx3-ubyte.gz"
    path.write_bytes(gzip.compress(_idx(np.zeros((300, 32, 32), np.uint8))))
    with pytest.raises(ValueError, match=r"28 x 28 pixels, got shape \(300, 32, 32\)"):
        sm_mnist.load(Config(root=str(root)))


def test_other_digits_are_refused(tmp_path):
    _write(tmp_path / "mnist")
    with pytest.raises(ValueError, match="which are not MNIST"):
        sm_mnist.load(Config(root=str(tmp_path / "mnist")))
    assert list((tmp_path / "cache").iterdir()) == []


def test_without_files_and_cache_the_message_says_what_to_do():
    with pytest.raises(ValueError, match=r"there is neither.*prepare sm-mnist --root DIR.*--down"):
        sm_mnist.load(Config())


def test_settings_are_checked():
    with pytest.raises(ValueError, match="test must be at least 1, got 0"):
        Config(test=0)
    with pytest.raises(ValueError, match="seed must not be negative, got -1"):
        Config(seed=-1)
    with pytest.raises(ValueError, match="order must be one of brightness, none, got 'size'"):
        load_data("sm-mnist", {"order": "size"})


@pytest.mark.data
def test_digits_are_counted_as_published(real: Corpus):
    x = real.train.x
    assert isinstance(x, Painted)
    assert x.pictures.shape == (70_000, 32, 32)
    digit = np.load(Path(x.pictures.filename).with_name("digit.npy"))
    assert np.bincount(digit[:60_000]).tolist() == TRAINING_COUNTS
    assert np.bincount(digit[60_000:]).tolist() == TEST_COUNTS


@pytest.mark.data
def test_outside_the_other_square_a_frame_shows_the_enlarged_image(real: Corpus, real_data):
    images = read_idx(real_data / "mnist" / "t10k-images-idx3-ubyte.gz", axes=3)
    x, seen = real.test.x, 0
    assert isinstance(x, Painted)
    for row in real.test.rows[:30].tolist():
        (left, top), (other_left, other_top) = x.paths[row, :, 9].tolist()
        alone = np.zeros((64, 64), dtype=bool)
        alone[top : top + 32, left : left + 32] = True
        alone[other_top : other_top + 32, other_left : other_left + 32] = False
        image = Image.fromarray(images[x.images[row, 0] - 60_000])
        wanted = np.zeros((64, 64), dtype=np.uint8)
        large = image.resize((32, 32), Image.Resampling.BILINEAR)
        wanted[top : top + 32, left : left + 32] = np.asarray(large)
        assert np.array_equal(x[row][9, 0][alone], wanted[alone])
        seen += int((wanted[alone] > 0).sum())
    assert seen > 1000


@pytest.mark.data
def test_the_source_has_the_hashes_of_the_files(real_data):
    for name, sha256 in sm_mnist.SOURCE.files.items():
        assert hashlib.sha256((real_data / "mnist" / name).read_bytes()).hexdigest() == sha256
