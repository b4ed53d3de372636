"""Equal error rates against a plain search over thresholds."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unbraid.evaluation.metrics.verification import det_curve, equal_error_rate


def _reference_rates(scores, same, threshold: float) -> tuple[float, float]:
    accepted = [score >= threshold for score in scores]
    wrong_in = sum(a and not s for a, s in zip(accepted, same, strict=True))
    wrong_out = sum(s and not a for a, s in zip(accepted, same, strict=True))
    return wrong_in / sum(not s for s in same), wrong_out / sum(same)


def _reference_equal_error_rate(scores, same) -> float:
    """Walk over the thresholds; bisect on the straight line between the two that cross."""
    points = [_reference_rates(scores, same, t) for t in [*sorted(set(scores)), np.inf]]
    for (a0, r0), (a1, r1) in pairwise(points):
        if a0 >= r0 and a1 <= r1:
            low, high = 0.0, 1.0
            for _ in range(60):
                middle = (low + high) / 2
                ahead = a0 + middle * (a1 - a0) >= r0 + middle * (r1 - r0)
                low, high = (middle, high) if ahead else (low, middle)
            return a0 + low * (a1 - a0)
    raise AssertionError("the rates never cross")


@given(
    st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=2, max_size=40).filter(
        lambda pairs: len({same for _, same in pairs}) == 2
    )
)
def test_equal_error_rate_matches_a_brute_force_search(pairs):
    scores = [float(score) for score, _ in pairs]  # few values: many ties
    same = [kind for _, kind in pairs]
    rate = equal_error_rate(np.array(scores), np.array(same))
    assert rate == pytest.approx(_reference_equal_error_rate(scores, same), abs=1e-9)


def test_equal_error_rate_of_many_random_scores_matches_the_search():
    rng = np.random.default_rng(0)
    same = rng.random(300) < 0.1
    scores = rng.standard_normal(300) + same
    rate = equal_error_rate(scores, same)
    assert rate == pytest.approx(_reference_equal_error_rate(scores.tolist(), same.tolist()))
    assert 0.2 < rate < 0.45  # two unit Gaussians one apart: 0.31


def test_the_curve_is_the_rates_at_every_threshold():
    scores, same = [0.1, 0.5, 0.5, 0.9], [False, True, False, True]
    thresholds, accept, reject = det_curve(np.array(scores), np.array(same))
    assert thresholds.tolist() == [0.1, 0.5, 0.9, np.inf]
    rates = [_reference_rates(scores, same, t) for t in thresholds]
    assert list(zip(accept.tolist(), reject.tolist(), strict=True)) == rates


def test_perfect_separation_is_0_and_inverted_is_1():
    scores, same = np.array([0.0, 1.0, 2.0, 3.0]), np.array([False, False, True, True])
    assert equal_error_rate(scores, same) == 0.0
    assert equal_error_rate(-scores, same) == 1.0


def test_equal_scores_are_worth_nothing():
    assert equal_error_rate(np.ones(7), np.arange(7) < 2) == 0.5


def test_the_rate_depends_on_order_alone():
    rng = np.random.default_rng(1)
    same, scores = rng.random(80) < 0.3, rng.standard_normal(80)
    assert equal_error_rate(scores, same) == equal_error_rate(np.exp(3 * scores), same)


@pytest.mark.parametrize(
    ("scores", "same", "sentence"),
    [
        ([0.1, 0.2], [True, True], "got only same"),
        ([0.1, 0.2], [False, False], "got only different"),
        ([], [], "got none"),
        ([0.1], [True, False], "of one length, got 1 and 2"),
        ([np.nan, 0.2], [True, False], "1 of 2 scores are NaN"),
    ],
)
def test_what_has_no_rate_is_refused_in_words(scores, same, sentence):
    with pytest.raises(ValueError, match=sentence):
        equal_error_rate(np.array(scores), np.array(same, dtype=bool))
