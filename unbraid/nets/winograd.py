"""The papers' 4x4 convolutions of stride 2, up and down, with 39 % of the multiplications.

A 4x4 convolution of stride 2 is a 2x2 convolution of stride 1 over blocks of 2x2 pixels. That one
is computed on tiles of 4x4 outputs from 5x5 blocks by the algorithm of Toom and Cook, also named
after Winograd (Lavin and Gray 2016): both sides are evaluated at five points per axis (0, 1, -1, 2
and infinity), multiplied there, and interpolated back. 25 products serve 16 outputs that would
take 64. It is the same function up to rounding (about 1e-5 of the largest value), in all
derivatives too.

It pays on CPUs in single precision where channels are many, so that the products outweigh the
transforms; elsewhere PyTorch's own convolutions are taken.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

Weight = Float[Tensor, "O C 4 4"]  # O channels on the small side, C on the large one
Large = Float[Tensor, "N C H W"]
Small = Float[Tensor, "N O h w"]
Wanted = tuple[bool, bool]  # the derivatives by the map and by the weight
Grads = tuple[Tensor | None, Tensor | None]

MIN_CHANNELS = 128  # of the large side; below, PyTorch's own convolutions are faster (measured)
TILE = 4  # outputs per axis

# Rows: the points 0, 1, -1, 2, infinity.
_B = torch.tensor(
    [[2, -1, -2, 1, 0], [0, -2, -1, 1, 0], [0, 2, -3, 1, 0], [0, -1, 0, 1, 0], [0, 2, -1, -2, 1]],
    dtype=torch.float32,
)
_G = torch.tensor([[1 / 2, 0], [-1 / 2, -1 / 2], [-1 / 6, 1 / 6], [1 / 6, 1 / 3], [0, 1]])
_A = torch.tensor(
    [[1, 0, 0, 0], [1, 1, 1, 1], [1, -1, 1, -1], [1, 2, 4, 8], [0, 0, 0, 1]], dtype=torch.float32
)
_INPUT, _FILTER, _OUTPUT = (torch.kron(m, m).contiguous() for m in (_B, _G, _A))


def pays(large: tuple[int, int], channels: int, x: Tensor) -> bool:
    """Say whether tiles fit a map of this size, and are worth it for this tensor."""
    fits = all(side % (2 * TILE) == 0 for side in large)
    plain = x.device.type == "cpu" and x.dtype == torch.float32
    return fits and plain and channels >= MIN_CHANNELS and torch.is_grad_enabled()


@dataclass(frozen=True, slots=True)
class Convolution:
    """One way to compute a convolution, and its derivatives."""

    forward: Callable[[Tensor, Tensor], Tensor]  # of a map and the weight
    backward: Callable[[Tensor, Tensor, Tensor, Wanted], Grads]  # of the gradient, map and weight


class Down(nn.Module):
    """A convolution of kernel 4, stride 2, padding 1 without bias: half the height and width."""

    def __init__(self, fan_in: int, fan_out: int) -> None:
        super().__init__()
        self.weight = nn.Conv2d(fan_in, fan_out, 4, 2, 1, bias=False).weight
        self.bias = None

    def forward(self, x: Large) -> Small:
        """Return the smaller map."""
        if self.way(x) is CHEAP_DOWN:
            return _Convolve.apply(x, self.weight, CHEAP_DOWN)
        return _plain_down(x, self.weight)

    def way(self, x: Large) -> Convolution:
        """Return how to compute it for this map."""
        return CHEAP_DOWN if pays((x.shape[2], x.shape[3]), x.shape[1], x) else PLAIN_DOWN


class Up(nn.Module):
    """A transposed convolution of kernel 4, stride 2, padding 1: twice the height and width."""

    def __init__(self, fan_in: int, fan_out: int, *, bias: bool = False) -> None:
        super().__init__()
        plain = nn.ConvTranspose2d(fan_in, fan_out, 4, 2, 1, bias=bias)
        self.weight, self.bias = plain.weight, plain.bias

    def forward(self, x: Small) -> Large:
        """Return the larger map."""
        if self.way(x) is CHEAP_UP:
            y = _Convolve.apply(x, self.weight, CHEAP_UP)
            return y if self.bias is None else y + self.bias[:, None, None]
        return F.conv_transpose2d(x, self.weight, self.bias, stride=2, padding=1)

    def way(self, x: Small) -> Convolution:
        """Return how to compute it for this map."""
        size = (2 * x.shape[2], 2 * x.shape[3])
        return CHEAP_UP if pays(size, self.weight.shape[1], x) else PLAIN_UP


class _Convolve(torch.autograd.Function):
    """Keeps its input alone for the backward pass: the transforms are cheap to make again."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, way: Convolution) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.way = way
        return way.forward(x, weight)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        return (*ctx.way.backward(grad, x, weight, ctx.needs_input_grad[:2]), None)


def _cheap_down(x: Large, weight: Weight) -> Small:
    return _small_map(torch.bmm(_large_points(x), _filter_points(weight)), x.shape)


def _cheap_down_backward(grad: Small, x: Large, weight: Weight, wanted: Wanted) -> Grads:
    points = _small_points(grad)
    grad_x = grad_weight = None
    if wanted[0]:
        spread = torch.bmm(points, _filter_points(weight).mT)
        grad_x = _large_map(spread, grad.shape, weight.shape[1])
    if wanted[1]:
        grad_weight = _filter(torch.bmm(_large_points(x).mT, points), weight)
    return grad_x, grad_weight


def _cheap_up(x: Small, weight: Weight) -> Large:
    spread = torch.bmm(_small_points(x), _filter_points(weight).mT)
    return _large_map(spread, x.shape, weight.shape[1])


def _cheap_up_backward(grad: Large, x: Small, weight: Weight, wanted: Wanted) -> Grads:
    """Compute the transpose of `_cheap_down_backward`."""
    points = _large_points(grad)
    grad_x = grad_weight = None
    if wanted[0]:
        grad_x = _small_map(torch.bmm(points, _filter_points(weight)), grad.shape)
    if wanted[1]:
        grad_weight = _filter(torch.bmm(points.mT, _small_points(x)), weight)
    return grad_x, grad_weight


def _plain_down(x: Large, weight: Weight) -> Small:
    return F.conv2d(x, weight, stride=2, padding=1)


def _plain_up(x: Small, weight: Weight) -> Large:
    return F.conv_transpose2d(x, weight, stride=2, padding=1)


def _plain_backward(
    grad: Tensor, x: Tensor, weight: Weight, wanted: Wanted, *, up: bool
) -> Grads:  # fmt: skip
    grads = torch.ops.aten.convolution_backward(
        grad, x, weight, None, [2, 2], [1, 1], [1, 1], up, [0, 0], 1, [*wanted, False]
    )
    return grads[0], grads[1]


CHEAP_DOWN = Convolution(_cheap_down, _cheap_down_backward)
CHEAP_UP = Convolution(_cheap_up, _cheap_up_backward)
PLAIN_DOWN = Convolution(_plain_down, partial(_plain_backward, up=False))
PLAIN_UP = Convolution(_plain_up, partial(_plain_backward, up=True))


def _filter_points(weight: Weight) -> Float[Tensor, "25 C4 O"]:
    """Return the filter at the points; the four pixels of a block are channels."""
    small, large = weight.shape[:2]
    taps = weight.reshape(small, large, 2, 2, 2, 2).permute(2, 4, 3, 5, 1, 0).reshape(4, -1)
    return (_FILTER @ taps).reshape(25, 4 * large, small)


def _filter(points: Float[Tensor, "25 C4 O"], weight: Weight) -> Weight:
    """Apply the transpose of `_filter_points`."""
    small, large = weight.shape[:2]
    taps = (_FILTER.mT @ points.reshape(25, -1)).reshape(2, 2, 2, 2, large, small)
    return taps.permute(5, 4, 0, 2, 1, 3).reshape(weight.shape)


def _large_points(x: Large) -> Float[Tensor, "25 tiles C4"]:
    """Return the tiles of the large map at the points; tiles overlap by one block."""
    N, C, H, W = x.shape
    K, L = H // 8, W // 8
    padded = F.pad(x.permute(0, 2, 3, 1), (0, 0, 1, 1, 1, 1))
    n, h, w, c = padded.stride()
    tiles = padded.as_strided(
        (5, 5, N, K, L, 2, 2, C), (2 * h, 2 * w, n, 8 * h, 8 * w, h, w, c)
    ).reshape(25, -1)
    return (_INPUT @ tiles).reshape(25, N * K * L, 4 * C)


def _large_map(points: Float[Tensor, "25 tiles C4"], small: torch.Size, channels: int) -> Large:
    """Apply the transpose of `_large_points`: overlapping tiles add up."""
    N, K, L = small[0], small[2] // 4, small[3] // 4
    tiles = (_INPUT.mT @ points.reshape(25, -1)).reshape(5, 5, N, K, L, 2, 2, channels)
    blocks = points.new_zeros(N, 4 * K + 1, 2, 4 * L + 1, 2, channels)
    inner = blocks[:, : 4 * K, :, : 4 * L].unflatten(3, (L, 4)).unflatten(1, (K, 4))
    inner.copy_(tiles[:4, :4].permute(2, 3, 0, 5, 4, 1, 6, 7))
    low = blocks[:, 4::4, :, : 4 * L].unflatten(3, (L, 4))  # the fifth row of the tile above
    low.add_(tiles[4, :4].permute(1, 2, 4, 3, 0, 5, 6))
    right = blocks[:, : 4 * K, :, 4::4].unflatten(1, (K, 4))
    right.add_(tiles[:4, 4].permute(1, 2, 0, 4, 3, 5, 6))
    blocks[:, 4::4, :, 4::4].add_(tiles[4, 4].permute(0, 1, 3, 2, 4, 5))
    whole = blocks.reshape(N, 8 * K + 2, 8 * L + 2, channels)
    return whole[:, 1:-1, 1:-1].permute(0, 3, 1, 2)


def _small_points(y: Small) -> Float[Tensor, "25 tiles O"]:
    """Return tiles of the small map, carried to the points by the transpose of `_small_map`."""
    N, channels, h, w = y.shape
    tiles = y.permute(0, 2, 3, 1).reshape(N, h // 4, 4, w // 4, 4, channels)
    flat = tiles.permute(2, 4, 0, 1, 3, 5).reshape(16, -1)
    return (_OUTPUT @ flat).reshape(25, -1, channels)


def _small_map(points: Float[Tensor, "25 tiles O"], large: torch.Size) -> Small:
    """Return the map whose tiles have these values at the points."""
    N, K, L = large[0], large[2] // 8, large[3] // 8
    tiles = (_OUTPUT.mT @ points.reshape(25, -1)).reshape(4, 4, N, K, L, -1)
    return tiles.permute(2, 3, 0, 4, 1, 5).reshape(N, 4 * K, 4 * L, -1).permute(0, 3, 1, 2)
