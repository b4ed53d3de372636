"""Rankings and errors against plain counts."""

import numpy as np
import pytest

from unbraid.evaluation.metrics.prediction import auprc, auroc, mae


def _reference_auroc(scores, true) -> float:
    """Share of (positive, negative) pairs in the right order; ties count half."""
    wins = [
        1.0 if p > n else 0.5 if p == n else 0.0
        for p in scores[true == 1]
        for n in scores[true == 0]
    ]
    return float(np.mean(wins))


def _reference_auprc(scores, true) -> float:
    """Mean over the positives of the precision at their own rank (no ties)."""
    ranked = true[np.argsort(-scores)]
    precision = ranked.cumsum() / np.arange(1, len(ranked) + 1)
    return float(precision[ranked == 1].mean())


@pytest.mark.parametrize("seed", range(3))
def test_rankings_match_plain_counts(seed):
    rng = np.random.default_rng(seed)
    true = np.arange(40) % 4 // 3
    scores = rng.standard_normal(40) + true
    assert auprc(scores, true) == pytest.approx(_reference_auprc(scores, true))
    coarse = scores.round(0)  # with ties
    assert auroc(coarse, true) == pytest.approx(_reference_auroc(coarse, true))


def test_equal_scores_rank_as_guessing_does():
    true = np.array([1, 0, 0, 0])
    assert auroc(np.zeros(4), true) == 0.5
    assert auprc(np.zeros(4), true) == 0.25


def test_mean_absolute_error_by_hand():
    assert mae(np.array([0.0, -1.0, 4.0]), np.array([3.0, -1.0, 1.0])) == 2.0


@pytest.mark.parametrize("metric", [auroc, auprc])
def test_one_class_alone_cannot_be_ranked(metric):
    with pytest.raises(ValueError, match="of class 0 and of class 1"):
        metric(np.array([0.1, 0.2]), np.array([1, 1]))
