import math

import pytest
import torch
from torch import Tensor
from torch.distributions import Normal

from unbraid.objectives.mutual import (
    Densities,
    code_input,
    densities,
    entropy,
    pairwise_log_density,
    static_dynamic,
)
from unbraid.records import Gaussian, Posterior


def _reference_log_density(z: Tensor, q: Gaussian, weights: Tensor | None = None) -> Tensor:
    n = len(z)
    table = torch.zeros(n, n, dtype=torch.float64)
    for i in range(n):
        for j in range(n):
            density = Normal(q.mean[j].double(), (0.5 * q.log_var[j].double()).exp())
            both = 1.0 if weights is None else (weights[i] * weights[j]).double()
            table[i, j] = (density.log_prob(z[i].double()) * both).sum()
    return table


def posterior(n: int = 6) -> Posterior:
    draw = torch.Generator().manual_seed(0)
    parts = [torch.randn(shape, generator=draw) for shape in 2 * [(n, 4)] + 2 * [(n, 5, 3)]]
    return Posterior(Gaussian(*parts[:2]), Gaussian(*parts[2:]))


@pytest.mark.parametrize("shift", [0.0, -8.0])
def test_log_densities_match_a_double_loop(shift: float):
    q = posterior().s
    q = Gaussian(q.mean, q.log_var + shift)
    z = q.sample()
    torch.testing.assert_close(
        pairwise_log_density(z, q), _reference_log_density(z, q).float(), rtol=1e-4, atol=1e-4
    )


def test_padded_steps_do_not_enter_the_log_densities():
    q = posterior()
    z = q.sample()
    mask = torch.arange(5) < torch.tensor([5, 3, 5, 2, 4, 5])[:, None]
    weights = mask[..., None].expand(6, 5, 3).flatten(1).float()
    table = densities(z, q, mask)
    flat = Gaussian(q.d.mean.flatten(1), q.d.log_var.flatten(1))
    wanted = _reference_log_density(z.d.flatten(1), flat, weights).float()
    torch.testing.assert_close(table.dynamic, wanted, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(
        table.static, _reference_log_density(z.s, q.s).float(), rtol=1e-4, atol=1e-4
    )


def test_entropy_is_the_formula_worked_out_by_hand():
    # Two codes, five training sequences: -1/2 [log(1/2 + 1/4) + log(1/8 + 3/8) - 2 log 10].
    log_q = torch.tensor([[0.5, 0.25], [0.125, 0.375]]).log()
    wanted = math.log(10) - 0.5 * (math.log(0.75) + math.log(0.5))
    assert entropy(log_q, 5).item() == pytest.approx(wanted, rel=1e-6)


def test_the_entropy_of_a_wide_gaussian_mixture_grows_by_log_two_per_doubling():
    z = torch.linspace(-1.0, 1.0, 6)[:, None]
    one = Gaussian(z, torch.full_like(z, -12.0))
    two = Gaussian(2 * z, torch.full_like(z, -12.0 + 2 * math.log(2)))
    values = [entropy(pairwise_log_density(q.mean, q), 60) for q in (one, two)]
    assert (values[1] - values[0]).item() == pytest.approx(math.log(2), rel=1e-4)


def test_dependent_codes_share_log_m_more_than_independent_ones():
    n, size = 6, 60
    telling = torch.full((n, n), -1e4).fill_diagonal_(2.0)
    mute = torch.full((n, n), -3.0)
    dependent = static_dynamic(Densities(telling, telling), size)
    independent = static_dynamic(Densities(telling, mute), size)
    # By the formula: log(N M), and log N, the bias of the estimate.
    assert dependent.item() == pytest.approx(math.log(size * n), rel=1e-5)
    assert independent.item() == pytest.approx(math.log(size), rel=1e-5)


def test_a_code_that_names_its_input_has_log_m_more_than_a_mute_one():
    n, size = 6, 60
    telling = torch.full((n, n), -1e4).fill_diagonal_(2.0)
    assert code_input(telling, size).item() == pytest.approx(math.log(size * n), rel=1e-5)
    mute = torch.full((n, n), -3.0)
    assert code_input(mute, size).item() == pytest.approx(math.log(size), rel=1e-5)


def test_information_is_the_sum_of_its_entropies():
    draw = torch.Generator().manual_seed(2)
    s, d = (torch.randn(6, 6, generator=draw) for _ in range(2))
    plain = 0.0
    for i in range(6):
        sums = [math.log(sum(math.exp(float(v)) for v in t[i])) for t in (s, d, s + d)]
        plain += (-sums[0] - sums[1] + sums[2]) / 6
    wanted = plain + math.log(6 * 60)
    assert static_dynamic(Densities(s, d), 60).item() == pytest.approx(wanted, rel=1e-5)
