"""Maximum mean discrepancy of two sets of codes, with the kernel of Wasserstein autoencoders."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

SCALES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


def mmd(
    q: Float[Tensor, "*G B K"], p: Float[Tensor, "*G B K"], valid: Bool[Tensor, "*G B"]
) -> Float[Tensor, "*G"]:
    """Return the unbiased estimate of MMD², one for each set; it can be below zero.

    Means over pairs of different members within q and within p, less twice the mean over all pairs
    across; kernel Σ_c C / (C + ‖u − v‖²), C = 2 K c, c in 0.1 ... 10. A set with fewer than two
    valid members is 0.
    """
    w = valid.to(q.dtype)
    n = w.sum(-1)
    both = w[..., :, None] * w[..., None, :]
    other = both * (1 - torch.eye(w.shape[-1], dtype=w.dtype, device=w.device))
    with torch.autocast(q.device.type, enabled=False):
        within = ((_kernel(q, q) + _kernel(p, p)) * other).sum((-2, -1))
        across = (_kernel(q, p) * both).sum((-2, -1))
    value = within / (n * (n - 1)).clamp(min=1) - 2 * across / n.square().clamp(min=1)
    return value.where(n >= 2, 0.0)


def _kernel(u: Float[Tensor, "*G B K"], v: Float[Tensor, "*G B K"]) -> Float[Tensor, "*G B B"]:
    squared = (u[..., :, None, :] - v[..., None, :, :]).square().sum(-1)
    return torch.stack([2 * u.shape[-1] * c / (2 * u.shape[-1] * c + squared) for c in SCALES]).sum(
        0
    )
