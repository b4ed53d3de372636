"""What every method of the catalogue must do, on every kind of data."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from tests.conformance.toys import (
    CASES,
    FRAMES,
    LENGTHS,
    pad,
    spoil,
    total,
    toy_batch,
    toy_method,
    train,
)
from unbraid.methods import Method
from unbraid.methods.store import load_model, save_model
from unbraid.precision import Format
from unbraid.records import Batch, Codes, Kind, Terms

WITHOUT_GRADIENT: dict[tuple[str, str, str], str] = {}
"""(method, kind, parameter) -> why it needs none."""

Limits = dict[str, float]
TOLERANCE: dict[Format, Limits] = {
    "fp32": {"rtol": 1e-5, "atol": 1e-6},
    "bf16": {"rtol": 2e-2, "atol": 2e-2},  # 8 bits; other batches may be summed in other orders
}

pytestmark = pytest.mark.parametrize(("name", "kind"), CASES)


only_fp32 = pytest.mark.parametrize("tolerance", ["fp32"], indirect=True)
"""For what does not depend on the precision: files, seeds."""


@pytest.fixture(autouse=True, params=["fp32", "bf16"])
def tolerance(request: pytest.FixtureRequest) -> Iterator[Limits]:
    """Run a test in both precisions; yield how far codes may be apart."""
    # No cache: some tests train inside, and copies of older weights must not be used again.
    enabled = request.param == "bf16"
    with torch.autocast("cpu", torch.bfloat16, enabled=enabled, cache_enabled=False):
        yield TOLERANCE[request.param]


def existing(d: Tensor, batch: Batch) -> Tensor:
    return d[batch.mask]


def loss_and_gradients(
    method: Method, batch: Batch, seed: int = 3
) -> tuple[Terms, dict[str, Tensor]]:
    """Return the terms of one draw and the gradients of their sum."""
    torch.manual_seed(3)
    terms = method.loss(batch, 0)
    total(terms).backward()
    return terms, {name: p.grad for name, p in method.named_parameters() if p.grad is not None}


def statistics(method: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in method.named_buffers()}


def assert_same(a: dict[str, Tensor], b: dict[str, Tensor]) -> None:
    assert a.keys() == b.keys()
    for name in a:
        assert torch.equal(a[name], b[name]), name


def test_every_parameter_gets_a_gradient(name: str, kind: Kind) -> None:
    method = toy_method(name, kind)
    _, grads = loss_and_gradients(method, toy_batch(kind))
    for parameter, _ in method.named_parameters():
        if (name, kind, parameter) in WITHOUT_GRADIENT:
            continue
        assert parameter in grads, f"{parameter} has no gradient"
        assert torch.isfinite(grads[parameter]).all(), f"{parameter}: not finite"
        assert grads[parameter].abs().max() > 0, f"{parameter}: all zero"


@only_fp32  # fifty steps; tests of `fit` train in bf16
def test_the_loss_falls_on_one_batch(name: str, kind: Kind) -> None:
    losses = train(toy_method(name, kind), toy_batch(kind), 50, lr=1e-2, enough=0.95)
    assert sum(losses[-5:]) < 0.95 * sum(losses[:5])


def test_a_swap_with_itself_is_the_reconstruction(name: str, kind: Kind) -> None:
    method, batch = toy_method(name, kind).eval(), toy_batch(kind)
    a, b = method.encode(batch), method.encode(batch)
    plain = method.decode(a)
    assert torch.equal(method.decode(Codes(a.s, b.d)), plain)
    assert plain.shape == batch.x.shape
    assert not torch.equal(method.decode(Codes(a.s + 1, a.d)), plain)
    assert not torch.equal(method.decode(Codes(a.s, a.d + 1)), plain)


def test_any_length_samples_and_decodes(name: str, kind: Kind) -> None:
    method = toy_method(name, kind).eval()
    for length, means in product((1, 3, 11), (True, False)):
        codes = method.sample(4, length, means=means)
        assert codes.s.shape == (4, 6)
        assert codes.d.shape == (4, length, 4)
        x = method.decode(codes)
        assert x.shape == (4, length, *FRAMES[kind])
        assert torch.isfinite(x).all()


def test_samples_differ_from_each_other(name: str, kind: Kind) -> None:
    codes = toy_method(name, kind).eval().sample(2, 3)
    assert not torch.equal(codes.s[0], codes.s[1])
    assert not torch.equal(codes.d[0], codes.d[1])


@pytest.mark.parametrize(
    ("tolerance", "value"),
    [("fp32", 1e4), ("fp32", float("nan")), ("bf16", float("nan"))],
    indirect=["tolerance"],
)
def test_masked_elements_do_not_count(name: str, kind: Kind, value: float) -> None:
    batch, method, other = toy_batch(kind), toy_method(name, kind), toy_method(name, kind)
    spoilt = spoil(batch, value)
    assert not torch.equal(spoilt.x, batch.x)
    terms, grads = loss_and_gradients(method, batch)
    again, grads_again = loss_and_gradients(other, spoilt)
    for term in terms:
        assert torch.equal(terms[term][1], again[term][1]), term
    assert_same(statistics(method), statistics(other))
    assert_same(grads, grads_again)
    method.eval()
    z, z_again = method.encode(batch), method.encode(spoilt)
    assert torch.equal(z.s, z_again.s)
    assert torch.equal(existing(z.d, batch), existing(z_again.d, batch))


def test_elements_that_count_do_count(name: str, kind: Kind) -> None:
    batch, method = toy_batch(kind), toy_method(name, kind).eval()
    other = batch.with_x(batch.x.clone())
    other.x[1, 2] += 1.0  # the last step of a sequence of three
    torch.manual_seed(0)
    a = method.loss(batch, 0)["reconstruction"][1]
    torch.manual_seed(0)
    assert not torch.equal(a, method.loss(other, 0)["reconstruction"][1])
    assert not torch.equal(method.encode(batch).d[1, :3], method.encode(other).d[1, :3])


def test_more_padding_does_not_change_codes(name: str, kind: Kind, tolerance: Limits) -> None:
    method, batch = toy_method(name, kind).eval(), toy_batch(kind)
    z, z_padded = method.encode(batch), method.encode(pad(batch, 3))
    torch.testing.assert_close(z_padded.s, z.s, **tolerance)
    d = existing(z_padded.d[:, :5], batch)
    torch.testing.assert_close(d, existing(z.d, batch), **tolerance)


def test_a_padded_sequence_has_the_codes_it_has_alone(
    name: str, kind: Kind, tolerance: Limits
) -> None:
    method, batch = toy_method(name, kind).eval(), toy_batch(kind)
    z = method.encode(batch)
    for i, length in enumerate(LENGTHS):
        observed = None if batch.observed is None else batch.observed[i : i + 1, :length]
        x = batch.x[i : i + 1, :length]
        alone = method.encode(Batch(x, batch.mask[i : i + 1, :length], observed))
        torch.testing.assert_close(alone.s[0], z.s[i], **tolerance)
        torch.testing.assert_close(alone.d[0], z.d[i, :length], **tolerance)


def test_encoding_has_no_randomness(name: str, kind: Kind) -> None:
    method, batch = toy_method(name, kind).eval(), toy_batch(kind)
    torch.manual_seed(0)
    state = torch.get_rng_state()
    z = method.encode(batch)
    assert torch.equal(torch.get_rng_state(), state)
    again = method.encode(batch)
    assert torch.equal(z.s, again.s)
    assert torch.equal(z.d, again.d)


def test_encoding_in_training_mode_has_no_randomness(name: str, kind: Kind) -> None:
    method, batch = toy_method(name, kind).train(), toy_batch(kind)
    z, again = method.encode(batch), method.encode(batch)
    assert torch.equal(z.s, again.s)
    assert torch.equal(z.d, again.d)


def test_the_order_of_a_batch_does_not_matter(name: str, kind: Kind, tolerance: Limits) -> None:
    method, batch = toy_method(name, kind).eval(), toy_batch(kind)
    order = torch.tensor([4, 2, 0, 5, 1, 3])
    observed = None if batch.observed is None else batch.observed[order]
    z = method.encode(batch)
    moved = method.encode(Batch(batch.x[order], batch.mask[order], observed))
    torch.testing.assert_close(moved.s, z.s[order], **tolerance)
    mask = batch.mask[order]
    torch.testing.assert_close(moved.d[mask], z.d[order][mask], **tolerance)


@only_fp32
def test_save_and_load_is_exact(name: str, kind: Kind, tmp_path: Path) -> None:
    method, batch = toy_method(name, kind), toy_batch(kind)
    train(method, batch, 2)
    save_model(method, tmp_path)
    loaded = load_model(tmp_path)
    assert type(loaded) is type(method)
    assert loaded.config == method.config
    assert loaded.spec == method.spec
    assert not loaded.training
    assert_same(dict(loaded.state_dict()), dict(method.state_dict()))
    z, again = method.eval().encode(batch), loaded.encode(batch)
    assert torch.equal(z.s, again.s)
    assert torch.equal(z.d, again.d)
    assert torch.equal(method.decode(z), loaded.decode(z))


@only_fp32
def test_one_seed_gives_one_result_and_another_seed_another(name: str, kind: Kind) -> None:
    def weights(seed: int) -> Tensor:
        method = toy_method(name, kind, seed=seed)
        train(method, toy_batch(kind), 2)
        return torch.cat([p.detach().flatten() for p in method.parameters()])

    first = weights(0)
    assert torch.equal(first, weights(0))
    assert not torch.equal(first, weights(1))


def test_terms_are_finite_scalars_under_names_that_stay(name: str, kind: Kind) -> None:
    method, batch = toy_method(name, kind), toy_batch(kind)
    terms = method.loss(batch, 0)
    assert terms.keys() == method.loss(batch, 1000).keys()
    assert all(term.isidentifier() for term in terms)
    for weight, value in terms.values():
        assert isinstance(weight, float)
        assert value.shape == ()
        assert torch.isfinite(value)
