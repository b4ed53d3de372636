import pytest
import torch

from tests.conformance.toys import toy_batch, toy_method, train
from unbraid.latents.koopman import batch_operator, eigenvalues, pairs
from unbraid.methods.baselines.skd import SKDConfig
from unbraid.objectives.spectral import dynamic_spectrum, split_values, static_spectrum
from unbraid.records import Batch


def spectrum(ratio: float) -> tuple[float, float]:
    """Return both losses of the path (1, 1), (1, r), (1, r²): eigenvalues 1 and r."""
    z = torch.tensor([[[1.0, 1.0], [1.0, ratio], [1.0, ratio**2]]])
    operator = batch_operator(*pairs(z, torch.ones(1, 3, dtype=torch.bool)))
    static, dynamic = split_values(eigenvalues(operator), 1)
    static_loss = static_spectrum(static, "ball").item()
    return static_loss, dynamic_spectrum(dynamic, "real", 0.5).item()


def test_a_dynamic_eigenvalue_counts_above_the_threshold_alone():
    assert spectrum(0.6) == pytest.approx((0.0, 0.6), abs=1e-3)
    assert spectrum(0.49) == pytest.approx((0.0, 0.0), abs=1e-3)


def test_the_other_rules_give_the_numbers_of_their_formulas():
    values = torch.tensor([0.8 + 0.1j, 0.5j, -1.0 + 0j], dtype=torch.complex128)
    wanted = ((0.65 - 1) ** 2 + (0.25 - 1) ** 2) / 3
    assert static_spectrum(values, "norm").item() == pytest.approx(wanted)
    distance = (0.04 + 0.01) ** 0.5  # of the first from 1; the others are farther than 0.6
    assert dynamic_spectrum(values, "ball", 0.0).item() == pytest.approx((2 - distance) / 3)
    wanted = ((0.65 - 0.25) ** 2 + 0 + 0.75**2) / 3
    assert dynamic_spectrum(values, "strict", 0.0).item() == pytest.approx(wanted)


def test_codes_do_not_depend_on_batch_mates_after_training():
    method, batch = toy_method("skd", "audio"), toy_batch("audio", ragged=False)
    train(method, batch, 20)
    method.eval()
    assert not torch.equal(method.koopman.basis, torch.eye(10).double())
    whole = method.encode(batch)
    alone = method.encode(Batch.full(batch.x[2:3]))
    torch.testing.assert_close(alone.s[0], whole.s[2], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(alone.d[0], whole.d[2], rtol=1e-4, atol=1e-5)


def test_training_brings_the_static_eigenvalues_to_one():
    method, batch = toy_method("skd", "audio", w_reconstruction=0.0), toy_batch("audio")
    first = method.loss(batch, 0)["spectral_static"][1].item()
    train(method, batch, 60, lr=1e-2)
    assert method.loss(batch, 0)["spectral_static"][1].item() < 0.5 * first


def test_the_sums_are_not_touched_outside_of_training():
    method, batch = toy_method("skd", "series"), toy_batch("series")
    train(method, batch, 3)
    before = {name: part.clone() for name, part in method.named_buffers()}
    method.eval().loss(batch, 0)
    method.train().encode(batch)
    for name, part in method.named_buffers():
        assert torch.equal(part, before[name]), name


def test_a_sequence_of_one_step_gives_no_pair_and_no_nan():
    method, batch = toy_method("skd", "audio"), toy_batch("audio").steps(slice(0, 1))
    terms = method.loss(batch, 0)
    sum(weight * value for weight, value in terms.values()).backward()
    assert all(torch.isfinite(p.grad).all() for p in method.parameters() if p.grad is not None)


def test_a_dropout_of_everything_is_refused():
    with pytest.raises(ValueError, match="dropout must be at least 0 and below 1"):
        SKDConfig(dropout=1.0)
