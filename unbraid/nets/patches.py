"""Video of objects that move as wholes: s gives image patches, d_t the position of each.

In no paper here; a relative of the spatial transformers of AIR (Eslami et al., NeurIPS 2016) and
DDPAE (Hsieh et al., NeurIPS 2018). A convolutional decoder must learn every shape anew at every
position. Here a patch has no position and a position no image, so that neither code can hold what
belongs to the other.

A position is a distribution over rows times one over columns, not a coordinate: it may be uncertain
at first, and its gradient comes from all positions and not only from the next pixel. To place a
patch S is then A S Bᵀ, with A[i, j] the probability that row j of the patch lies on row i of the
frame, and to crop the frame at a position is Aᵀ x B.
"""

import math
from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor, nn

from unbraid.nets.frames import SLOPE, every_step
from unbraid.records import Batch, Codes, Prediction, back_in_place

INITIAL_LOGIT = -2.0  # of a pixel of a patch: dark at the start
MIN_WIDTH = 0.3  # standard deviation of the sharpest position, in pixels
PlacementMatrix = Float[Tensor, "*N n k"]


def placement_matrix(position: Float[Tensor, "*N p"], side: int) -> PlacementMatrix:
    """Return the matrix that puts `side` rows at a position, (p + side − 1) x side.

    >>> placement_matrix(torch.tensor([0.0, 1.0]), 2)
    tensor([[0., 0.],
            [1., 0.],
            [0., 1.]])
    """
    padded = nn.functional.pad(position, (side - 1, side - 1))
    if torch.onnx.is_in_onnx_export():  # ONNX has no `unfold`; elsewhere that needs no copy
        rows = torch.arange(position.shape[-1] + side - 1)[:, None]
        return padded[..., rows - torch.arange(side) + side - 1]
    return padded.unfold(-1, side, 1).flip(-1)  # [i, j] is position[i - j]


def placement_distribution(logits: Float[Tensor, "*N 2"], count: int) -> Float[Tensor, "*N p"]:
    """Return a distribution over `count` positions from logits of its mean and its width.

    It is unimodal, whatever d is drawn: a patch is never at two positions.
    """
    mean, width = logits.sigmoid().unbind(-1)
    mean = (count - 1) * mean
    width = MIN_WIDTH + count * width / 2
    positions = torch.arange(count, device=logits.device)
    away = (positions - mean[..., None]) / width[..., None]
    return (-0.5 * away.square()).softmax(-1)


class PatchDecoder(nn.Module):
    """s -> patches, d_t -> where each is placed in x_t; pixels in [0, 1].

    Overlapping patches are combined as 1 − Π (1 − patch): what is bright stays bright.
    """

    def __init__(
        self,
        frame: tuple[int, ...],
        codes: tuple[int, int],
        hidden: int,
        *,
        patches: int,
        side: int,
    ) -> None:
        super().__init__()
        static, dynamic = codes
        channels, height, width = frame
        side = side or min(height, width) // 2
        if side > min(height, width):
            raise ValueError(
                f"patch_side={side} is larger than frames of {height}x{width}. "
                "Set it to the size of the largest object that moves, in pixels."
            )
        self.patch_shape = (patches, channels, side, side)
        self.patch_values = math.prod(self.patch_shape)
        self.positions = (height - side + 1, width - side + 1)
        self.painter = nn.Sequential(
            nn.Linear(static, hidden, bias=False),
            nn.LayerNorm(hidden),
            nn.LeakyReLU(SLOPE),
            nn.Linear(hidden, self.patch_values),
        )
        self.placer = nn.Sequential(
            nn.Linear(dynamic, hidden),
            nn.LeakyReLU(SLOPE),
            nn.Linear(hidden, hidden),
            nn.LeakyReLU(SLOPE),
            nn.Linear(hidden, 4 * patches),
        )

    def forward(self, codes: Codes, mask: Tensor | None = None) -> Prediction:
        """Return the frames, (B, T, C, H, W), or those of the steps in `mask`, (N, C, H, W)."""
        steps = every_step(codes.d) if mask is None else mask
        patches = (self.painter(codes.s) + INITIAL_LOGIT).sigmoid().unflatten(1, self.patch_shape)
        sequence, _ = steps.nonzero(as_tuple=True)
        rows, columns = self._matrices(codes.d[steps])
        placed = (rows @ patches[sequence] @ columns.transpose(-2, -1)).float()  # (N, K, C, H, W)
        frames = 1 - (1 - placed).prod(1)
        return Prediction(
            frames.reshape(*steps.shape, *frames.shape[1:]) if mask is None else frames
        )

    def crop(self, batch: Batch, d: Float[Tensor, "B T D"]) -> Float[Tensor, "B P"]:
        """Return the crops of x_t where d_t places the patches, mean over steps, flattened."""
        x, mask = batch.x_filled, batch.mask
        rows, columns = self._matrices(d[mask])
        crops = (rows.transpose(-2, -1) @ x[mask][:, None] @ columns).flatten(1)  # (N, K C k k)
        return back_in_place(crops, mask).sum(1) / mask.sum(1, keepdim=True).clamp(min=1)

    def _matrices(self, d: Float[Tensor, "N D"]) -> Iterator[PlacementMatrix]:
        """Return the matrices of rows and of columns, with an axis for channels."""
        patches, _, side, _ = self.patch_shape
        logits = self.placer(d).unflatten(1, (patches, 2, 2)).unbind(2)  # rows, columns
        for part, count in zip(logits, self.positions, strict=True):
            yield placement_matrix(placement_distribution(part, count), side)[:, :, None]
