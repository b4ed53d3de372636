import numpy as np
import pytest

from unbraid.evaluation.metrics.agreement import regret, spearman


def _reference_rank(value: float, values: list[float]) -> float:
    """One more than how many are smaller, and half a rank for every other that is equal."""
    return 1 + sum(v < value for v in values) + (sum(v == value for v in values) - 1) / 2


@pytest.mark.parametrize("ties", [False, True])
def test_rank_correlation_is_the_correlation_of_mean_ranks(ties: bool):
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 30))
    if ties:
        a, b = a.round(), b.round()
    ranks = [[_reference_rank(v, list(values)) for v in values] for values in (a, b)]
    assert spearman(a, b) == pytest.approx(np.corrcoef(ranks)[0, 1])


def test_equal_numbers_have_no_rank_correlation():
    assert np.isnan(spearman(np.ones(4), np.arange(4.0)))


def test_the_best_choice_costs_nothing():
    assert regret(np.array([2.0, 1.0]), np.array([0.1, 0.9])) == 0.0
