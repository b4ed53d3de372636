"""How far a decoded sequence is from the true one, step by step."""

import math

from jaxtyping import Float
from torch import Tensor

from unbraid.records import Batch, Prediction


def misfit(x_hat: Prediction, batch: Batch) -> Float[Tensor, "B T"]:
    """Reconstruction error of every step, summed over the elements that count.

    Without a variance: squared error Σ (x − x̂)². With one: the Gaussian negative log-likelihood
    ½ Σ [ log 2π + log σ² + (x − x̂)² / σ² ], in nats. Masked and unobserved elements count zero.
    Methods sum this over time and average over the batch.
    """
    squared = (batch.x - x_hat.mean).square()
    if x_hat.log_var is None:
        error = squared
    else:
        error = 0.5 * (math.log(2 * math.pi) + x_hat.log_var + squared * (-x_hat.log_var).exp())
    if batch.observed is not None:
        error = error.where(batch.observed, 0.0)
    return error.flatten(2).sum(-1) * batch.mask
