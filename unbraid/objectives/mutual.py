"""Estimates of mutual information: InfoNCE by cosine similarity, minibatch weighted sampling (MWS).

MWS: appendix A.3 of C-DSVAE.
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from unbraid.objectives.elbo import flatten_steps
from unbraid.parallel.gather import gather
from unbraid.records import Codes, Gaussian, Posterior, Scalar


def info_nce(a: Float[Tensor, "B K"], b: Float[Tensor, "B K"], *, temperature: float) -> Scalar:
    """Estimate I(code; x) from two views, a_i and b_i of sequence i; more is better.

    Eq. (7) and (8) of C-DSVAE: the mean over both directions (anchor a, then anchor b) of
    E_i [ log φ(a_i, b_i) / Σ_j φ(a_i, b_j) ] + log(n + 1), φ = exp(cos / τ), where the negatives
    are the views of the other n = B − 1 sequences. At most log B, in nats, mean over the batch,
    that of all processes if several share it.
    """
    a, b = gather((a, b))
    with torch.autocast(a.device.type, enabled=False):
        logits = F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).T / temperature  # (B, B)
    forward = logits.diagonal() - logits.logsumexp(1)
    backward = logits.diagonal() - logits.logsumexp(0)
    return 0.5 * (forward + backward).mean() + math.log(len(a))


def info_nce_against(
    anchor: Float[Tensor, "B K"],
    positive: Float[Tensor, "B K"],
    bank: Float[Tensor, "M K"],
    *,
    negatives: Bool[Tensor, "B M"],
    temperature: float,
) -> Scalar:
    """Estimate I(code; x) with chosen positives and negatives out of a bank; more is better.

    Eq. (6) of SPYL: mean over the batch of log φ(u, v⁺) / (φ(u, v⁺) + Σ_j φ(u, v⁻_j)), in nats,
    without the constant log(M + 1). `negatives[i]` says which members of the bank count for
    anchor i.
    """
    u, plus, minus = (F.normalize(v, dim=-1) for v in (anchor, positive, bank))
    agreement = (u * plus).sum(-1, keepdim=True) / temperature  # (B, 1)
    with torch.autocast(u.device.type, enabled=False):
        others = u @ minus.T / temperature  # (B, M)
    others = others.masked_fill(~negatives, -math.inf)
    return (agreement[:, 0] - torch.cat([agreement, others], 1).logsumexp(1)).mean()


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
    """I(s; d) = H(s) + H(d) − H(s, d), in nats; what one sequence adds is never below 0.

    Independent codes have log N, the bias of MWS. Far less is no independence: s of a sequence with
    a wide posterior is likelier under one narrow posterior, its d under another, and both together
    are likely under none. A loss that counts this gains hundreds of nats by it (docs/methods.md).
    """
    s, d = table.static, table.dynamic
    each = (s + d).logsumexp(1) - s.logsumexp(1) - d.logsumexp(1)
    return (each + math.log(size * len(s))).clamp(min=0).mean()


def code_input(log_q: Float[Tensor, "B B"], size: int) -> Scalar:
    """I(z; x) = H(z) − H(z | x), where H(z | x) = −E log q(z_i | x_i), in nats."""
    return entropy(log_q, size) + log_q.diagonal().mean()
