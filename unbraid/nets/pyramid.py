"""BatchNorm, LeakyReLU and the convolution behind them as one step that keeps one map, not two.

Autograd keeps the map before the norm and the map after the activation, of every layer, until the
backward pass. The second follows from the first by a multiplication and an addition, so here it is
made again, some frames at a time, and never exists as a whole: training takes half the memory for
what is elementwise work. Of the two largest maps, where convolutions are cheap because pictures
have few channels, the encoder's is made again from the pictures and the decoder's gives its memory
to its own gradient. Values and derivatives are those of the layers one after another.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from unbraid.nets.batchnorm import remember
from unbraid.nets.winograd import PLAIN_DOWN, Convolution, Down, Up

Map = Float[Tensor, "N C H W"]

CHUNK = 1 << 22  # values of one map worked on at a time: 16 MiB
FEW = 4  # channels of pictures, at most


class Pyramid(nn.Sequential):
    """Layers one after another; a norm, an activation and a convolution in a row become one."""

    def forward(self, x: Tensor) -> Tensor:
        """Return what the layers make of x."""
        layers, at, owned = list(self), 0, False
        while at < len(layers):
            first = layers[at] if _pictures(layers[at]) else None
            rest = layers[at + 1 : at + 4] if first else layers[at : at + 3]
            if _fits(rest, x):
                x = _fused(x, first, rest, owned=owned)
                at, owned = at + len(rest) + (first is not None), True
            else:
                x = layers[at](x)
                at += 1
        return x


class _How(NamedTuple):
    """What a fused step needs beside its tensors."""

    mean: Tensor
    var: Tensor
    eps: float
    slope: float
    way: Convolution
    owned: bool  # nobody else holds the map that enters, and it may be overwritten


def _pictures(layer: nn.Module) -> bool:
    return isinstance(layer, Down) and layer.weight.shape[1] <= FEW


def _fits(layers: list[nn.Module], x: Tensor) -> bool:
    """Say whether these layers are a norm, an activation and a convolution in training."""
    if x.device.type != "cpu" or not torch.is_grad_enabled() or len(layers) < 3:
        return False
    norm, activation, conv = layers
    own = isinstance(norm, nn.BatchNorm2d) and norm.training and "forward" not in norm.__dict__
    return own and isinstance(activation, nn.LeakyReLU) and isinstance(conv, Down | Up)


def _fused(x: Map, first: nn.Module | None, rest: list[nn.Module], *, owned: bool) -> Tensor:
    norm, activation, conv = rest
    assert isinstance(norm, nn.BatchNorm2d) and isinstance(activation, nn.LeakyReLU)
    assert isinstance(conv, Down | Up)
    front = first.weight if isinstance(first, Down) else None
    with torch.no_grad():
        entry = x if front is None else PLAIN_DOWN.forward(x, front)
        mean, var = torch.batch_norm_update_stats(entry, None, None, 0.0)
        count = entry.numel() // entry.shape[1]
        remember(norm, mean, var * (count / max(count - 1, 1)))
    owned &= isinstance(conv, Up) and conv.weight.shape[1] <= FEW
    way = conv.way(entry)  # outside of no_grad: it depends on whether gradients are wanted
    how = _How(mean, var, norm.eps, activation.negative_slope, way, owned)
    return _Step.apply(x, norm.weight, norm.bias, conv.weight, conv.bias, front, how)


class _Step(torch.autograd.Function):
    """z = conv(leaky(w (x − μ) / √(σ² + ε) + b)), where x may be a convolution of pictures."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, *rest: Any) -> Tensor:
        weight, bias, kernel, offset, front, how = rest
        ctx.save_for_backward(x, weight, bias, kernel, front)
        ctx.how, ctx.spent = how, False
        whole = None
        for rows in _chunks(x, front):
            y = _activated(_entry(x[rows], front), weight, bias, how)
            part = how.way.forward(y, kernel)
            if len(part) == len(x):
                whole = part
            else:
                whole = _like(part, len(x)) if whole is None else whole
                whole[rows] = part
        assert whole is not None
        return whole if offset is None else whole.add_(offset[:, None, None])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        """∂x = w/σ (g − mean(g) − x̂ mean(g x̂)), with g the gradient before the activation."""
        if ctx.spent:
            raise RuntimeError("this graph was used: a second backward pass has nothing to go by.")
        x, weight, bias, kernel, front = ctx.saved_tensors
        how: _How = ctx.how
        ctx.spent = how.owned

        def inner(rows: slice, *, kernel_too: bool) -> tuple[Tensor, Tensor, Tensor | None]:
            """Return the entry, the gradient before the activation, and that of the kernel."""
            entry = _entry(x[rows], front)
            y = _activated(entry, weight, bias, how)
            grad_y, part = how.way.backward(grad[rows], y, kernel, (True, kernel_too))
            return entry, torch.ops.aten.leaky_relu_backward(grad_y, y, how.slope, True), part

        sums, kept = _Sums(weight, kernel), {}
        for rows in _chunks(x, front):
            entry, g, part = inner(rows, kernel_too=True)
            sums.add(entry, g, part, how)
            if not how.owned:
                kept[rows.start] = g
        finish = _finish(sums, weight, how)
        ends = _Ends(x, front, how, wanted=ctx.needs_input_grad[0])
        for rows in _chunks(x, front):
            if how.owned:
                entry, g, _ = inner(rows, kernel_too=False)
            else:
                entry, g = _entry(x[rows], front), kept.pop(rows.start)
            ends.add(rows, finish(entry, g))
        offset = grad.sum((0, 2, 3)) if ctx.needs_input_grad[4] else None
        return ends.x, sums.scaled, sums.plain, sums.kernel, offset, ends.front, None


class _Sums:
    """Sums over all frames, gathered chunk by chunk."""

    def __init__(self, weight: Tensor, kernel: Tensor) -> None:
        self.scaled, self.plain = torch.zeros_like(weight), torch.zeros_like(weight)
        self.kernel = torch.zeros_like(kernel)
        self.count = 0

    def add(self, x: Tensor, g: Tensor, kernel: Tensor | None, how: _How) -> None:
        """Add Σ g x̂, Σ g and the gradient of the kernel."""
        _, scaled, plain = torch.ops.aten.native_batch_norm_backward(
            g, x, None, how.mean, how.var, None, None, False, how.eps, [False, True, True]
        )
        self.scaled += scaled
        self.plain += plain
        self.kernel += 0 if kernel is None else kernel
        self.count += x.numel() // x.shape[1]


class _Ends:
    """Where the gradient of the entry goes: on to x, over x, or through the front convolution."""

    def __init__(self, x: Tensor, front: Tensor | None, how: _How, *, wanted: bool) -> None:
        self.source, self.kernel, self.wanted = x, front, wanted
        self.front = None if front is None else torch.zeros_like(front)
        self.x = x if how.owned else torch.empty_like(x) if wanted else None

    def add(self, rows: slice, grad: Tensor) -> None:
        """Take the gradient of the entry of some frames."""
        if self.kernel is not None:
            pictures, some = self.source[rows], (self.wanted, True)
            grad, part = PLAIN_DOWN.backward(grad, pictures, self.kernel, some)  # type: ignore[assignment]
            assert self.front is not None and part is not None
            self.front += part
        if self.x is not None:
            self.x[rows] = grad


def _finish(sums: _Sums, weight: Tensor, how: _How) -> Callable[[Tensor, Tensor], Tensor]:
    """Return (x, g) -> ∂x, which works in the memory of g."""
    scale = weight * (how.var + how.eps).rsqrt()
    steep = -scale * (how.var + how.eps).rsqrt() * sums.scaled / sums.count
    level = -scale * sums.plain / sums.count - steep * how.mean

    def finish(x: Tensor, g: Tensor) -> Tensor:
        wide = (values[:, None, None] for values in (scale, steep, level))
        by_gradient, by_value, constant = wide
        return g.mul_(by_gradient).addcmul_(x, by_value).add_(constant)

    return finish


def _entry(x: Map, front: Tensor | None) -> Tensor:
    return x if front is None else PLAIN_DOWN.forward(x, front)


def _activated(x: Map, weight: Tensor, bias: Tensor, how: _How) -> Map:
    """Return norm and activation of some frames, by the statistics of all."""
    y = F.batch_norm(x, how.mean, how.var, weight, bias, False, 0.0, how.eps)
    return F.leaky_relu_(y, how.slope)


def _chunks(x: Map, front: Tensor | None) -> Iterator[slice]:
    """Yield slices of frames whose entry holds about `CHUNK` values each."""
    values = x[0].numel() if front is None else len(front) * x[0, 0].numel() // 4
    step = max(CHUNK // values, 1)
    return (slice(start, start + step) for start in range(0, len(x), step))


def _like(part: Map, frames: int) -> Tensor:
    """Return an empty map for more frames of the same size."""
    shape = (frames, *part.shape[1:])
    return torch.empty(shape, dtype=part.dtype).contiguous(memory_format=torch.channels_last)
