"""The true sequence stands over the draws."""

import numpy as np
import pytest

from unbraid.figures.sequences.fixed import fixed_grid
from unbraid.figures.sequences.frames import frame_grid
from unbraid.shapes import ShapeError

RNG = np.random.default_rng(0)
TRUE, DRAWN = RNG.random((4, 3, 8, 8)), RNG.random((2, 4, 3, 8, 8))


@pytest.mark.parametrize(("code", "other"), [("static", "d"), ("dynamic", "s")])
def test_rows_are_the_truth_and_then_every_draw_of_the_other_code(code, other):
    rows = [("true", TRUE), (f"{other} drawn 1", DRAWN[0]), (f"{other} drawn 2", DRAWN[1])]
    np.testing.assert_array_equal(fixed_grid(TRUE, DRAWN, fixed=code), frame_grid(rows))


def test_draws_may_be_longer_than_the_truth():
    long = RNG.random((2, 6, 3, 8, 8))
    assert (
        fixed_grid(TRUE, long, fixed="static").shape[1]
        > fixed_grid(TRUE, DRAWN, fixed="static").shape[1]
    )


def test_one_draw_without_its_own_axis_is_refused():
    with pytest.raises(ShapeError, match=r"drawn must have axes \(R, T, C, H, W\)"):
        fixed_grid(TRUE, DRAWN[0], fixed="static")
