"""The evidence lower bound: reconstruction errors, KL divergences, and the three rows they give."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from unbraid.records import (
    Batch,
    Gaussian,
    Posterior,
    Prediction,
    Scalar,
    Terms,
    back_in_place,
    chosen_steps,
)


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
    observed = torch.ones_like(x) if counts is None else counts.to(x.dtype)
    return error + binary_cross_entropy_with_logits(
        x_hat.observed_logits, observed, reduction="none"
    )


def kl(q: Gaussian, p: Gaussian) -> Float[Tensor, "*batch"]:
    """KL(q || p) of diagonal Gaussians, summed over the last axis, in nats.

    ½ Σ_k [ log σ²_p − log σ²_q + (σ²_q + (μ_q − μ_p)²) / σ²_p − 1 ]
    """
    shift = (q.mean - p.mean).square()
    ratio = (q.log_var.exp() + shift) * (-p.log_var).exp()
    return 0.5 * (p.log_var - q.log_var + ratio - 1).sum(-1)


def kl_standard(q: Gaussian) -> Float[Tensor, "*batch"]:
    """KL(q || N(0, I)), summed over the last axis, in nats.

    ½ Σ_k [ σ² + μ² − log σ² − 1 ]
    """
    return 0.5 * (q.log_var.exp() + q.mean.square() - q.log_var - 1).sum(-1)


def flatten_steps(q: Gaussian, mask: Bool[Tensor, "B T"]) -> tuple[Gaussian, Float[Tensor, "B K"]]:
    """A trajectory of Gaussians as one long Gaussian, with a weight 0 for every padded element.

    Returns:
        the Gaussian over K = T·D elements, and the weights.
    """
    flat = Gaussian(q.mean.flatten(1), q.log_var.flatten(1))
    weights = mask[..., None].expand(q.mean.shape).flatten(1).to(q.mean.dtype)
    return flat, weights


def pairwise_kl(q: Gaussian, weights: Float[Tensor, "B K"] | None = None) -> Float[Tensor, "B B"]:
    """D_ij = KL(q_i || q_j) of every pair in a batch, in nats; Eq. (7) of SPYL.

    Written as four matrix products, so no (B, B, K) tensor is made; in double precision, because
    the products cancel. An element counts only where both sequences have it.
    """
    mean, log_var = q.mean.double(), q.log_var.double()
    w = torch.ones_like(mean) if weights is None else weights.double()
    var, precision = log_var.exp(), (-log_var).exp() * w
    distance = (w * (var + mean.square())) @ precision.T
    distance = distance - 2 * (w * mean) @ (precision * mean).T
    distance = distance + w @ (precision * mean.square() + w * log_var).T
    distance = distance - (w * (log_var + 1)) @ w.T
    return (0.5 * distance).to(q.mean.dtype)  # (B, B)


def kl_static(q: Posterior) -> Scalar:
    """KL(q(s | x) || N(0, I)), mean over the batch, in nats."""
    return kl_standard(q.s).mean()


def kl_dynamic(q: Posterior, p_d: Gaussian, mask: Bool[Tensor, "B T"]) -> Scalar:
    """KL(q(d | x) || p(d)), summed over existing steps, mean over the batch, in nats."""
    return kl_steps(q.d, p_d, mask)


def kl_steps(q: Gaussian, p: Gaussian, mask: Bool[Tensor, "B T"]) -> Scalar:
    """KL(q || p) of a Gaussian per step, summed over existing steps, mean over the batch."""
    return (kl(q, p) * mask).sum(1).mean()


def negative_elbo(
    errors: Float[Tensor, "B T"],
    q: Posterior,
    p_d: Gaussian,
    mask: Bool[Tensor, "B T"],
    *,
    weights: tuple[float, float, float],
) -> Terms:
    """Return the rows reconstruction, kl_static, kl_dynamic with their weights.

    The reconstruction is `errors` summed over time, mean over the batch.
    """
    return {
        "reconstruction": (weights[0], errors.sum(1).mean()),
        "kl_static": (weights[1], kl_static(q)),
        "kl_dynamic": (weights[2], kl_dynamic(q, p_d, mask)),
    }
