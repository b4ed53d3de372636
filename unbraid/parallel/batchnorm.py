"""BatchNorm by the statistics of all processes, on CPUs.

torch's SyncBatchNorm, which does the same, is for GPUs alone. Without it, processes would normalise
by their own slice of the batch, and training would depend on how many there are.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch import distributed as dist
from torch.nn.functional import batch_norm


def share_statistics(model: nn.Module) -> None:
    """Let every BatchNorm layer of a model ask all processes while it trains."""
    for norm in _norms(model):
        norm.__dict__["forward"] = partial(normalise, norm)


def keep_statistics(model: nn.Module) -> None:
    """Undo `share_statistics`."""
    for norm in _norms(model):
        norm.__dict__.pop("forward", None)


def normalise(norm: nn.modules.batchnorm._BatchNorm, x: Tensor) -> Tensor:
    """Return what the layer makes of x, by the mean and variance over all processes' values."""
    if not norm.training:
        return type(norm).forward(norm, x)
    whole = x.float()  # statistics are of fp32 values, whatever the precision of the networks
    with torch.no_grad():
        mean, var, count = _statistics(whole)
        _remember(norm, mean, var * count / (count - 1))
    y: Tensor = _Normalise.apply(whole, norm.weight, norm.bias, mean, var, count, norm.eps)
    return y.to(x.dtype)


def _statistics(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return mean and variance of every channel and how many values each has, over all processes.

    The variance is that inside the processes plus that of their means.
    """
    mean, var = torch.batch_norm_update_stats(x, None, None, 0.0)
    count = torch.full_like(mean[:1], x.numel() // x.shape[1])
    own = torch.cat([mean, var, count])
    parts = [torch.empty_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, own)
    means, variances, counts = torch.stack(parts).split([len(mean), len(var), 1], 1)  # (P, C)
    share = counts / counts.sum()
    whole = (share * means).sum(0)
    return whole, (share * (variances + (means - whole).square())).sum(0), counts.sum()


def _remember(norm: nn.modules.batchnorm._BatchNorm, mean: Tensor, var: Tensor) -> None:
    """Move the running statistics, as `nn.BatchNorm2d` does."""
    if norm.num_batches_tracked is not None:
        norm.num_batches_tracked.add_(1)
    if norm.momentum and norm.running_mean is not None and norm.running_var is not None:
        norm.running_mean.lerp_(mean, norm.momentum)
        norm.running_var.lerp_(var, norm.momentum)


class _Total(torch.autograd.Function):
    """The sum over all processes, to be differentiated any number of times."""

    @staticmethod
    def forward(_: Any, x: Tensor) -> Tensor:
        total = x.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(_: Any, grad: Tensor) -> Tensor:
        """Return the sum of what all processes ask of the sum."""
        total: Tensor = _Total.apply(grad)
        return total


class _Normalise(torch.autograd.Function):
    """y = w (x − μ) / √(σ² + ε) + b, where μ and σ² depend on the values of all processes."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, *rest: Any) -> Tensor:
        weight, bias, mean, var, count, eps = rest
        ctx.save_for_backward(x, weight, mean, var, count)
        ctx.eps = eps
        return batch_norm(x, mean, var, weight, bias, False, 0.0, eps)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """∂x = w/σ (g − mean(g) − x̂ mean(g x̂)), the means over all processes."""
        x, weight, mean, var, count = ctx.saved_tensors
        if torch.is_grad_enabled():  # as a gradient penalty does
            return *_slopes(grad, x, weight, count, ctx.eps), None, None, None, None
        _, grad_weight, grad_bias = torch.ops.aten.native_batch_norm_backward(
            grad, x, weight, mean, var, None, None, False, ctx.eps, [False, True, True]
        )
        sums = torch.stack([grad_bias, grad_weight])
        dist.all_reduce(sums)
        scale = (var + ctx.eps).rsqrt()
        slope = -weight * scale.square() * sums[1] / count
        level = -weight * scale * sums[0] / count - slope * mean
        shape = (1, -1, *(1 for _ in x.shape[2:]))
        grad_x = torch.addcmul(level.view(shape), x, slope.view(shape))
        grad_x.addcmul_(grad, (weight * scale).view(shape))
        return grad_x, grad_weight, grad_bias, None, None, None, None


def _slopes(
    grad: Tensor, x: Tensor, weight: Tensor, count: Tensor, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of x, w and b by operations that autograd can differentiate again."""
    axes, shape = [0, *range(2, x.ndim)], (1, -1, *(1 for _ in x.shape[2:]))

    def mean(values: Tensor) -> Tensor:
        total: Tensor = _Total.apply(values.sum(axes))
        return (total / count).view(shape)

    centred = x - mean(x)
    scale = (mean(centred.square()) + eps).rsqrt()
    normed = centred * scale
    grad_x = weight.view(shape) * scale * (grad - mean(grad) - normed * mean(grad * normed))
    return grad_x, (grad * normed).sum(axes), grad.sum(axes)


def _norms(model: nn.Module) -> Iterator[nn.modules.batchnorm._BatchNorm]:
    return (m for m in model.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm))
