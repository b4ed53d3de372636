import pytest
import torch

from tests.conformance.toys import toy_batch, toy_method
from unbraid.methods.baselines.diffsda import DiffSDAConfig
from unbraid.nets.denoiser import preconditioning
from unbraid.objectives.denoising import heun, noise_levels, noise_weight


def test_noise_as_large_as_the_data_is_half_skipped_and_weighs_eight():
    """σ = σ_data = 0.5: c_skip 0.5, c_out 0.3536, c_in 1.4142, weight 8."""
    sigma = torch.tensor([0.5])
    factors = [c.item() for c in preconditioning(sigma, 0.5)]
    assert factors == pytest.approx([0.5, 0.35355, 1.41421], abs=1e-5)
    assert noise_weight(sigma, 0.5).item() == 8.0


def test_the_path_ends_at_what_is_expected_of_certain_data():
    """If all data are 3, D is 3 at every noise level, and every path ends there."""
    x = heun(lambda x, sigma: torch.full_like(x, 3.0), torch.randn(4, 2) * 80, 5)
    torch.testing.assert_close(x, torch.full((4, 2), 3.0), rtol=0, atol=1e-4)
    levels = noise_levels(5)
    assert levels[[0, 4, 5]].tolist() == pytest.approx([80.0, 0.002, 0.0], rel=1e-3)


def test_the_path_of_gaussian_data_scales_noise_to_data():
    """D(x; σ) = x / (1 + σ²) for N(0, 1): the path from 80 ε ends at 80 ε / √(1 + 80²)."""
    x = heun(lambda x, sigma: x / (1 + sigma**2), torch.tensor([[80.0]]), 40)
    assert x.item() == pytest.approx(80 / (1 + 80**2) ** 0.5, abs=0.01)


@pytest.mark.parametrize("steps", [1, 3])
def test_decoding_has_no_randomness_for_any_number_of_steps(steps):
    method = toy_method("diffsda", "series", decode_steps=steps).eval()
    codes = method.encode(toy_batch("series"))
    state = torch.get_rng_state()
    x = method.decode(codes)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(x, method.decode(codes))


def test_the_rows_of_the_prior_do_not_reach_the_encoder():
    method = toy_method("diffsda", "audio")
    terms = method.loss(toy_batch("audio"), 0)
    (terms["prior_static"][1] + terms["prior_dynamic"][1]).backward()
    assert all(p.grad is None for p in method.posterior.parameters())
    assert method.static_prior.grad.abs().max() > 0


def test_one_evaluation_learns_the_mean_of_the_data_given_the_codes():
    method, batch = toy_method("diffsda", "audio"), toy_batch("audio", ragged=False)
    optimizer = torch.optim.Adam(method.parameters(), 1e-2)
    torch.manual_seed(0)
    before = (method.decode(method.encode(batch)) - batch.x).square().mean()
    for step in range(150):
        optimizer.zero_grad()
        method.loss(batch, step)["reconstruction"][1].backward()
        optimizer.step()
    after = (method.decode(method.encode(batch)) - batch.x).square().mean()
    assert after < 0.6 * before


@pytest.mark.parametrize(
    "settings", [{"sigma_data": 0.0}, {"noise_std": -1.0}, {"decode_steps": 0}]
)
def test_noise_that_is_none_is_refused(settings):
    with pytest.raises(ValueError, match="must be"):
        DiffSDAConfig(**settings)
