"""How far a decoded sequence is from the true one, step by step."""

import math

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from unbraid.records import Batch, Prediction, back_in_place, chosen_steps


def reconstruction_error(x_hat: Prediction, batch: Batch) -> Float[Tensor, "B T"]:
    """Reconstruction error of every step, summed over the elements that count.

    `x_hat` holds the steps in `batch.mask`, one row each, as decoders return them with a mask.

    Without a variance: squared error Σ (x − x̂)². With one: the Gaussian negative log-likelihood
    ½ Σ [ log 2π + log σ² + (x − x̂)² / σ² ], in nats. Masked and unobserved elements count zero.
    With `observed_logits`, −log p of what is observed and what is not is added.
    Methods sum this over time and average over the batch.
    """
    x, counts = chosen_steps(batch.x, batch.mask), None
    if batch.observed is not None:
        counts = chosen_steps(batch.observed, batch.mask)
    rows = _row_errors(x_hat, x, counts).flatten(1).sum(-1)  # (N,)
    return back_in_place(rows, batch.mask)


def _row_errors(x_hat: Prediction, x: Tensor, counts: Tensor | None) -> Tensor:
    difference = x - x_hat.mean
    # Zeroed before squaring: whatever stands where nothing counts, NaN too, has no gradient.
    squared = (difference if counts is None else difference.where(counts, 0.0)).square()
    if x_hat.log_var is None:
        return squared
    error = 0.5 * (math.log(2 * math.pi) + x_hat.log_var + squared * (-x_hat.log_var).exp())
    error = error if counts is None else error.where(counts, 0.0)
    if x_hat.observed_logits is None:
        return error
    there = torch.ones_like(x) if counts is None else counts.to(x.dtype)
    return error + binary_cross_entropy_with_logits(x_hat.observed_logits, there, reduction="none")
