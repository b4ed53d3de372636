"""A series in other units: each channel louder or softer, from start to end."""

import torch
from jaxtyping import Float
from torch import Tensor

from unbraid.records import Batch
from unbraid.shapes import check_axes


def scale_channels(x: Float[Tensor, "B T W F"], spread: float = 0.2) -> Float[Tensor, "B T W F"]:
    """Multiply every channel of every sequence by one random factor, exp(spread · N(0, 1)).

    Series have no accepted motion view: the level of a channel can be identity in one data set
    and dynamics in another. This is an option to try, not a default; values are taken as
    standardised, so that the factor acts around the training mean.
    """
    check_axes("x", x.shape, "B T W F")
    if spread < 0:
        raise ValueError(f"spread must not be negative, got {spread}.")
    return x * torch.exp(spread * torch.randn_like(x[:, :1, :1]))  # (B, 1, 1, F)


@torch.no_grad()
def scaled_view(batch: Batch) -> Batch:
    """Return the sequences with every channel scaled."""
    return batch.with_x(scale_channels(batch.x))
