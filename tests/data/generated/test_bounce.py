import hashlib

import numpy as np
import pytest

from unbraid.data import load_data
from unbraid.data.corpus import RowSource
from unbraid.data.generated.bounce import (
    FASTEST,
    Painted,
    Stage,
    deal_images,
    draw_pairs,
    draw_paths,
    draw_scenes,
    paint,
)

STAGE = Stage(digit=22, room=42)
# Frames of toy digits as they were before this module was cut out of theirs.
TOY = "5aad6e180ec8ac9fefe90d239cf4a8ffe0739e9aac3b02a5812e0e4f1e45ce35"


def _reference(painted: Painted, row: int) -> np.ndarray:
    """One sequence, pixel block by pixel block, in whole numbers."""
    x = np.zeros((15, 1, 64, 64), dtype=int)
    for which, light in enumerate(painted.brightness):
        digit = np.round(light * painted.pictures[painted.images[row, which]].astype(float))
        for step, (left, top) in enumerate(painted.paths[row, which].tolist()):
            x[step, 0, top : top + len(digit), left : left + len(digit)] += digit.astype(int)
    return np.minimum(x, 255)


@pytest.fixture(scope="module")
def painted() -> Painted:
    rng = np.random.default_rng(5)
    pictures = rng.integers(0, 256, (30, 20, 20)).astype(np.uint8)
    pool = [np.arange(digit, 30, 10) for digit in range(10)]
    scenes = draw_scenes(draw_pairs(40, rng), pool, Stage(digit=20, room=44), rng)
    return Painted(
        pictures=pictures, images=scenes.images, paths=scenes.paths, brightness=(1.0, 0.6)
    )


def test_toy_digits_are_the_same_as_before():
    corpus = load_data("toy-digits", {"train": 150, "validation": 2, "test": 3, "seed": 4})
    digest = hashlib.sha256(corpus.train.x.tobytes() + corpus.test.x.tobytes())
    digest.update(corpus.train.label("second_quadrant").tobytes())
    assert digest.hexdigest() == TOY


@pytest.mark.parametrize("rest", [False, True])
def test_digits_stay_inside_and_turn_at_random_only_at_walls(rest: bool):
    room = STAGE.room
    path = draw_paths(400, Stage(digit=22, room=room, rest=rest), np.random.default_rng(0))
    velocity = np.diff(path, axis=1)
    wall = ((path == 0) | (path == room)).any(axis=2)[:, 1:-1]
    turned = (velocity[:, 1:] != velocity[:, :-1]).any(axis=2)
    # the step onto a wall may be cut short: it starts one step before the wall is reached
    near = (
        wall | np.pad(wall, ((0, 0), (0, 1)))[:, 1:] | ((path == 0) | (path == room)).any(2)[:, 2:]
    )
    assert path.min() >= 0
    assert path.max() <= room
    assert abs(velocity).max() <= FASTEST
    assert turned[wall].mean() > 0.5
    assert not turned[~near].any()


def test_only_a_stage_with_rest_lets_digits_start_without_moving():
    def at_rest(rest: bool) -> float:
        path = draw_paths(900, Stage(digit=22, room=42, rest=rest), np.random.default_rng(1))
        inside = (path[:, 0] > FASTEST) & (path[:, 0] < 42 - FASTEST)
        return float((path[:, 1] == path[:, 0])[inside].mean())

    assert at_rest(False) == 0
    assert 0.08 < at_rest(True) < 0.14  # one of nine velocities


def test_overlapping_digits_are_combined_by_maximum():
    x = np.full((2, 15, 64, 64), 90, dtype=np.uint8)
    digits = np.zeros((2, 22, 22), dtype=np.uint8)
    digits[1, 3, 4] = 200
    paint(x, digits, np.full((2, 15, 2), (10, 20)))
    assert (x[0] == 90).all()
    assert (x[1, :, 23, 14] == 200).all()
    assert (x[1] == 90).sum() == 15 * (64 * 64 - 1)


def test_overlapping_digits_can_add_up_to_white():
    x = np.full((1, 15, 64, 64), 90, dtype=np.uint8)
    digits = np.zeros((1, 22, 22), dtype=np.uint8)
    digits[0, 0, :2] = 100, 200
    paint(x, digits, np.full((1, 15, 2), 42), add=True)
    assert x[0, 7, 42, 41:45].tolist() == [90, 190, 255, 90]


def test_all_images_are_dealt_once_by_their_shares():
    digits = np.random.default_rng(0).integers(10, size=1000)
    pools = deal_images(digits, {"train": 0.9, "validation": 0.1}, seed=3)
    assert [len(images) for images in pools["train"]] == [
        round(0.9 * count) for count in np.bincount(digits)
    ]
    for digit in range(10):
        assert (digits[pools["train"][digit]] == digit).all()
    both = np.concatenate([*pools["train"], *pools["validation"]])
    assert np.array_equal(np.sort(both), np.arange(1000))


def test_pairs_come_equally_often():
    pairs = draw_pairs(250, np.random.default_rng(0))
    assert set(np.bincount(pairs[:200])) == {2}
    assert np.bincount(pairs[200:]).max() == 1


def test_painted_sequences_equal_a_slow_reference(painted: Painted):
    for row in (0, 17, 39):
        assert np.array_equal(painted[row], _reference(painted, row))


def test_a_row_is_the_same_whatever_it_is_asked_with(painted: Painted):
    whole = np.asarray(painted)
    assert whole.shape == painted.shape == (40, 15, 1, 64, 64)
    assert np.array_equal(painted[np.array([7, 3, 7])], whole[[7, 3, 7]])
    assert np.array_equal(painted[5:9], whole[5:9])
    assert np.array_equal(painted[-1], whole[-1])
    assert painted[np.arange(0)].shape == (0, 15, 1, 64, 64)
    mask = np.arange(40) % 9 == 0
    assert np.array_equal(painted[mask], whole[mask])


def test_painted_sequences_look_like_an_array(painted: Painted):
    assert isinstance(painted, RowSource)
    assert (len(painted), painted.ndim, painted.dtype) == (40, 5, np.uint8)
    assert np.asarray(painted, dtype=np.float32).dtype == np.float32
    with pytest.raises(IndexError, match="indexed by rows alone"):
        painted[3, 4]
    with pytest.raises(IndexError, match="out of bounds"):
        painted[40]
