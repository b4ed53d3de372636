"""Maps of codes keep neighbours together and rows in order."""

import numpy as np
import pytest

from unbraid.evaluation.protocols.embedding_map import tsne_points

RNG = np.random.default_rng(0)
WHO = np.arange(60) % 3


def _codes(width: int) -> np.ndarray:
    return 20 * np.eye(3, width)[WHO] + RNG.normal(size=(60, width))


@pytest.mark.parametrize("width", [3, 80])
def test_the_nearest_point_belongs_to_the_same_cluster(width):
    points = tsne_points(_codes(width))
    apart = np.linalg.norm(points[:, None] - points[None], axis=-1)
    np.fill_diagonal(apart, np.inf)
    assert points.shape == (60, 2)
    assert (WHO[apart.argmin(1)] == WHO).all()


def test_one_seed_gives_one_map():
    codes = _codes(4)
    np.testing.assert_array_equal(tsne_points(codes, seed=3), tsne_points(codes, seed=3))


def test_rows_beyond_the_limit_have_no_place():
    points = tsne_points(_codes(4), limit=20)
    there = np.isfinite(points).all(1)
    assert there.sum() == 20
    assert np.isnan(points[~there]).all()


def test_collapsed_codes_lie_on_one_point():
    assert (tsne_points(np.full((10, 4), 0.3)) == 0).all()


def test_codes_of_one_unit_and_very_few_codes_can_be_placed():
    assert np.isfinite(tsne_points(np.arange(8.0)[:, None])).all()
    assert np.isfinite(tsne_points(RNG.normal(size=(3, 60)))).all()
    with pytest.raises(ValueError, match="three codes at least, got 2"):
        tsne_points(np.ones((2, 4)))
