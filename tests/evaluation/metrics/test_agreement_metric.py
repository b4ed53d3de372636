import numpy as np
import pytest
from scipy import stats

from unbraid.evaluation.metrics.agreement import ranks, regret, spearman


@pytest.mark.parametrize("ties", [False, True])
def test_rank_correlation_matches_scipy(ties: bool):
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 30))
    if ties:
        a, b = a.round(), b.round()
    assert spearman(a, b) == pytest.approx(stats.spearmanr(a, b).statistic)
    np.testing.assert_allclose(ranks(a), stats.rankdata(a))


def test_equal_numbers_have_no_rank_correlation():
    assert np.isnan(spearman(np.ones(4), np.arange(4.0)))


def test_the_best_choice_costs_nothing():
    assert regret(np.array([2.0, 1.0]), np.array([0.1, 0.9])) == 0.0
