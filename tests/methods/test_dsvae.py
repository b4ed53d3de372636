import pytest
import torch

from tests.conformance.toys import KINDS, total, toy_batch, toy_method
from unbraid.latents.recurrent import (
    FactorisedPosterior,
    FullPosterior,
    PooledPosterior,
    SequencePosterior,
)
from unbraid.objectives.elbo import kl, kl_standard, reconstruction_error

POSTERIORS = {
    "sequence": SequencePosterior,
    "full": FullPosterior,
    "factorised": FactorisedPosterior,
    "pooled": PooledPosterior,
    "centred": PooledPosterior,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("posterior", POSTERIORS)
def test_each_posterior_trains_every_parameter(posterior: str, kind: str):
    method = toy_method("dsvae", kind, posterior=posterior)
    assert type(method.posterior) is POSTERIORS[posterior]
    total(method.loss(toy_batch(kind), 0)).backward()
    for name, parameter in method.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().max() > 0, name


@pytest.mark.parametrize("kind", KINDS)
def test_a_factorised_d_depends_on_its_own_element_only(kind: str):
    method = toy_method("dsvae", kind, posterior="factorised").eval()
    batch = toy_batch(kind, ragged=False)
    other = batch.with_x(batch.x.clone())
    other.x[:, 2] += 0.5
    a, b = method.encode(batch), method.encode(other)
    others = [0, 1, 3, 4]
    torch.testing.assert_close(a.d[:, others], b.d[:, others], rtol=0, atol=1e-6)
    assert (a.d[:, 2] - b.d[:, 2]).abs().max() > 1e-4
    assert not torch.equal(a.s, b.s)


def test_the_loss_is_the_negative_evidence_bound():
    method, batch = toy_method("dsvae", "series").eval(), toy_batch("series", ragged=False)
    q = method.infer(batch)[1]
    torch.manual_seed(0)
    z = q.sample()
    error = reconstruction_error(method.decoder(z, batch.mask), batch)
    prior = method.prior(z.d, batch.mask)
    bound = -(error.sum(1) + kl_standard(q.s) + kl(q.d, prior).sum(1)).mean()
    torch.manual_seed(0)
    torch.testing.assert_close(total(method.loss(batch, 0)), -bound)


def test_weights_multiply_their_rows():
    method = toy_method("dsvae", "audio", w_reconstruction=2.0, w_kl_static=3.0, w_kl_dynamic=4.0)
    terms = method.loss(toy_batch("audio"), 0)
    assert [weight for weight, _ in terms.values()] == [2.0, 3.0, 4.0]


def test_the_kl_of_d_gets_dear_over_the_warm_up():
    batch = toy_batch("series")
    plain = toy_method("dsvae", "series", w_kl_dynamic=2.0)
    warm = toy_method("dsvae", "series", w_kl_dynamic=2.0, kl_warmup_steps=100)
    assert plain.loss(batch, 0)["kl_dynamic"][0] == 2.0
    weights = [warm.loss(batch, step)["kl_dynamic"][0] for step in (0, 50, 100, 1000)]
    assert weights == pytest.approx([0.4, 1.2, 2.0, 2.0])
    assert warm.loss(batch, 0)["kl_static"][0] == plain.loss(batch, 0)["kl_static"][0]
