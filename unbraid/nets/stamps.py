"""Video of things that move about as wholes: s paints pictures, d_t says where they are put.

In no paper here; a relative of the spatial transformers of AIR (Eslami et al., NeurIPS 2016) and
DDPAE (Hsieh et al., NeurIPS 2018). A convolutional decoder must learn every shape anew at every
place. Here a picture has no place and a place no picture, so that neither code can hold what
belongs to the other.

A place is a distribution over rows times one over columns, not a coordinate: it may be unsure at
first, and its gradient comes from all places and not only from the next pixel. To put a picture S
somewhere is then A S Bᵀ, with A[i, j] the probability that row j of the picture lies on row i of
the frame, and to look where something is put is Aᵀ x B.
"""

import math
from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor, nn

from unbraid.nets.frames import SLOPE, every_step
from unbraid.records import Batch, Codes, Prediction, back_in_place

FAINT = -2.0  # logit of a pixel of a picture at the start
SHARP = 0.3  # width of a place that is as sure as can be, in pixels
Band = Float[Tensor, "*N n k"]


def spread(place: Float[Tensor, "*N p"], side: int) -> Band:
    """Return the matrix that puts `side` rows where `place` says, (p + side − 1) x side.

    >>> spread(torch.tensor([0.0, 1.0]), 2)
    tensor([[0., 0.],
            [1., 0.],
            [0., 1.]])
    """
    padded = nn.functional.pad(place, (side - 1, side - 1))
    return padded.unfold(-1, side, 1).flip(-1)  # [i, j] is place[i - j]


def where(told: Float[Tensor, "*N 2"], count: int) -> Float[Tensor, "*N p"]:
    """Return a distribution over `count` places from its middle and its width, as logits.

    It has one peak, whatever d is drawn: a picture is never in two places.
    """
    middle, width = told.sigmoid().unbind(-1)
    middle = (count - 1) * middle
    width = SHARP + count * width / 2
    places = torch.arange(count, device=told.device)
    away = (places - middle[..., None]) / width[..., None]
    return (-0.5 * away.square()).softmax(-1)


class StampDecoder(nn.Module):
    """s -> pictures, d_t -> where each is put in x_t; pixels in [0, 1].

    Where pictures overlap, 1 − Π (1 − picture) shows: what is bright stays bright.
    """

    def __init__(
        self, frame: tuple[int, ...], codes: tuple[int, int], hidden: int, *, stamps: int, side: int
    ) -> None:
        super().__init__()
        static, dynamic = codes
        channels, height, width = frame
        side = side or min(height, width) // 2
        if side > min(height, width):
            raise ValueError(
                f"net.stamp_side={side} is larger than frames of {height}x{width}. "
                "Set it to the size of the largest thing that moves, in pixels."
            )
        self.stamp = (stamps, channels, side, side)
        self.seen = math.prod(self.stamp)
        self.places = (height - side + 1, width - side + 1)
        self.painter = nn.Sequential(
            nn.Linear(static, hidden, bias=False),
            nn.LayerNorm(hidden),
            nn.LeakyReLU(SLOPE),
            nn.Linear(hidden, self.seen),
        )
        self.placer = nn.Sequential(
            nn.Linear(dynamic, hidden),
            nn.LeakyReLU(SLOPE),
            nn.Linear(hidden, hidden),
            nn.LeakyReLU(SLOPE),
            nn.Linear(hidden, 4 * stamps),
        )

    def forward(self, codes: Codes, mask: Tensor | None = None) -> Prediction:
        """Return the frames, (B, T, C, H, W), or those of the steps in `mask`, (N, C, H, W)."""
        shown = every_step(codes.d) if mask is None else mask
        stamps = (self.painter(codes.s) + FAINT).sigmoid().unflatten(1, self.stamp)
        sequence, _ = shown.nonzero(as_tuple=True)
        rows, columns = self._bands(codes.d[shown])
        put = (rows @ stamps[sequence] @ columns.mT).float()  # (N, K, C, H, W)
        frames = 1 - (1 - put).prod(1)
        return Prediction(frames.unflatten(0, shown.shape) if mask is None else frames)

    def look(self, batch: Batch, d: Float[Tensor, "B T D"]) -> Float[Tensor, "B P"]:
        """Return what is seen where d_t puts the pictures, the mean over steps, flattened."""
        x, mask = batch.known, batch.mask
        rows, columns = self._bands(d[mask])
        seen = (rows.mT @ x[mask][:, None] @ columns).flatten(1)  # (N, K C k k)
        return back_in_place(seen, mask).sum(1) / mask.sum(1, keepdim=True).clamp(min=1)

    def _bands(self, d: Float[Tensor, "N D"]) -> Iterator[Band]:
        """Return the matrices of rows and of columns, with an axis for channels."""
        stamps, _, side, _ = self.stamp
        told = self.placer(d).unflatten(1, (stamps, 2, 2)).unbind(2)  # rows, columns
        places = (where(part, count) for part, count in zip(told, self.places, strict=True))
        return (spread(place, side)[:, :, None] for place in places)
