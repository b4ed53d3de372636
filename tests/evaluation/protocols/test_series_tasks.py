"""Predictors on codes made by hand: what is in them is found, what is not is not."""

import numpy as np
import pytest

from unbraid.data.corpus import Split
from unbraid.evaluation.manipulate import Embedding
from unbraid.evaluation.predictors import Examples
from unbraid.evaluation.protocols.series_tasks import (
    TaskRow,
    code_examples,
    predict_target,
    raw_examples,
)
from unbraid.records import Factor, Spec

T = 5
ILL = Factor(name="ill", classes=2)
UNIT = Factor(name="unit", classes=3)
RAIN = Factor(name="rain", classes=0, per_step=True)
PREDICTORS = ("net", "linear", "boosted")


def _noise(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """s, d and mask of sequences of 2 to T steps, with rubbish behind their ends."""
    rng = np.random.default_rng(seed)
    s, d = rng.standard_normal((n, 3)), rng.standard_normal((n, T, 2))
    mask = np.arange(T) < rng.integers(2, T + 1, (n, 1))
    d[~mask] = 1e6
    return s.astype(np.float32), d.astype(np.float32), mask


def _told_by_s(n: int, seed: int, factor: Factor) -> Examples:
    s, d, mask = _noise(n, seed)
    target = np.random.default_rng(seed + 50).integers(factor.classes, size=n)
    s[:, 0] += 6 * target
    return Examples("codes", s, d, mask, target)


def _without_s(part: Examples) -> Examples:
    return Examples("d", part.s[:, :0], part.d, part.mask, part.target)


def _three(make, *args) -> list[Examples]:
    return [make(n, seed, *args) for n, seed in ((240, 0), (60, 1), (200, 2))]


def _scores(row: TaskRow) -> dict[str, float]:
    return {score.metric: score.mean for score in row.scores}


@pytest.mark.parametrize("predictor", PREDICTORS)
def test_a_class_that_is_in_s_is_found_from_s_and_not_from_noise(predictor):
    parts = _three(_told_by_s, ILL)
    scores = _scores(predict_target(parts, ILL, predictor=predictor, seeds=1))
    assert min(scores["accuracy"], scores["auroc"], scores["auprc"]) > 0.97
    blind = predict_target([_without_s(part) for part in parts], ILL, predictor=predictor, seeds=1)
    assert _scores(blind)["auroc"] == pytest.approx(0.5, abs=0.12)
    assert {s.metric: s.chance for s in blind.scores}["auroc"] == 0.5


def test_several_classes_are_scored_by_accuracy_over_seeds():
    row = predict_target(_three(_told_by_s, UNIT), UNIT, seeds=2)
    assert [score.metric for score in row.scores] == ["accuracy"]
    assert row.scores[0].mean > 0.9
    assert 0.3 < row.scores[0].chance < 0.45
    assert (row.seeds, row.examples, row.source) == (2, 200, "codes")


def test_the_net_reads_the_order_of_d():
    def rising(n: int, seed: int) -> Examples:
        s, d, mask = _noise(n, seed)
        target = np.random.default_rng(seed + 50).integers(2, size=n)
        way = np.arange(T) * (2 * target[:, None] - 1.0)
        d[..., 0] = np.where(mask, way, 1e6)
        return Examples("codes", s, d, mask, target)

    assert _scores(predict_target(_three(rising), ILL, seeds=1))["accuracy"] == 1.0


def _rain(n: int, seed: int) -> Examples:
    s, d, mask = _noise(n, seed)
    target = np.where(mask, 10 + 3 * d[..., 0] + s[:, :1], np.nan)
    return Examples("codes", s, d, mask, target)


@pytest.mark.parametrize("predictor", PREDICTORS)
def test_a_number_per_step_is_regressed_and_masked_steps_do_not_count(predictor):
    parts = _three(_rain)
    row = predict_target(parts, RAIN, predictor=predictor, seeds=1)
    assert row.examples == parts[2].mask.sum()
    assert row.scores[0].metric == "mae"
    assert row.scores[0].mean < 0.3 * row.scores[0].chance


def test_chance_of_a_number_is_the_error_of_the_training_median():
    empty = np.zeros((4, 1), np.float32)
    steps = np.zeros((4, 2, 1), np.float32), np.ones((4, 2), bool)
    train = Examples("codes", empty, *steps, np.array([0.0, 1.0, 3.0, 100.0]))
    test = Examples("codes", empty, *steps, np.array([2.0, 3.0, 6.0, np.nan]))
    row = predict_target([train, train, test], Factor(name="n", classes=0), predictor="linear")
    assert row.examples == 3
    assert row.scores[0].chance == pytest.approx((0 + 1 + 4) / 3)  # the median is 2
    # Codes that say nothing: ridge predicts the mean, 26.
    assert row.scores[0].mean == pytest.approx((24 + 23 + 20) / 3)


def test_one_seed_gives_one_result_and_leaves_other_draws_alone():
    import torch

    parts = [_told_by_s(40, seed, ILL) for seed in range(3)]
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    first = predict_target(parts, ILL, seeds=1)
    assert torch.equal(torch.rand(1), expected)
    assert first == predict_target(parts, ILL, seeds=1)


def _split(n: int = 60) -> Split:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((n, T, 2, 2)).astype(np.float32)
    ill = np.arange(n) % 2
    x[..., 0] += 4 * ill[:, None, None]
    spec = Spec(name="made", kind="series", frame=(2, 2), length=T, static=(ILL,), missing=True)
    return Split(
        spec=spec,
        x=x,
        rows=np.arange(n),
        labels={"ill": ill},
        observed=rng.random(x.shape) < 0.8,
        lengths=np.full(n, 4),
    )


def test_raw_values_are_a_reference_with_gaps_as_zeros_and_flags():
    split = _split()
    parts = [raw_examples(split.select(slice(k, k + 20)), ILL) for k in (0, 20, 40)]
    part = parts[0]
    assert part.d.shape == (20, T, 8)
    assert (part.d[..., :4][part.d[..., 4:] == 0] == 0).all()
    assert not part.mask[:, 4].any()
    assert _scores(predict_target(parts, ILL, predictor="linear"))["accuracy"] == 1.0
    bare = raw_examples(split.select(slice(0, 20)), ILL, flags=False)
    np.testing.assert_array_equal(bare.d, part.d[..., :4])


def test_few_examples_are_learned_in_many_small_batches():
    """Months on a circle, under a nuisance twice as large that s tells, too."""
    rng = np.random.default_rng(0)
    month, angle = Factor(name="month", classes=12), 2 * np.pi * np.arange(12) / 12
    circle = np.stack([np.cos(angle), np.sin(angle)], 1)

    def part(n: int) -> Examples:
        target, nuisance = np.arange(n) % 12, 2 * rng.normal(size=(n, 2))
        s = np.concatenate([circle[target] + nuisance, nuisance], 1).astype(np.float32)
        return Examples("s", s, np.zeros((n, 3, 0), np.float32), np.ones((n, 3), bool), target)

    parts = [part(n) for n in (360, 60, 120)]
    assert _scores(predict_target(parts, month, seeds=1))["accuracy"] >= 0.9


def test_a_code_can_be_used_alone():
    split = _split(6)
    codes = Embedding(*(array[:6] for array in _noise(6, 0)))
    assert code_examples(codes, split, ILL, use="s").d.shape == (6, T, 0)
    assert code_examples(codes, split, ILL, use="d").s.shape == (6, 0)
    assert code_examples(codes, split, ILL).source == "codes"


def test_a_target_nobody_knows_is_refused():
    part = _told_by_s(6, 0, ILL)
    unknown = Examples("codes", part.s, part.d, part.mask, np.full(6, -1))
    with pytest.raises(ValueError, match="'ill' must be known in every split"):
        predict_target([part, unknown, part], ILL)
