"""The loss of denoising, and the path from noise to data (EDM: Karras et al., NeurIPS 2022)."""

from collections.abc import Callable
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor

HIGHEST, LOWEST, BEND = 80.0, 0.002, 7.0  # σ_max, σ_min, ρ


def noise_weight(sigma: Float[Tensor, " N"], sigma_data: float) -> Float[Tensor, " N"]:
    """Return λ(σ) = (σ² + σ_d²) / (σ σ_d)², which makes all noise levels count alike.

    >>> noise_weight(torch.tensor([0.5]), 0.5).item()
    8.0
    """
    return (sigma.square() + sigma_data**2) / (sigma * sigma_data).square()


def noise_levels(steps: int) -> Float[Tensor, " K"]:
    """Return σ_max, ..., σ_min, 0: `steps` levels and zero, bent by ρ = 7."""
    share = torch.linspace(0, 1, steps)
    ends = (HIGHEST ** (1 / BEND), LOWEST ** (1 / BEND))
    levels = (ends[0] + share * (ends[1] - ends[0])) ** BEND
    return torch.cat([levels, torch.zeros(1)])


def heun(
    denoise: Callable[[Tensor, float], Tensor], x: Float[Tensor, " N *F"], steps: int
) -> Float[Tensor, " N *F"]:
    """Follow dx/dσ = (x − D(x; σ)) / σ from σ_max to 0 by Heun's method, 2 · steps − 1 evaluations.

    Args:
        denoise: (x, σ) -> D(x; σ).
        x: where the path starts.
        steps: how many noise levels.
    """
    levels = noise_levels(steps).tolist()
    for now, after in pairwise(levels):
        slope = (x - denoise(x, now)) / now
        ahead = x + (after - now) * slope
        if after > 0:
            slope = 0.5 * (slope + (ahead - denoise(ahead, after)) / after)
            ahead = x + (after - now) * slope
        x = ahead
    return x
