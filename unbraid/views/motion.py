"""A signal of motion at every step, computed from the data: yes or no, several times.

S3VAE takes optical flow of a trained net for video and landmarks for faces; neither is needed here.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import adaptive_avg_pool2d

from unbraid.records import Batch, Kind

GRID, MOST = 3, 3  # video: cells a side, and how many of them count as moving
Labels = tuple[Float[Tensor, "B T K"], Bool[Tensor, "B T K"]]


def signal_size(kind: Kind, frame: tuple[int, ...]) -> int:
    """Return how many answers a step has."""
    return {"video": GRID * GRID, "audio": 1, "series": frame[-1]}[kind]


@torch.no_grad()
def motion_signal(kind: Kind, batch: Batch) -> Labels:
    """Return answers 0 or 1 for every step, and which of them are known.

    Video: the three cells of a 3 x 3 grid that change most since the last frame. Audio: columns
    whose energy lies below the median of their sequence. Series: channels whose mean over the
    window has risen since the last window.
    """
    x = batch.x.where(batch.valid, 0.0)
    if kind == "audio":
        energy = x.mean(-1)
        median = energy.masked_fill(~batch.mask, torch.nan).nanmedian(1, keepdim=True).values
        return (energy < median)[..., None].float(), batch.mask[..., None]
    return _moving_cells(x, batch) if kind == "video" else _rising_channels(x, batch)


def _moving_cells(x: Tensor, batch: Batch) -> Labels:
    change = torch.zeros_like(x)
    change[:, 1:] = (x[:, 1:] - x[:, :-1]).abs()
    cells = adaptive_avg_pool2d(change.mean(2), GRID).flatten(2)  # (B, T, 9)
    largest = cells.topk(MOST, dim=-1).indices
    labels = torch.zeros_like(cells).scatter_(-1, largest, 1.0)
    return labels, _after_first(batch.mask)[..., None].expand_as(labels)


def _rising_channels(x: Tensor, batch: Batch) -> Labels:
    counts = batch.valid.expand_as(x)
    known = counts.any(2)  # (B, T, F)
    means = x.sum(2) / counts.sum(2).clamp(min=1)
    labels, both = torch.zeros_like(means), torch.zeros_like(known)
    labels[:, 1:] = (means[:, 1:] > means[:, :-1]).float()
    both[:, 1:] = known[:, 1:] & known[:, :-1]
    return labels, both & _after_first(batch.mask)[..., None]


def _after_first(mask: Bool[Tensor, "B T"]) -> Bool[Tensor, "B T"]:
    """Return the steps that exist and have one before them."""
    steps = torch.zeros_like(mask)
    steps[:, 1:] = mask[:, 1:] & mask[:, :-1]
    return steps
