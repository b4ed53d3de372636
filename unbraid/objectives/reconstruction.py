"""How far a decoded sequence is from the true one, step by step."""

import math

from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from unbraid.records import Batch, Prediction


def misfit(x_hat: Prediction, batch: Batch) -> Float[Tensor, "B T"]:
    """Reconstruction error of every step, summed over the elements that count.

    Without a variance: squared error Σ (x − x̂)². With one: the Gaussian negative log-likelihood
    ½ Σ [ log 2π + log σ² + (x − x̂)² / σ² ], in nats. Masked and unobserved elements count zero.
    With `seen`, −log p of what is observed and what is not is added.
    Methods sum this over time and average over the batch.
    """
    # Zeroed before squaring: whatever stands where nothing counts, NaN too, has no gradient.
    squared = (batch.x - x_hat.mean).where(batch.counts, 0.0).square()
    if x_hat.log_var is None:
        return squared.flatten(2).sum(-1) * batch.mask
    error = 0.5 * (math.log(2 * math.pi) + x_hat.log_var + squared * (-x_hat.log_var).exp())
    error = error.where(batch.counts, 0.0)
    if x_hat.seen is not None:
        there = batch.counts.expand_as(x_hat.seen).to(x_hat.seen.dtype)
        error = error + binary_cross_entropy_with_logits(x_hat.seen, there, reduction="none")
    return error.flatten(2).sum(-1) * batch.mask
