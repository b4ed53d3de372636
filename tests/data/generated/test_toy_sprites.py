import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from unbraid.data import Corpus, Split, load_data
from unbraid.data.generated.sprites import MOTIONS, VALUES, Config, render, values_of

SPLITS = ("train", "validation", "test")
STARTS = 2  # sequences that start in the phases 0 and 1 pass through all sixteen


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return load_data("toy-sprites", {"train": 600, "validation": 20, "test": 160})


def small(split: Split) -> NDArray[np.float64]:
    """Grey, a quarter of the size: (N, T, 16, 16)."""
    n, t = split.x.shape[:2]
    return split.x.reshape(n, t, 3, 16, 4, 16, 4).mean(axis=(2, 4, 6)) / 255


def motion_accuracy(corpus: Corpus, steps: slice) -> float:
    def features(split: Split) -> NDArray[np.float64]:
        frames = small(split)
        moved = np.diff(frames[:, steps], axis=1)
        return np.concatenate(
            [part.reshape(len(frames), -1) for part in (frames[:, steps], moved)], 1
        )

    judge = KNeighborsClassifier(3).fit(features(corpus.train), corpus.train.label("motion"))
    return float(judge.score(features(corpus.test), corpus.test.label("motion")))


def test_splits_have_the_sizes_asked_for(corpus: Corpus) -> None:
    assert [len(corpus.split(name)) for name in SPLITS] == [600, 20, 160]
    assert corpus.train.x.shape == (600, 8, 3, 64, 64)
    assert corpus.train.x.dtype == np.uint8
    assert corpus.spec.size == 600


def test_one_seed_gives_one_result_and_another_seed_another() -> None:
    sizes = {"train": 6, "validation": 2, "test": 2}
    a, b, c = (load_data("toy-sprites", sizes | {"seed": seed}) for seed in (1, 1, 2))
    assert np.array_equal(a.train.x, b.train.x)
    assert not np.array_equal(a.train.x, c.train.x)


def test_the_test_split_does_not_depend_on_the_size_of_training() -> None:
    a, b = (
        load_data("toy-sprites", {"train": n, "validation": 2, "test": 9}).test for n in (5, 11)
    )
    assert np.array_equal(a.x, b.x)


def test_characters_are_in_one_split_only() -> None:
    corpus = load_data("toy-sprites", {"train": 1500, "validation": 250, "test": 450, "seed": 3})
    characters = [set(corpus.split(name).label("character").tolist()) for name in SPLITS]
    assert [len(part) for part in characters] == [1400, 200, 400]
    assert len(set.union(*characters)) == 2000


@pytest.mark.parametrize("seed", range(3))
def test_every_value_and_motion_is_in_every_split(seed: int) -> None:
    corpus = load_data("toy-sprites", {"train": 8, "validation": 8, "test": 8, "seed": seed})
    for name in SPLITS:
        for factor in (*corpus.spec.static, *corpus.spec.dynamic):
            assert len(set(corpus.split(name).label(factor.name))) == factor.classes


def test_labels_belong_to_the_character(corpus: Corpus) -> None:
    for name, values in values_of(corpus.test.label("character")).items():
        assert np.array_equal(values, corpus.test.label(name))


@pytest.mark.parametrize("name", list(VALUES))
def test_another_value_of_a_static_factor_shows_in_every_frame(name: str) -> None:
    count = len(MOTIONS) * STARTS
    labels = {k: np.zeros(count, dtype=np.int64) for k in VALUES}
    labels["motion"], phase = np.divmod(np.arange(count), STARTS)
    pictures = [
        render(labels | {name: np.full(count, value)}, phase).astype(int)
        for value in range(len(VALUES[name]))
    ]
    for i, a in enumerate(pictures):
        for b in pictures[:i]:
            seen = (abs(a - b).max(axis=2) > 24).sum(axis=(2, 3))  # pixels, (N, T)
            assert seen.min() >= 15


@pytest.mark.parametrize("name", list(VALUES))
def test_static_factors_can_be_read_off_one_frame_of_new_characters(
    corpus: Corpus, name: str
) -> None:
    def features(split: Split) -> NDArray[np.float64]:
        frame = split.x[:, 0].reshape(-1, 3, 16, 4, 16, 4).mean(axis=(3, 5))
        return frame.reshape(len(split), -1) / 255

    judge = LogisticRegression(C=10.0, max_iter=500)
    judge.fit(features(corpus.train), corpus.train.label(name))
    assert judge.score(features(corpus.test), corpus.test.label(name)) > 0.8


def test_motions_of_new_characters_are_told_by_the_sequence_but_not_by_one_frame(
    corpus: Corpus,
) -> None:
    whole, first = motion_accuracy(corpus, slice(None)), motion_accuracy(corpus, slice(1))
    assert whole > 0.9
    assert first < whole - 0.15


def test_turns_have_the_same_frames_in_opposite_order() -> None:
    labels = values_of(np.array([123, 123]))
    turns = np.array([list(MOTIONS).index(f"turn {side}") for side in ("left", "right")])
    left, right = render(labels | {"motion": turns}, np.array([0, 2]))
    assert np.array_equal(left, right[::-1])


def test_a_motion_is_a_cycle_of_eight_frames() -> None:
    labels = values_of(np.full(2, 55)) | {"motion": np.full(2, 4)}
    early, late = render(labels, np.array([0, 2]))
    assert np.array_equal(early[1:], late[:-1])
    assert np.array_equal(early[0], late[-1])


def test_no_character_leaves_the_picture() -> None:
    count = len(VALUES["style"]) * len(MOTIONS) * STARTS
    rest, phase = np.divmod(np.arange(count), STARTS)
    style, motion = np.divmod(rest, len(MOTIONS))
    x = render(
        values_of(np.zeros(count, dtype=np.int64)) | {"style": style, "motion": motion}, phase
    )
    for edge in (x[..., 0, :], x[..., -1, :], x[..., :, 0], x[..., :, -1]):
        assert (edge == x[0, 0, :, 0, 0][:, None]).all()


@pytest.mark.parametrize("name", SPLITS)
def test_an_empty_split_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be at least 1, got 0"):
        Config(**{name: 0})


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(ValueError, match="seed must not be negative, got -1"):
        Config(seed=-1)
