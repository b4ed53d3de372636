import pytest
import torch

from tests.conformance.toys import toy_batch, toy_method
from unbraid.methods.baselines.s3vae import S3VAEConfig
from unbraid.objectives.triplet import others, triplet


def test_a_triplet_within_the_margin_costs_what_is_missing():
    """‖s − s⁺‖ = 1, ‖s − s⁻‖ = 1.5, m = 1: 0.5 for each of two sequences."""
    s, view = torch.tensor([[0.0], [1.5]]), torch.tensor([[1.0], [0.5]])
    assert triplet(s, view, margin=1.0).item() == pytest.approx(0.5)
    assert triplet(s, view, margin=0.4).item() == 0.0


def test_the_other_sequence_is_any_other_of_the_batch():
    torch.manual_seed(0)
    drawn = torch.stack([others(5) for _ in range(400)])
    assert not (drawn == torch.arange(5)).any()
    for row in range(5):
        shares = torch.bincount(drawn[:, row], minlength=5) / 400
        assert shares[torch.arange(5) != row].sub(0.25).abs().max() < 0.1
    assert others(1).tolist() == [0]


def test_d_learns_to_predict_the_signal():
    method, batch = toy_method("s3vae", "audio"), toy_batch("audio", ragged=False)
    optimizer = torch.optim.Adam(method.parameters(), 1e-2)
    values = []
    for step in range(60):
        optimizer.zero_grad()
        value = method.loss(batch, step)["motion"][1]
        value.backward()
        optimizer.step()
        values.append(value.item())
    assert sum(values[-10:]) < 0.8 * sum(values[:10])


def test_without_a_signal_its_row_and_its_head_are_left_out():
    method = toy_method("s3vae", "audio", signal="none")
    assert "motion" not in method.loss(toy_batch("audio"), 0)
    assert not hasattr(method, "motion_head")


def test_a_negative_margin_is_refused():
    with pytest.raises(ValueError, match="margin must not be negative"):
        S3VAEConfig(margin=-1.0)
