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
    info_nce,
    info_nce_against,
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


def test_codes_likelier_under_two_other_sequences_earn_nothing():
    # s of the first is 100 nats likelier under the second, its d under the third.
    own = torch.full((3, 3), -1e4).fill_diagonal_(2.0)
    s, d = own.clone(), own.clone()
    s[0] = torch.tensor([-10.0, 90.0, -10.0])
    d[0] = torch.tensor([-10.0, -10.0, 90.0])
    s.requires_grad_()
    value = static_dynamic(Densities(s, d), size=60)
    # The formula would count log 2 - 100 + log(N M) for the first; the others have log(N M).
    assert value.item() == pytest.approx(2 / 3 * math.log(60 * 3), rel=1e-5)
    value.backward()
    assert s.grad[0].abs().max() == 0


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


def _reference_cosine(u: Tensor, v: Tensor) -> float:
    return float(u @ v) / (math.sqrt(float(u @ u)) * math.sqrt(float(v @ v)))


def _reference_against(anchor, positive, bank, negatives, temperature) -> float:
    values = []
    for i in range(len(anchor)):
        plus = math.exp(_reference_cosine(anchor[i], positive[i]) / temperature)
        minus = sum(
            math.exp(_reference_cosine(anchor[i], bank[j]) / temperature)
            for j in range(len(bank))
            if negatives[i, j]
        )
        values.append(math.log(plus / (plus + minus)))
    return sum(values) / len(values)


@pytest.mark.parametrize("temperature", [0.5, 0.1])
def test_agreeing_orthogonal_views_have_the_value_of_the_formula(temperature: float):
    eye = torch.eye(6)
    hit = math.exp(1 / temperature)
    wanted = math.log(hit / (hit + 5)) + math.log(6)
    assert info_nce(eye, eye, temperature=temperature).item() == pytest.approx(wanted, rel=1e-5)


def test_a_two_by_two_case_worked_out_by_hand():
    a = torch.tensor([[2.0, 0.0], [0.0, 3.0]])
    b = torch.tensor([[1.0, 1.0], [0.0, 5.0]])
    e = math.exp
    r = 2 / math.sqrt(2)  # cosine 1/√2 over temperature 0.5
    # The logits are r and 0 for the first anchor, r and 2 for the second.
    rows = math.log(e(r) / (e(r) + 1)) + math.log(e(2) / (e(r) + e(2)))
    columns = math.log(e(r) / (e(r) + e(r))) + math.log(e(2) / (1 + e(2)))
    wanted = (rows + columns) / 4 + math.log(2)
    assert info_nce(a, b, temperature=0.5).item() == pytest.approx(wanted, rel=1e-5)


def test_the_estimate_reaches_log_b_and_never_passes_it():
    eye, noise = torch.eye(6), torch.randn(6, 6, generator=torch.Generator().manual_seed(0))
    assert info_nce(eye, eye, temperature=0.02).item() == pytest.approx(math.log(6), rel=1e-5)
    for scale in (0.0, 0.3, 3.0):
        assert info_nce(eye, eye + scale * noise, temperature=0.02) <= math.log(6) + 1e-5


def test_codes_that_are_all_alike_tell_nothing():
    same = torch.ones(6, 3)
    assert info_nce(same, same, temperature=0.5).abs().item() < 1e-6


def test_the_estimate_is_symmetric_and_blind_to_length():
    a, b = torch.randn(6, 4), torch.randn(6, 4)
    value = info_nce(a, b, temperature=0.5)
    torch.testing.assert_close(info_nce(b, a, temperature=0.5), value)
    torch.testing.assert_close(info_nce(3.0 * a, 0.1 * b, temperature=0.5), value)


def test_contrast_against_a_bank_matches_a_plain_loop():
    draw = torch.Generator().manual_seed(1)
    anchor, positive = (torch.randn(5, 4, generator=draw) for _ in range(2))
    bank = torch.randn(9, 4, generator=draw)
    negatives = torch.rand(5, 9, generator=draw) < 0.4
    value = info_nce_against(anchor, positive, bank, negatives=negatives, temperature=0.3)
    wanted = _reference_against(anchor, positive, bank, negatives, 0.3)
    assert value.item() == pytest.approx(wanted, rel=1e-5)


def test_contrast_without_negatives_is_zero_and_has_a_gradient():
    anchor = torch.randn(3, 4, requires_grad=True)
    none = torch.zeros(3, 2, dtype=torch.bool)
    value = info_nce_against(
        anchor, torch.randn(3, 4), torch.randn(2, 4), negatives=none, temperature=0.5
    )
    value.backward()
    assert value.item() == pytest.approx(0.0, abs=1e-6)
    assert torch.isfinite(anchor.grad).all()


def test_members_that_are_no_negatives_do_not_count():
    anchor, positive, bank = torch.randn(3, 4), torch.randn(3, 4), torch.randn(5, 4)
    chosen = torch.zeros(3, 5, dtype=torch.bool)
    chosen[:, :2] = True
    other = bank.clone()
    other[2:] = anchor.mean(0)
    values = [
        info_nce_against(anchor, positive, b, negatives=chosen, temperature=0.5)
        for b in (bank, other)
    ]
    assert torch.equal(values[0], values[1])
