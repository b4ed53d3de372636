import math

import pytest
import torch
from torch import nn

from tests.conformance.toys import KINDS, total, toy_batch, toy_method
from unbraid.objectives.adversarial import critic_loss, frozen, generator_loss
from unbraid.objectives.mmd import mmd
from unbraid.runs.config import TrainingConfig
from unbraid.training.module import make_optimizer, parameter_groups

GAN = {"static_penalty": "gan", "dynamic_penalty": "gan"}


def test_the_discrepancy_of_two_points_is_seven():
    """q = {0, 0}, p = {√2, √2}, one dimension: Σ_c 2 / (c + 1) = 7 over the seven scales."""
    q, p = torch.zeros(2, 1), torch.full((2, 1), math.sqrt(2))
    assert mmd(q, p, torch.ones(2, dtype=torch.bool)).item() == pytest.approx(7.0)


def test_the_discrepancy_of_equal_distributions_is_about_zero_and_ignores_what_is_not_valid():
    torch.manual_seed(0)
    q, p = torch.randn(2, 400, 3), torch.randn(2, 400, 3)
    q[1] += 1.0
    valid = torch.ones(2, 400, dtype=torch.bool)
    same, other = mmd(q, p, valid).tolist()
    assert abs(same) < 0.05 < 0.2 < other
    q[:, 300:], valid[:, 300:] = 1e3, False
    part = mmd(q[:, :300], p[:, :300], valid[:, :300])
    torch.testing.assert_close(mmd(q, p, valid), part)
    assert mmd(q, p, torch.zeros_like(valid)).tolist() == [0.0, 0.0]


def test_the_posterior_that_is_told_is_the_one_that_is_trained():
    method = toy_method("rwae", "audio")
    with torch.no_grad():
        for name, parameter in method.posterior.named_parameters():
            if name.endswith("bias") and "head" in name:
                parameter.fill_(-20.0)
    _, q = method.infer(toy_batch("audio"))
    for part in (q.s, q.d):
        assert part.log_var.min().item() == pytest.approx(method.config.smallest_log_var)


def test_logits_of_zero_cost_one_bit_each():
    zeros = torch.zeros(4, 3)
    assert critic_loss(zeros, zeros).item() == pytest.approx(2 * math.log(2))
    assert generator_loss(zeros).item() == pytest.approx(math.log(2))


def test_a_frozen_critic_lets_gradients_through_and_takes_none():
    critic, x = nn.Linear(2, 1), torch.ones(3, 2, requires_grad=True)
    frozen(critic)(x).sum().backward()
    assert x.grad.abs().max() > 0
    assert critic.weight.grad is None


def test_each_row_moves_its_own_player_only():
    method = toy_method("rwae", "audio", **GAN)
    terms, (own, critics) = method.loss(toy_batch("audio"), 0), parameter_groups(method)
    assert len(critics) == 20
    rows = [name for name in terms if name.startswith("critic_")]
    assert rows == ["critic_static", "critic_dynamic"]
    for name, (_, value) in terms.items():
        method.zero_grad()
        value.backward(retain_graph=True)
        still, moved = (own, critics) if name in rows else (critics, own)
        assert all(p.grad is None or not p.grad.any() for p in still), name
        assert any(p.grad is not None and p.grad.any() for p in moved), name


@pytest.mark.parametrize("kind", KINDS)
def test_critics_train_every_parameter(kind):
    method = toy_method("rwae", kind, **GAN)
    total(method.loss(toy_batch(kind), 0)).backward()
    for name, parameter in method.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().max() > 0, name


@pytest.mark.parametrize("optimizer", ["adam", "muon"])
def test_critics_have_a_rate_of_their_own_and_never_take_orthogonal_steps(optimizer):
    config = TrainingConfig(optimizer=optimizer, lr=1e-3, critic_lr=5e-4, beta1=0.5)
    own, critics = parameter_groups(toy_method("rwae", "audio", **GAN))
    group = make_optimizer(own, critics, config).param_groups[-1]
    assert group["lr"] == 5e-4
    assert {id(p) for p in group["params"]} == {id(p) for p in critics}
    assert not group.get("matrices", False)


def test_variances_are_bounded_below():
    method, batch = toy_method("rwae", "audio", smallest_log_var=-2.0), toy_batch("audio")
    with torch.no_grad():
        method.posterior.static_head.linear.weight.zero_()
        method.posterior.static_head.linear.bias.fill_(-50.0)
    q = method._bounded(method.infer(batch)[1].s)
    assert q.log_var.min() == -2.0
