"""The same frames in another order: static factors are kept, dynamic ones are not.

An order is (B, T) step numbers; padding keeps its place, so masks need not be touched.
"""

from typing import Literal

import torch
from jaxtyping import Bool, Int, Shaped
from torch import Tensor


def static_order(view: Literal["shuffle", "reverse"], h: Tensor, mask: Tensor) -> Tensor:
    """Return the same steps in another order: static factors are kept, dynamic ones are not."""
    return shuffle_steps(h, mask) if view == "shuffle" else reverse_steps(h, mask)


def shuffle_steps(
    h: Shaped[Tensor, "B T *F"], mask: Bool[Tensor, "B T"]
) -> Shaped[Tensor, "B T *F"]:
    """Put the steps of each sequence into a random order of its own."""
    return reorder(h, shuffled_order(mask))


def reverse_steps(
    h: Shaped[Tensor, "B T *F"], mask: Bool[Tensor, "B T"]
) -> Shaped[Tensor, "B T *F"]:
    """Play each sequence backwards, from its last step, not from its padding."""
    return reorder(h, reversed_order(mask))


def shuffled_order(mask: Bool[Tensor, "B T"]) -> Int[Tensor, "B T"]:
    """Return one random permutation of the valid steps per sequence."""
    keys = torch.rand(mask.shape, device=mask.device).masked_fill(~mask, torch.inf)
    return keys.argsort(dim=1, stable=True)  # equal keys, the padding, stay as they are


def reversed_order(mask: Bool[Tensor, "B T"]) -> Int[Tensor, "B T"]:
    """Return the valid steps of each sequence from last to first."""
    steps = torch.arange(mask.shape[1], device=mask.device).expand(mask.shape)
    return torch.where(mask, mask.sum(1, keepdim=True) - 1 - steps, steps)


def reorder(h: Shaped[Tensor, "B T *F"], order: Int[Tensor, "B T"]) -> Shaped[Tensor, "B T *F"]:
    """Return `h[b, order[b, t]]` for all b and t."""
    rows = torch.arange(len(h), device=h.device)[:, None]
    return h[rows, order]
