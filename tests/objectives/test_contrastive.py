import math

import pytest
import torch
from torch import Tensor

from unbraid.objectives.contrastive import info_nce, info_nce_against


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
