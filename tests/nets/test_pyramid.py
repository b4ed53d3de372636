import pytest
import torch
from torch import nn

from unbraid.nets import pyramid
from unbraid.nets.batchnorm import share_statistics
from unbraid.nets.pyramid import Pyramid
from unbraid.nets.steps import frozen_statistics
from unbraid.nets.winograd import Down, Up


def _layers() -> list[nn.Module]:
    torch.manual_seed(2)
    layers = [
        Down(3, 6), nn.BatchNorm2d(6), nn.LeakyReLU(0.2, inplace=True),
        Down(6, 5), nn.BatchNorm2d(5), nn.LeakyReLU(0.2, inplace=True),
        Up(5, 6), nn.BatchNorm2d(6), nn.LeakyReLU(0.2, inplace=True),
        Up(6, 3, bias=True), nn.Sigmoid(),
    ]  # fmt: skip
    for layer in layers:
        if isinstance(layer, nn.BatchNorm2d):
            nn.init.normal_(layer.weight)
            nn.init.normal_(layer.bias)
    return layers


def _results(net: nn.Module, x: torch.Tensor) -> list[torch.Tensor]:
    """Return value, all derivatives and all running statistics after one step."""
    net.to(memory_format=torch.channels_last)
    x = x.clone().requires_grad_()
    y = net(x)
    (y * torch.linspace(-1, 1, y.numel()).reshape(y.shape)).sum().backward()
    return [y.detach(), x.grad, *(p.grad for p in net.parameters()), *net.buffers()]


@pytest.mark.parametrize("chunk", [1, 1000, 1 << 23])
@pytest.mark.parametrize("cheap", [False, True])
def test_the_lean_form_equals_layer_by_layer_in_value_derivatives_and_statistics(
    chunk, cheap, monkeypatch
):
    monkeypatch.setattr(pyramid, "CHUNK", chunk)
    monkeypatch.setattr("unbraid.nets.winograd.MIN_CHANNELS", 5 if cheap else 1000)
    x = torch.randn(4, 3, 32, 32)
    for one, other in zip(
        _results(Pyramid(*_layers()), x), _results(nn.Sequential(*_layers()), x), strict=True
    ):
        assert float((one - other).abs().max()) <= 2e-5 * float(other.abs().max())


def test_half_of_the_maps_are_kept_for_the_backward_pass():
    """Of four activations, those of three are made again; what enters the norms is kept."""
    kept: dict[type, int] = {}
    for kind in (Pyramid, nn.Sequential):
        sizes: dict[int, int] = {}
        net = kind(*_layers())

        def note(tensor: torch.Tensor, sizes: dict[int, int] = sizes) -> torch.Tensor:
            if tensor.ndim == 4 and not isinstance(tensor, nn.Parameter):
                sizes[tensor.data_ptr()] = tensor.numel()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
            y = net(torch.randn(4, 3, 32, 32))
        kept[kind] = sum(sizes.values())
        del y
    ends = 2 * 4 * 3 * 32 * 32  # the picture and the sigmoid's result
    weights = sum(p.numel() for p in Pyramid(*_layers()).parameters() if p.ndim == 4)
    assert kept[Pyramid] - ends - weights <= 0.5 * (kept[nn.Sequential] - ends - weights)


def test_frozen_statistics_stay_frozen():
    net = Pyramid(*_layers())
    before = [b.clone() for b in net.buffers()]
    with frozen_statistics(net):
        net(torch.randn(2, 3, 32, 32))
    assert all(torch.equal(a, b) for a, b in zip(before, net.buffers(), strict=True))


def test_norms_shared_by_processes_and_evaluation_take_the_layers_one_by_one(monkeypatch):
    monkeypatch.setattr(pyramid, "_Step", None)  # would fail if called
    net, x = Pyramid(*_layers()), torch.randn(2, 3, 32, 32)
    with torch.no_grad():
        net(x)
    net.eval()(x)
    net.train()
    share_statistics(net)
    assert not pyramid._fits(list(net)[1:4], x)


def test_names_of_weights_are_those_of_a_plain_stack():
    assert list(Pyramid(*_layers()).state_dict()) == list(nn.Sequential(*_layers()).state_dict())
