import math
import statistics

import pytest
import torch

from tests.conformance.toys import LENGTHS, toy_batch, toy_method
from unbraid.latents.local_global import Window
from unbraid.methods.baselines.glr import GLRConfig
from unbraid.objectives.counterfactual import counterfactual
from unbraid.parallel.draws import SlicedDraws
from unbraid.records import Batch, Gaussian


def test_finding_the_old_code_instead_of_the_new_one_costs_e_squared():
    """q(s | x*) = N(0, 1), the old s is 0, the new one 2: exp(½ · 2²) = 7.389."""
    q = Gaussian(torch.zeros(1, 1), torch.zeros(1, 1))
    old, new = torch.zeros(1, 1), torch.full((1, 1), 2.0)
    assert counterfactual(q, old, new).item() == pytest.approx(math.exp(2))
    assert counterfactual(q, new, old).item() == pytest.approx(math.exp(-2))


def test_the_counterfactual_term_does_not_overflow():
    """r = ½ · 100² goes on along the tangent at 2: e² (r − 1)."""
    q = Gaussian(torch.zeros(1, 1), torch.zeros(1, 1))
    value = counterfactual(q, torch.zeros(1, 1), torch.full((1, 1), 100.0))
    assert value.item() == pytest.approx(math.exp(2) * 4999)


def test_a_piece_is_contiguous_valid_and_of_the_share_asked_for():
    torch.manual_seed(0)
    mask = toy_batch("audio").mask
    steps = torch.arange(5).expand(6, 5).clone()
    starts = set()
    for _ in range(30):
        piece = Window(mask, 0.6)
        assert piece.mask.sum(1).tolist() == [max(1, round(0.6 * n)) for n in LENGTHS]
        for row, valid, n in zip(piece.of(steps), piece.mask, LENGTHS, strict=True):
            chosen = row[valid].tolist()
            assert chosen == list(range(chosen[0], chosen[0] + len(chosen)))
            assert chosen[-1] < n
        starts.add(piece.of(steps)[0, 0].item())
    assert starts == {0, 1, 2}  # of a sequence of five, three steps


def test_s_has_variance_one_unless_it_is_learned():
    batch = toy_batch("series")
    assert (toy_method("glr", "series").infer(batch)[1].s.log_var == 0).all()
    learned = toy_method("glr", "series", fixed_variance=False).infer(batch)[1].s
    assert (learned.log_var != 0).any()


def test_the_counterfactual_term_teaches_the_encoder_to_find_the_new_code():
    method, batch = toy_method("glr", "audio"), toy_batch("audio")
    optimizer = torch.optim.Adam(method.parameters(), 1e-2)
    torch.manual_seed(0)
    values = []
    for step in range(100):
        value = method.loss(batch, step)["counterfactual"][1]
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        values.append(value.item())
    assert statistics.median(values[-25:]) < 0.9 * statistics.median(values[:25])


def test_a_share_that_is_none_is_refused():
    with pytest.raises(ValueError, match=r"share must be above 0 and at most 1, got 1\.5"):
        GLRConfig(share=1.5)


def test_the_noise_of_a_row_does_not_depend_on_the_lengths_of_the_other_rows_of_its_process():
    """Two processes of three rows each have the terms that one has, whose pieces are longer."""
    method, batch = toy_method("glr", "series").eval(), toy_batch("series")
    order = torch.tensor([0, 2, 5, 1, 3, 4])  # lengths 5, 5, 5 and 3, 2, 4
    x, mask, observed = batch.x[order], batch.mask[order], batch.observed[order]

    def value(rows: slice, rank: int, size: int) -> float:
        torch.manual_seed(0)
        with torch.no_grad(), SlicedDraws(6 // size, rank, size):
            terms = method.loss(Batch(x[rows], mask[rows], observed[rows]), 0)
        return terms["counterfactual"][1].item()

    parts = [value(slice(0, 3), 0, 2), value(slice(3, 6), 1, 2)]
    assert sum(parts) / 2 == pytest.approx(value(slice(0, 6), 0, 1), rel=1e-5)
