import math

import pytest
import torch
from torch import nn

from unbraid.runs.config import TrainingConfig
from unbraid.seeding import PURPOSES, seed_draws
from unbraid.training.module import (
    NonFiniteLossError,
    check_gradients,
    check_terms,
    learning_rate_factor,
    total,
)


def draw(seed: int, step: int) -> float:
    seed_draws(seed, "step", step)
    return torch.rand(()).item()


def test_a_constant_rate_is_constant():
    factor = learning_rate_factor(TrainingConfig(), 100)
    assert [factor(step) for step in (0, 50, 100, 1000)] == [1.0] * 4


def test_a_warm_up_rises_in_equal_steps_and_stays():
    factor = learning_rate_factor(TrainingConfig(warmup_steps=4), 100)
    assert [factor(step) for step in range(6)] == [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]


def test_a_cosine_falls_to_a_tenth_and_never_below():
    factor = learning_rate_factor(TrainingConfig(schedule="cosine"), 100)
    for step in (0, 25, 50, 75, 100):
        wanted = 0.1 + 0.9 * (1 + math.cos(math.pi * step / 100)) / 2
        assert factor(step) == pytest.approx(wanted)
    assert factor(1000) == pytest.approx(0.1)


def test_the_draws_of_a_step_depend_on_seed_and_step():
    assert draw(0, 5) == draw(0, 5)
    other = [(0, 5), (0, 6), (1, 5), (5, 0), (0, 0)]
    assert len({draw(*key) for key in other}) == len(other)


def test_every_purpose_has_draws_of_its_own():
    draws = set()
    for purpose in PURPOSES:
        seed_draws(0, purpose)
        draws.add(torch.rand(()).item())
    assert len(draws) == len(PURPOSES)


def test_the_loss_is_the_sum_of_weight_times_value():
    terms = {"a": (2.0, torch.tensor(3.0)), "b": (-0.5, torch.tensor(4.0))}
    assert total(terms).item() == 4.0


def test_a_cosine_ends_with_the_budget_in_minutes_if_that_comes_first():
    config = TrainingConfig(schedule="cosine", lr_end=0.02)
    spent = 0.5
    factor = learning_rate_factor(config, 1000, lambda: spent)
    assert factor(10) == pytest.approx(0.51)  # half the minutes are gone
    assert factor(900) < 0.06  # nearly all steps are
    spent = 1.0
    assert factor(10) == pytest.approx(0.02)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_term_that_is_not_finite_is_named_with_its_step(value: float):
    terms = {"reconstruction": (1.0, torch.tensor(2.0)), "kl_dynamic": (1.0, torch.tensor(value))}
    with pytest.raises(NonFiniteLossError) as error:
        check_terms(terms, 412)
    assert str(error.value) == "Loss is not finite at step 412: kl_dynamic."


def test_finite_terms_pass():
    check_terms({"a": (1.0, torch.tensor(1e30)), "b": (1.0, torch.tensor(-2.0))}, 0)


def test_every_term_that_is_not_finite_is_named():
    nan = torch.tensor(math.nan)
    with pytest.raises(NonFiniteLossError, match=r"step 3: a, c\."):
        check_terms({"a": (1.0, nan), "b": (1.0, torch.tensor(0.0)), "c": (1.0, nan)}, 3)


def test_a_gradient_that_is_not_finite_is_named_with_its_step():
    net = nn.Linear(2, 1)
    net(torch.ones(1, 2)).sum().backward()
    check_gradients(net, 5)
    net.bias.grad[0] = math.nan
    with pytest.raises(NonFiniteLossError, match=r"Gradient is not finite at step 5: bias\."):
        check_gradients(net, 5)
