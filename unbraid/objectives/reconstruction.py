"""How far a decoded sequence is from the true one, step by step."""

import math
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import binary_cross_entropy_with_logits

from unbraid.records import Batch, Prediction

Values = Float[Tensor, "B T *shape"]
ROWS = 1 << 20  # values of a batch worked on at a time: 4 MiB


def misfit(x_hat: Prediction, batch: Batch) -> Float[Tensor, "B T"]:
    """Reconstruction error of every step, summed over the elements that count.

    Without a variance: squared error Σ (x − x̂)². With one: the Gaussian negative log-likelihood
    ½ Σ [ log 2π + log σ² + (x − x̂)² / σ² ], in nats. Masked and unobserved elements count zero.
    With `seen`, −log p of what is observed and what is not is added.
    Methods sum this over time and average over the batch.
    """
    if x_hat.log_var is None:
        squared: Tensor = _Squared.apply(x_hat.mean, batch.x, batch.counts)
        return squared * batch.mask
    # Zeroed before squaring: whatever stands where nothing counts, NaN too, has no gradient.
    squared = (batch.x - x_hat.mean).where(batch.counts, 0.0).square()
    error = 0.5 * (math.log(2 * math.pi) + x_hat.log_var + squared * (-x_hat.log_var).exp())
    error = error.where(batch.counts, 0.0)
    if x_hat.seen is not None:
        there = batch.counts.expand_as(x_hat.seen).to(x_hat.seen.dtype)
        error = error + binary_cross_entropy_with_logits(x_hat.seen, there, reduction="none")
    return error.flatten(2).sum(-1) * batch.mask


class _Squared(torch.autograd.Function):
    """Squared error of every step, which keeps nothing: a batch of videos is 50 MB each time."""

    @staticmethod
    def forward(
        ctx: Any, mean: Values, x: Values, counts: Bool[Tensor, "B T *#shape"]
    ) -> Float[Tensor, "B T"]:
        ctx.save_for_backward(mean, x, counts)
        pieces = [
            (m - true).where(c, 0.0).square_().flatten(2).sum(-1)
            for m, true, c in _pieces(mean, x, counts)
        ]
        return torch.cat(pieces)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Float[Tensor, "B T"]) -> tuple[Values, None, None]:
        mean, x, counts = ctx.saved_tensors
        gradient = torch.empty_like(mean)
        factor = 2 * upstream.reshape(upstream.shape + (1,) * (mean.ndim - 2))
        for out, m, true, c, f in _pieces(gradient, mean, x, counts, factor):
            torch.mul((m - true).where(c, 0.0), f, out=out)
        return gradient, None, None


def _pieces(*tensors: Tensor) -> "zip[tuple[Tensor, ...]]":
    """Cut all tensors along the batch, so that a piece of the first has `ROWS` values at most."""
    rows = max(1, ROWS * len(tensors[0]) // max(1, tensors[0].numel()))
    return zip(*(t.split(rows) for t in tensors), strict=True)
