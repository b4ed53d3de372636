import pytest
import torch
from torch.autograd import gradcheck
from torch.nn import functional as F

from unbraid.nets import winograd
from unbraid.nets.winograd import Down, Up

SIZES = [(8, 8), (16, 24)]


def _down(x, w):
    return F.conv2d(x, w, stride=2, padding=1)


def _up(x, w):
    return F.conv_transpose2d(x, w, stride=2, padding=1)


def _function(way):
    return lambda x, w: winograd._Convolve.apply(x, w, way)


def _maps(size, *, small: bool) -> tuple[torch.Tensor, torch.Tensor]:
    draws = torch.Generator().manual_seed(3)
    shape = (3, 6, size[0] // 2, size[1] // 2) if small else (3, 5, *size)
    return torch.randn(shape, generator=draws), torch.randn(6, 5, 4, 4, generator=draws)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("cheap", "plain", "small"),
    [(winograd.CHEAP_DOWN, _down, False), (winograd.CHEAP_UP, _up, True)],
)
def test_the_cheap_form_equals_the_plain_one_in_value_and_derivatives(size, cheap, plain, small):
    x, w = _maps(size, small=small)
    found, wanted = [], []
    for kept, function in ((found, _function(cheap)), (wanted, plain)):
        a, b = x.clone().requires_grad_(), w.clone().requires_grad_()
        y = function(a, b)
        (y * torch.linspace(-1, 1, y.numel()).reshape(y.shape)).sum().backward()
        kept += [y.detach(), a.grad, b.grad]
    for one, other in zip(found, wanted, strict=True):
        assert one.shape == other.shape
        assert float((one - other).abs().max() / other.abs().max()) < 1e-5


def test_gradients_hold_by_finite_differences(monkeypatch):
    for name in ("_INPUT", "_FILTER", "_OUTPUT"):
        monkeypatch.setattr(winograd, name, getattr(winograd, name).double())
    x, w = _maps((8, 8), small=False)
    x, w = x[:1, :2].double().requires_grad_(), w[:2, :2].double().requires_grad_()
    down, up = _function(winograd.CHEAP_DOWN), _function(winograd.CHEAP_UP)
    assert gradcheck(down, (x, w))
    assert gradcheck(up, (down(x, w).detach().requires_grad_(), w))


def test_what_needs_no_gradient_gets_none():
    x, w = _maps((8, 8), small=False)
    y = _function(winograd.CHEAP_DOWN)(x, w.requires_grad_())
    y.sum().backward()
    assert x.grad is None
    assert w.grad is not None


def test_weights_are_those_of_plain_layers_and_layouts_are_kept(monkeypatch):
    monkeypatch.setattr(winograd, "MIN_CHANNELS", 1)
    x = torch.randn(2, 5, 16, 16).to(memory_format=torch.channels_last)
    down, up = Down(5, 6), Up(6, 5)
    y = down(x)
    assert y.is_contiguous(memory_format=torch.channels_last)
    assert torch.allclose(y, _down(x, down.weight), atol=1e-5)
    assert torch.allclose(up(y), _up(y, up.weight), atol=1e-5)


@pytest.mark.parametrize("size", [(12, 16), (4, 4)])
def test_sizes_that_tiles_do_not_fit_take_the_plain_form(size, monkeypatch):
    monkeypatch.setattr(winograd, "MIN_CHANNELS", 1)
    monkeypatch.setattr(winograd, "_Convolve", None)  # would fail if called
    x = torch.randn(2, 5, *size)
    assert Down(5, 6)(x).shape == (2, 6, size[0] // 2, size[1] // 2)


def test_without_gradient_the_plain_form_is_taken(monkeypatch):
    monkeypatch.setattr(winograd, "_Convolve", None)
    with torch.inference_mode():
        assert Down(128, 4)(torch.randn(1, 128, 8, 8)).shape == (1, 4, 4, 4)
