import pytest
import torch
from torch import Tensor
from torch.distributions import Normal, kl_divergence

from unbraid.objectives.elbo import flatten_steps, kl, kl_standard, pairwise_kl
from unbraid.records import Gaussian


def gaussian(*shape: int, seed: int = 0, log_var: float = 0.0) -> Gaussian:
    draw = torch.Generator().manual_seed(seed)
    return Gaussian(
        torch.randn(shape, generator=draw), log_var + 0.7 * torch.randn(shape, generator=draw)
    )


def normal(q: Gaussian) -> Normal:
    return Normal(q.mean.double(), (0.5 * q.log_var.double()).exp())


def _reference_pairwise_kl(q: Gaussian, weights: Tensor | None = None) -> Tensor:
    n = len(q.mean)
    table = torch.zeros(n, n, dtype=torch.float64)
    for i in range(n):
        for j in range(n):
            a, b = (normal(Gaussian(q.mean[k], q.log_var[k])) for k in (i, j))
            both = 1.0 if weights is None else (weights[i] * weights[j]).double()
            table[i, j] = (kl_divergence(a, b) * both).sum()
    return table


def test_kl_matches_torch_distributions():
    q, p = gaussian(6, 5, 4), gaussian(6, 5, 4, seed=1)
    wanted = kl_divergence(normal(q), normal(p)).sum(-1).float()
    torch.testing.assert_close(kl(q, p), wanted)


def test_kl_of_a_unit_shift_is_one_half_per_dimension():
    q = Gaussian(torch.ones(2, 7), torch.zeros(2, 7))
    p = Gaussian(torch.zeros(2, 7), torch.zeros(2, 7))
    assert kl(q, p).tolist() == [3.5, 3.5]
    assert kl_standard(q).tolist() == [3.5, 3.5]


def test_kl_to_the_standard_normal_is_kl_to_a_gaussian_of_zeros():
    q = gaussian(6, 5, 4)
    standard = Gaussian(torch.zeros(6, 5, 4), torch.zeros(6, 5, 4))
    torch.testing.assert_close(kl_standard(q), kl(q, standard))


def test_kl_of_a_gaussian_to_itself_is_zero():
    assert kl(gaussian(6, 4), gaussian(6, 4)).abs().max() < 1e-6


def test_pairwise_kl_matches_a_double_loop():
    q = gaussian(6, 8)
    torch.testing.assert_close(pairwise_kl(q), _reference_pairwise_kl(q).float())


def test_pairwise_kl_is_from_the_row_to_the_column():
    q = Gaussian(torch.zeros(2, 1), torch.tensor([[0.0], [2.0]]))
    forward = kl(Gaussian(q.mean[:1], q.log_var[:1]), Gaussian(q.mean[1:], q.log_var[1:]))
    assert pairwise_kl(q)[0, 1].item() == pytest.approx(forward.item())
    assert pairwise_kl(q)[1, 0].item() > 1.5 * forward.item()


def test_an_element_counts_only_where_both_sequences_have_it():
    q = gaussian(6, 12)
    lengths = torch.tensor([12, 4, 8, 12, 1, 6])
    weights = (torch.arange(12) < lengths[:, None]).float()
    wanted = _reference_pairwise_kl(q, weights).float()
    torch.testing.assert_close(pairwise_kl(q, weights), wanted)


def test_pairwise_kl_survives_cancellation_at_small_variances():
    q = gaussian(6, 64, log_var=-8.0)
    near = Gaussian(100.0 + 1e-3 * q.mean, q.log_var)  # large means, tiny differences
    torch.testing.assert_close(
        pairwise_kl(near), _reference_pairwise_kl(near).float(), rtol=1e-4, atol=1e-4
    )


def test_flattened_steps_have_no_weight_at_padding():
    q = gaussian(2, 3, 2)
    flat, weights = flatten_steps(q, torch.tensor([[True, True, True], [True, False, False]]))
    assert weights.tolist() == [[1.0] * 6, [1.0, 1.0, 0.0, 0.0, 0.0, 0.0]]
    assert torch.equal(flat.mean[1, 2:4], q.mean[1, 1])
    assert torch.equal(flat.log_var[0, 4:], q.log_var[0, 2])
