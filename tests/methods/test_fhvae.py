import math

import pytest
import torch

from tests.conformance.toys import toy_batch, toy_method
from unbraid.latents.hierarchical import HierarchicalPosterior
from unbraid.methods.baselines.fhvae import FHVAEConfig, discriminative
from unbraid.records import Gaussian


def test_the_centre_of_one_and_three_is_drawn_towards_zero():
    """Σ E z2 / (n + 0.5²) = 4 / 2.25 = 1.7778; a padded step does not count."""
    posterior = HierarchicalPosterior(3, 1, 1, 4, spread=0.5)
    q = Gaussian(torch.tensor([[[1.0], [3.0], [50.0]]]), torch.zeros(1, 3, 1))
    s = posterior.center(q, torch.tensor([[True, True, False]]))
    assert s.mean.item() == pytest.approx(4 / 2.25)
    assert s.log_var.exp().item() == pytest.approx(2 / 2.25**2)


def test_a_step_at_its_own_centre_is_named_almost_surely():
    """s = ±1, both steps at 1: ln(1 + e⁻⁸) for the first sequence, 8 more for the second."""
    z, s = torch.ones(2, 1, 1), torch.tensor([[1.0], [-1.0]])
    near = math.log1p(math.exp(-8))
    assert near == pytest.approx(3.35e-4, rel=1e-2)
    term = discriminative(z, s, torch.ones(2, 1, dtype=torch.bool), variance=0.25)
    assert term.item() == pytest.approx((near + near + 8) / 2)
    alone = discriminative(z, s, torch.tensor([[True], [False]]), variance=0.25)
    assert alone.item() == pytest.approx(near / 2, rel=1e-3)


def test_training_separates_the_centres_of_sequences():
    method, batch = toy_method("fhvae", "audio"), toy_batch("audio")
    optimizer = torch.optim.Adam(method.parameters(), 1e-2)
    values = []
    for step in range(60):
        optimizer.zero_grad()
        value = method.loss(batch, step)["discriminative"][1]
        value.backward()
        optimizer.step()
        values.append(value.item())
    assert values[-1] < 0.8 * values[0]


def test_a_new_sequence_is_encoded_by_the_formula_of_training():
    method, batch = toy_method("fhvae", "series").eval(), toy_batch("series")
    q = method.posterior.steps(method.encoder(batch))
    assert torch.equal(method.encode(batch).s, method.posterior.center(q, batch.mask).mean)


def test_a_spread_of_nothing_is_refused():
    with pytest.raises(ValueError, match="spread must be positive"):
        FHVAEConfig(spread=0.0)
