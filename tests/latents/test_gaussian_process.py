import pytest
import torch
from torch.distributions import MultivariateNormal

from unbraid.latents.gaussian_process import GPPrior, covariance
from unbraid.objectives.elbo import kl
from unbraid.records import Gaussian


def prior(dims: int = 1, **kernels: float) -> GPPrior:
    return GPPrior(dims, kernels or {"cauchy": 1.0}, length_scale=2.0, scales=1)


def test_the_second_step_of_a_cauchy_process_follows_the_first():
    """ℓ = σ = 1: K = [[1.001, 0.5], [0.5, 1.001]]; mean 0.5 / 1.001."""
    gp = GPPrior(1, {"cauchy": 1.0}, length_scale=1.0, scales=1)
    p = gp(torch.tensor([[[2.0], [0.0]]]), torch.ones(1, 2, dtype=torch.bool))
    assert p.mean[0, :, 0].tolist() == pytest.approx([0.0, 2 * 0.4995], abs=1e-4)
    assert p.log_var[0, :, 0].exp().tolist() == pytest.approx([1.001, 0.7513], abs=1e-4)


@pytest.mark.parametrize("kernel", ["cauchy", "rbf"])
def test_conditionals_multiply_to_the_joint_density(kernel):
    gp, d = prior(3, **{kernel: 0.5}), torch.randn(4, 6, 3)
    p = gp(d, torch.ones(4, 6, dtype=torch.bool))
    steps = torch.distributions.Normal(p.mean, (0.5 * p.log_var).exp()).log_prob(d).sum((1, 2))
    factor = gp.factor(6)
    joint = MultivariateNormal(torch.zeros(6).double(), scale_tril=factor[0])
    wanted = joint.log_prob(d.permute(0, 2, 1).double()).sum(1)
    torch.testing.assert_close(steps.double(), wanted, rtol=1e-4, atol=1e-2)


def test_the_sum_over_steps_is_an_unbiased_estimate_of_the_kl_to_the_process():
    """½ [log|K| − Σ log v + tr(K⁻¹ diag v) + mᵀ K⁻¹ m − T]."""
    torch.manual_seed(0)
    gp, m, v = prior(), torch.randn(4), torch.rand(4) + 0.5
    k = covariance("cauchy", 4, gp.scale)[0] + 1e-3 * torch.eye(4).double()
    m64, v64 = m.double(), v.double()
    trace = (torch.linalg.inv(k).diagonal() * v64).sum()
    exact = 0.5 * (k.logdet() - v64.log().sum() + trace + m64 @ torch.linalg.solve(k, m64) - 4)
    q = Gaussian(m[:, None].expand(20000, 4, 1), v.log()[:, None].expand(20000, 4, 1))
    p = gp(q.sample(), torch.ones(20000, 4, dtype=torch.bool))
    values = kl(q, p).sum(1)
    assert values.mean().item() == pytest.approx(exact.item(), abs=4 * values.std().item() / 141)


def test_draws_have_the_covariance_of_the_kernel():
    torch.manual_seed(0)
    gp = GPPrior(4, {"cauchy": 1.0, "rbf": 2.0}, length_scale=2.0, scales=2)
    d = gp.rollout(20000, 3)
    steps = torch.cov(d[:, :, 2].T)  # the first dimension with the second kernel, the longest scale
    wanted = 2 * covariance("rbf", 3, gp.scale[:1])[0].float()
    torch.testing.assert_close(steps, wanted, rtol=0, atol=0.08)


def test_padding_at_the_end_changes_nothing_before_it():
    gp, d = prior(2), torch.randn(2, 7, 2)
    whole, part = (gp(x, torch.ones(x.shape[:2], dtype=torch.bool)) for x in (d, d[:, :4]))
    torch.testing.assert_close(whole.mean[:, :4], part.mean)
    torch.testing.assert_close(whole.log_var[:, :4], part.log_var)


@pytest.mark.parametrize(("noise", "low", "high"), [(0.0, 1e4, 1e6), (0.1, 1.0, 60.0)])
def test_noise_bounds_what_an_independent_posterior_costs(noise, low, high):
    """KL(N(0, I) || GP) of 12 steps, RBF, ℓ = 2: at most T / 2τ² = 60 nats with noise τ² = 0.1."""
    torch.manual_seed(0)
    gp = GPPrior(1, {"rbf": 1.0}, length_scale=2.0, scales=1, noise=noise)
    q = Gaussian(torch.zeros(200, 12, 1), torch.zeros(200, 12, 1))
    cost = kl(q, gp(q.sample(), torch.ones(200, 12, dtype=torch.bool))).sum(1).mean()
    assert low < cost < high


def test_noise_is_added_to_the_diagonal():
    gp = GPPrior(1, {"cauchy": 1.0}, length_scale=1.0, scales=1, noise=0.25)
    k = (gp.factor(2) @ gp.factor(2).mT)[0]
    assert k.tolist() == [pytest.approx([1.251, 0.5]), pytest.approx([0.5, 1.251])]
