"""Scores of generated sequences against numbers worked out by hand."""

import math

import numpy as np
import pytest

from unbraid.evaluation.metrics.generation import (
    balanced,
    bootstrap_interval,
    entropy,
    inception_score,
    inter_entropy,
    intra_entropy,
)


def _reference_inception_score(p: np.ndarray) -> float:
    marginal = p.mean(0)
    kls = [sum(a * math.log(a / b) for a, b in zip(row, marginal, strict=True)) for row in p]
    return math.exp(sum(kls) / len(kls))


def test_perfect_predictions_of_nine_balanced_classes_reach_the_papers_optimum():
    p = np.eye(9, dtype=np.float32)[np.arange(90) % 9]
    assert inception_score(p) == pytest.approx(9.0)
    assert intra_entropy(p) == 0.0
    assert inter_entropy(p) == pytest.approx(2.197, abs=5e-4)


def test_uniform_predictions_score_one_and_log_k():
    p = np.full((12, 6), 1 / 6)
    assert inception_score(p) == pytest.approx(1.0)
    assert intra_entropy(p) == pytest.approx(math.log(6))
    assert inter_entropy(p) == pytest.approx(math.log(6))


def test_always_the_same_class_is_sure_but_not_varied():
    p = np.eye(4)[np.zeros(10, dtype=int)]
    assert (inception_score(p), intra_entropy(p), inter_entropy(p)) == (1.0, 0.0, 0.0)


def test_two_by_two_matches_the_numbers_worked_out_by_hand():
    p = np.array([[0.9, 0.1], [0.3, 0.7]])
    # H(.9, .1) = 0.325083, H(.3, .7) = 0.610864; the mean row is (.6, .4), H = 0.673012
    assert intra_entropy(p) == pytest.approx(0.467974, abs=1e-6)
    assert inter_entropy(p) == pytest.approx(0.673012, abs=1e-6)
    assert inception_score(p) == pytest.approx(math.exp(0.205038), abs=1e-5)


def test_inception_score_is_the_mean_divergence_from_the_marginal():
    p = np.random.default_rng(0).dirichlet(np.ones(5), size=40)
    assert inception_score(p) == pytest.approx(_reference_inception_score(p))


def test_balancing_cuts_every_class_to_the_smallest():
    labels = np.repeat([3, 1, 7], [10, 4, 6])
    rows = balanced(labels, seed=0)
    assert np.unique(labels[rows], return_counts=True)[1].tolist() == [4, 4, 4]
    assert len(np.unique(rows)) == 12
    assert np.array_equal(rows, balanced(labels, seed=0))
    assert not np.array_equal(rows, balanced(labels, seed=1))


def test_the_bootstrap_interval_is_that_of_the_normal_approximation():
    values = (np.arange(1000) < 800).astype(float)
    low, high = bootstrap_interval(values, seed=0)
    half = 1.96 * math.sqrt(0.8 * 0.2 / 1000)
    assert low == pytest.approx(0.8 - half, abs=0.004)
    assert high == pytest.approx(0.8 + half, abs=0.004)


def test_a_lower_level_gives_a_narrower_interval():
    values = np.random.default_rng(0).normal(size=200)
    wide, narrow = (bootstrap_interval(values, seed=0, level=x) for x in (0.95, 0.5))
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_drawing_inside_groups_keeps_classes_balanced():
    p, labels = np.repeat(np.eye(3), 20, axis=0), np.repeat(np.arange(3), 20)
    inside = bootstrap_interval(p, seed=0, of=entropy, groups=labels)
    assert inside == pytest.approx((math.log(3), math.log(3)))
    assert bootstrap_interval(p, seed=0, of=entropy)[0] < math.log(3) - 0.01
