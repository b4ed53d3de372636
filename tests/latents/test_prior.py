import pytest
import torch

from unbraid.latents.recurrent import DynamicPrior
from unbraid.records import Gaussian

EVERY = torch.ones(6, 5, dtype=torch.bool)


@pytest.mark.parametrize("layers", [1, 2])
def test_teacher_forcing_equals_stepping_by_hand(layers: int):
    prior, d = DynamicPrior(3, 4, layers), torch.randn(6, 5, 3)
    p = prior(d, EVERY)
    state, earlier = None, torch.zeros(6, 1, 3)
    for t in range(5):
        out, state = prior.lstm(earlier, state)
        step = prior.head(out[:, 0])
        torch.testing.assert_close(p.mean[:, t], step.mean)
        torch.testing.assert_close(p.log_var[:, t], step.log_var)
        earlier = d[:, t : t + 1]


@pytest.mark.parametrize("t", range(5))
def test_the_prior_at_a_step_sees_earlier_steps_only(t: int):
    prior, d = DynamicPrior(3, 4, 1), torch.randn(6, 5, 3)
    other = d.clone()
    other[:, t:] += 1.0
    p, q = prior(d, EVERY), prior(other, EVERY)
    torch.testing.assert_close(p.mean[:, : t + 1], q.mean[:, : t + 1], rtol=0, atol=0)
    assert t == 4 or not torch.equal(p.mean[:, t + 1 :], q.mean[:, t + 1 :])


@pytest.mark.parametrize("length", [1, 7])
@pytest.mark.parametrize("means", [True, False])
def test_a_rollout_has_one_code_per_step(length: int, means: bool):
    assert DynamicPrior(3, 4, 2).rollout(6, length, means=means).shape == (6, length, 3)


def test_a_rollout_is_a_chain_of_draws_from_the_prior(monkeypatch: pytest.MonkeyPatch):
    prior = DynamicPrior(3, 4, 1)
    monkeypatch.setattr(Gaussian, "sample", lambda self: self.mean + 1.0)
    d = prior.rollout(6, 5)
    torch.testing.assert_close(d, prior(d, EVERY).mean + 1.0)
    torch.testing.assert_close(prior.rollout(6, 5, means=True), d - 1.0)


def test_the_means_of_a_rollout_follow_the_drawn_path():
    prior = DynamicPrior(3, 4, 1)
    torch.manual_seed(0)
    drawn = prior.rollout(6, 5)
    torch.manual_seed(0)
    torch.testing.assert_close(prior.rollout(6, 5, means=True), prior(drawn, EVERY).mean)
