import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from unbraid.data import Corpus, Split, load_data
from unbraid.data.generated.digits import Config

SPLITS = ("train", "validation", "test")


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return load_data("toy-digits", {"train": 300, "validation": 50, "test": 100})


def test_splits_have_the_sizes_asked_for(corpus: Corpus) -> None:
    assert [len(corpus.split(name)) for name in SPLITS] == [300, 50, 100]
    assert corpus.train.x.shape == (300, 15, 1, 64, 64)
    assert corpus.train.x.dtype == np.uint8
    assert corpus.spec.size == 300


def test_one_seed_gives_one_result_and_another_seed_another() -> None:
    sizes = {"train": 6, "validation": 2, "test": 2}
    a, b, c = (load_data("toy-digits", sizes | {"seed": seed}) for seed in (1, 1, 2))
    assert np.array_equal(a.train.x, b.train.x)
    assert not np.array_equal(a.train.x, c.train.x)


def test_images_are_in_one_split_only() -> None:
    corpus = load_data("toy-digits", {"train": 2000, "validation": 500, "test": 800})
    used = [
        set(np.concatenate([split.label("first_image"), split.label("second_image")]).tolist())
        for split in map(corpus.split, SPLITS)
    ]
    assert sum(map(len, used)) == len(set.union(*used)) > 1500


def test_a_pair_is_the_first_digit_times_ten_plus_the_second(corpus: Corpus) -> None:
    first, second = corpus.train.label("first"), corpus.train.label("second")
    assert np.array_equal(corpus.train.label("pair"), 10 * first + second)


def test_pairs_are_balanced(corpus: Corpus) -> None:
    assert (np.bincount(corpus.train.label("pair")) == 3).all()
    assert (np.bincount(corpus.test.label("pair")) == 1).all()


def test_the_first_digit_is_brighter_than_the_second_can_be(corpus: Corpus) -> None:
    assert (corpus.train.x.max(axis=(2, 3, 4)) == 255).all()
    bright = corpus.train.x > 153
    dim = (corpus.train.x > 100) & ~bright
    assert (bright.sum(axis=(2, 3, 4)) > 20).all()
    assert (dim.sum(axis=(1, 2, 3, 4)) > 20).all()


def test_the_quadrant_is_that_of_the_bright_pixels(corpus: Corpus) -> None:
    bright = np.where(corpus.train.x[:, :, 0] > 153, 1.0, 0.0)
    weight = bright.sum(axis=(2, 3))
    y = (bright.sum(3) * np.arange(64)).sum(2) / weight
    x = (bright.sum(2) * np.arange(64)).sum(2) / weight
    quadrant = corpus.train.label("first_quadrant")
    assert quadrant.shape == (300, 15)
    clear = (abs(x - 31.5) > 4) & (abs(y - 31.5) > 4)  # a digit is not centred in its square
    assert clear.mean() > 0.3
    assert np.array_equal(quadrant[clear], (2 * (y > 32) + (x > 32))[clear])


def test_the_first_digit_of_new_images_can_be_recognised(corpus: Corpus) -> None:
    def cut(split: Split) -> np.ndarray:
        """The square around the bright pixels of the first frame."""
        bright = np.pad(
            np.maximum(split.x[:, 0, 0].astype(float) - 153, 0), ((0, 0), (0, 24), (0, 24))
        )
        top, left = (bright.any(axis).argmax(1) for axis in (2, 1))
        return np.stack(
            [v[i : i + 22, j : j + 18].ravel() for v, i, j in zip(bright, top, left, strict=True)]
        )

    judge = KNeighborsClassifier(1).fit(cut(corpus.train), corpus.train.label("first"))
    assert judge.score(cut(corpus.test), corpus.test.label("first")) > 0.8


@pytest.mark.parametrize("name", SPLITS)
def test_an_empty_split_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be at least 1, got -2"):
        Config(**{name: -2})


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(ValueError, match="seed must not be negative, got -1"):
        Config(seed=-1)
