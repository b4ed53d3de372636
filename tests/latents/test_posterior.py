from collections.abc import Callable
from functools import partial

import pytest
import torch

from unbraid.latents.recurrent import (
    FactorisedPosterior,
    FullPosterior,
    PooledPosterior,
    SequencePosterior,
)
from unbraid.methods.dsvae import DSVAE, DSVAEConfig
from unbraid.records import Spec

LENGTHS = (5, 3, 2, 4)
MASK = torch.arange(5) < torch.tensor(LENGTHS)[:, None]
EVERY = torch.ones(4, 5, dtype=torch.bool)
CentredPosterior = partial(PooledPosterior, centred=True)
POSTERIORS = [
    SequencePosterior,
    FullPosterior,
    FactorisedPosterior,
    PooledPosterior,
    CentredPosterior,
]


@pytest.mark.parametrize("cls", POSTERIORS)
def test_padding_changes_neither_posterior(cls: Callable[..., torch.nn.Module]):
    posterior, h = cls(3, 6, 2, 4), torch.randn(4, 5, 3)
    q = posterior(h, MASK)
    for i, length in enumerate(LENGTHS):
        alone = posterior(h[i : i + 1, :length], EVERY[:1, :length])
        torch.testing.assert_close(alone.s.mean[0], q.s.mean[i])
        torch.testing.assert_close(alone.s.log_var[0], q.s.log_var[i])
        torch.testing.assert_close(alone.d.mean[0], q.d.mean[i, :length])
        torch.testing.assert_close(alone.d.log_var[0], q.d.log_var[i, :length])


@pytest.mark.parametrize("cls", [SequencePosterior, PooledPosterior])
def test_the_static_posterior_alone_is_the_same(cls: type):
    posterior, h = cls(3, 6, 2, 4), torch.randn(4, 5, 3)
    assert torch.equal(posterior.static(h, MASK).mean, posterior(h, MASK).s.mean)


def test_a_factorised_step_depends_on_its_own_features_only():
    posterior, h = FactorisedPosterior(3, 6, 2, 4), torch.randn(4, 5, 3)
    other = h.clone()
    other[:, 2] += 1.0
    q, r = posterior(h, EVERY).d, posterior(other, EVERY).d
    others = [0, 1, 3, 4]
    assert torch.equal(q.mean[:, others], r.mean[:, others])
    assert not torch.equal(q.mean[:, 2], r.mean[:, 2])


@pytest.mark.parametrize("cls", [SequencePosterior, FullPosterior])
def test_a_step_depends_on_the_whole_sequence(cls: type):
    posterior, h = cls(3, 6, 2, 4), torch.randn(4, 5, 3)
    for t in (0, 4):
        other = h.clone()
        other[:, t] += 1.0
        q, r = posterior(h, EVERY).d.mean, posterior(other, EVERY).d.mean
        assert ((q - r).abs().amax((0, 2)) > 0).all()


def test_the_full_posterior_reads_s_into_d():
    posterior, h = FullPosterior(3, 6, 2, 4), torch.randn(4, 5, 3)
    before = posterior(h, EVERY).d.mean
    with torch.no_grad():
        posterior.static_head.linear.bias[:6] += 1.0
    assert not torch.equal(posterior(h, EVERY).d.mean, before)


def test_a_pooled_static_code_does_not_depend_on_the_order_of_steps():
    posterior, h = PooledPosterior(3, 6, 2, 4), torch.randn(4, 5, 3)
    order = torch.tensor([3, 0, 4, 1, 2])
    torch.testing.assert_close(posterior(h[:, order], EVERY).s.mean, posterior(h, EVERY).s.mean)


def test_a_centred_d_does_not_depend_on_what_is_the_same_at_every_step():
    h, shift = torch.randn(4, 5, 3), torch.randn(4, 1, 3)
    centred = CentredPosterior(3, 6, 2, 4)
    torch.testing.assert_close(centred(h + shift, MASK).d.mean[MASK], centred(h, MASK).d.mean[MASK])
    assert not torch.allclose(centred(h + shift, MASK).s.mean, centred(h, MASK).s.mean)
    pooled = PooledPosterior(3, 6, 2, 4)
    assert not torch.allclose(pooled(h + shift, EVERY).d.mean, pooled(h, EVERY).d.mean)


def test_with_static_steps_training_reads_s_from_so_many_steps_and_encoding_from_all():
    torch.manual_seed(0)
    posterior = PooledPosterior(4, 3, 2, 8, static_steps=1)
    h, mask = torch.randn(1, 5, 4), torch.ones(1, 5, dtype=torch.bool)
    posterior.eval()
    every = posterior.static(h, mask).mean
    single = torch.cat([posterior.static(h[:, [t]], mask[:, [t]]).mean for t in range(5)])
    assert torch.allclose(every, single.mean(0, keepdim=True), atol=1e-6)  # the head is linear
    posterior.train()
    drawn = torch.cat([posterior.static(h, mask).mean for _ in range(40)])
    nearest = torch.cdist(drawn, single).min(1)
    assert nearest.values.max() < 1e-3
    assert set(nearest.indices.tolist()) == set(range(5))


@pytest.mark.parametrize(("pieces", "centred"), [(False, True), (True, False)])
def test_auto_takes_the_mean_out_of_d_unless_sequences_are_pieces(pieces: bool, centred: bool):
    spec = Spec(name="t", kind="series", frame=(3, 2), length=4, pieces=pieces)
    assert DSVAE(spec, DSVAEConfig(posterior="auto")).posterior.centred == centred
    assert not DSVAE(spec, DSVAEConfig(posterior="pooled")).posterior.centred
    assert DSVAE(spec, DSVAEConfig(posterior="centred")).posterior.centred
