"""Video of objects that move: features that say where something is, at once and at any place."""

from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d

from unbraid.nets.frames import SLOPE, halving, inner_size, shrunk
from unbraid.records import Batch, Features, per_step

wide = partial(nn.Conv2d, kernel_size=3, padding=2, dilation=2)
HEADS = 8  # places that are looked for
SEEN = 4  # numbers that say what is at such a place


class PlaceEncoder(nn.Module):
    """x_t -> where each of some heads looks, and what it sees there; for each frame on its own.

    A head is a distribution over the places of a convolutional map, and says its mean: positions
    need not be learned one by one, as by a linear layer over the map (Finn et al., "Deep spatial
    autoencoders", ICRA 2016). It has no normalisation, so that it may look at frames and at what
    is left of them alike.
    """

    def __init__(self, frame: tuple[int, ...], width: int, *, shrink: int = 1) -> None:
        super().__init__()
        self.shrink = shrink
        self.map = nn.Sequential(
            halving(frame[0], width),
            nn.LeakyReLU(SLOPE, inplace=True),
            wide(width, width),
            nn.LeakyReLU(SLOPE, inplace=True),
            wide(width, width),
            nn.LeakyReLU(SLOPE, inplace=True),
        ).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.heads = nn.Conv2d(width, HEADS, 1)
        self.look = nn.Linear(width, SEEN)
        self.size = inner_size(shrunk(frame, shrink), 1)
        self.features = HEADS * (2 + SEEN)

    def forward(self, batch: Batch) -> Features:
        """Return the features of every frame."""
        return per_step(self._encode, batch.x_filled, batch.mask)

    def _encode(self, x: Float[Tensor, "N C H W"]) -> Float[Tensor, "N K"]:
        x = x if self.shrink == 1 else avg_pool2d(x, self.shrink)
        inner = self.map(x.contiguous(memory_format=torch.channels_last))
        scores = self.heads(inner)
        with torch.autocast(x.device.type, enabled=False):
            weights = scores.float().flatten(2).softmax(-1)  # (N, heads, P)
            seen = self.look(weights @ inner.float().flatten(2).transpose(1, 2))
            rows, columns = (
                weights.unflatten(2, self.size).sum(axis) @ torch.linspace(-2, 2, side).to(x.device)
                for axis, side in zip((3, 2), self.size, strict=True)
            )
            return torch.cat([rows, columns, seen.flatten(1)], 1)
