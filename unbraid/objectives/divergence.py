"""Kullback-Leibler divergences of diagonal Gaussians, one by one and all against all."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from unbraid.records import Gaussian


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
