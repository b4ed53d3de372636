import pytest
import torch

from tests.conformance.toys import toy_batch, toy_method
from unbraid.methods.baselines.gpvae import GPVAEConfig


def test_a_smooth_path_costs_less_than_a_rough_one():
    """The property of the method: the same values cost more in an order that jumps."""
    method = toy_method("gpvae", "audio", length_scale=8.0, scales=1)
    d = torch.linspace(-1, 1, 5)[None, :, None].expand(1, 5, 4)
    mask = torch.ones(1, 5, dtype=torch.bool)
    smooth, rough = (
        torch.distributions.Normal(p.mean, (0.5 * p.log_var).exp()).log_prob(x).sum()
        for x in (d, d[:, [0, 3, 1, 4, 2]])
        for p in [method.prior(x, mask)]
    )
    assert smooth > rough + 10


def test_a_sampled_s_is_the_mean_of_a_path():
    """With one long length scale s varies by nearly 1, with short ones by about 1 / T."""
    torch.manual_seed(0)
    slow, fast = (
        toy_method("gpvae", "audio", length_scale=length, scales=1).sample(4000, 5).s.var().item()
        for length in (100.0, 0.01)
    )
    assert slow == pytest.approx(1.0, abs=0.05)
    assert fast == pytest.approx(0.2, abs=0.02)


def test_slow_static_dimensions_have_the_longest_length_scale_alone():
    method = toy_method("gpvae", "audio", slow_static=True)
    assert len(method.static_prior.scale) == 1
    assert len(method.prior.scale) == 4
    method.loss(toy_batch("audio"), 0)


@pytest.mark.parametrize("settings", [{"length_scale": 0.0}, {"amplitude": -1.0}, {"scales": 0}])
def test_a_kernel_that_is_none_is_refused(settings):
    with pytest.raises(ValueError, match="must be"):
        GPVAEConfig(**settings)
