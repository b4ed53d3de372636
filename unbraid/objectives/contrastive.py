"""InfoNCE estimates of mutual information by cosine similarity."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from unbraid.parallel.gather import gather
from unbraid.precision import full_precision
from unbraid.records import Scalar


def info_nce(a: Float[Tensor, "B K"], b: Float[Tensor, "B K"], *, temperature: float) -> Scalar:
    """Estimate I(code; x) from two views, a_i and b_i of sequence i; more is better.

    Eq. (7) and (8) of C-DSVAE: the mean over both directions (anchor a, then anchor b) of
    E_i [ log φ(a_i, b_i) / Σ_j φ(a_i, b_j) ] + log(n + 1), φ = exp(cos / τ), where the negatives
    are the views of the other n = B − 1 sequences. At most log B, in nats, mean over the batch,
    that of all processes if several share it.
    """
    a, b = gather((a, b))
    with full_precision(a.device):
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
    with full_precision(u.device):
        others = u @ minus.T / temperature  # (B, M)
    others = others.masked_fill(~negatives, -math.inf)
    return (agreement[:, 0] - torch.cat([agreement, others], 1).logsumexp(1)).mean()
