"""Mutual information by minibatch weighted sampling (MWS), appendix A.3 of C-DSVAE."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from unbraid.objectives.elbo import flatten_steps
from unbraid.parallel.gather import gather
from unbraid.records import Codes, Gaussian, Posterior, Scalar


def pairwise_log_density(
    z: Float[Tensor, "B K"], q: Gaussian, weights: Float[Tensor, "B K"] | None = None
) -> Float[Tensor, "B B"]:
    """Return log q(z_i | x_j) of every pair, summed over elements, in nats.

    −½ Σ_k [ log 2π + log σ²_jk + (z_ik − μ_jk)² / σ²_jk ], as matrix products in double precision.
    An element counts only where both sequences have it.
    """
    z64, mean, log_var = z.double(), q.mean.double(), q.log_var.double()
    w = torch.ones_like(z64) if weights is None else weights.double()
    precision = (-log_var).exp() * w
    total = (w * z64.square()) @ precision.T - 2 * (w * z64) @ (precision * mean).T
    constant = precision * mean.square() + w * (log_var + math.log(2 * math.pi))
    return (-0.5 * (total + w @ constant.T)).to(z.dtype)  # (B, B)


@dataclass(frozen=True, slots=True)
class Densities:
    """log q(s_i | x_j) and log q(d_i | x_j) of a batch: what all MWS estimates are made of."""

    static: Float[Tensor, "B B"]
    dynamic: Float[Tensor, "B B"]


def densities(z: Codes, q: Posterior, mask: Bool[Tensor, "B T"]) -> Densities:
    """Return the two tables of log-densities for codes drawn from their own posteriors.

    The batch is that of all processes, if several share it.
    """
    z, q, mask = gather((z, q, mask))
    flat, weights = flatten_steps(q.d, mask)
    return Densities(
        pairwise_log_density(z.s, q.s),
        pairwise_log_density(z.d.flatten(1), flat, weights),
    )


def entropy(log_q: Float[Tensor, "B B"], size: int) -> Scalar:
    """Entropy of the aggregated posterior, in nats.

    H ≈ −1/M Σ_i [ log Σ_j q(z_i | x_j) − log(N M) ], with N = `size` training sequences.
    """
    return math.log(size * len(log_q)) - log_q.logsumexp(1).mean()


def static_dynamic(table: Densities, size: int) -> Scalar:
    """I(s; d) = H(s) + H(d) − H(s, d), in nats."""
    joint = entropy(table.static + table.dynamic, size)
    return entropy(table.static, size) + entropy(table.dynamic, size) - joint


def code_input(log_q: Float[Tensor, "B B"], size: int) -> Scalar:
    """I(z; x) = H(z) − H(z | x), where H(z | x) = −E log q(z_i | x_i), in nats."""
    return entropy(log_q, size) + log_q.diagonal().mean()
