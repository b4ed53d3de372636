"""Video of objects that move as wholes: s gives image patches, d_t the position of each.

In no paper here; a relative of the spatial transformers of AIR (Eslami et al., NeurIPS 2016) and
DDPAE (Hsieh et al., NeurIPS 2018). A convolutional decoder must learn every shape anew at every
position. Here a patch has no position and a position no image, so that neither code can hold what
belongs to the other. Every patch has its own share of s and of d_t; all patches are painted and
placed by the same network.

A position is a distribution over rows times one over columns, not a coordinate: it may be uncertain
at first, and its gradient comes from all positions and not only from the next pixel. To place a
patch S is then A S Bᵀ, with A[i, j] the probability that row j of the patch lies on row i of the
frame, and to crop the frame at a position is Aᵀ x B.
"""

import torch
from einops import rearrange
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import pad

from unbraid.nets.frames import SLOPE, doubling, every_step, halving
from unbraid.records import Codes, Prediction

INITIAL_LOGIT = -2.0  # of a pixel of a patch: dark at the start
MIN_WIDTH = 0.3  # standard deviation of the sharpest position, in pixels
CHANNELS = (32, 64, 128)  # of painter and reader, outermost first
GROUPS = 8  # of their GroupNorm
PLACER = 128  # units of the layer between d_t and a position
PlacementMatrix = Float[Tensor, "*N n k"]
Placement = tuple[Float[Tensor, "N 1 H k"], Float[Tensor, "N 1 W k"]]
"""Where a patch is: its matrices of rows and of columns."""


def placement_matrix(position: Float[Tensor, "*N p"], side: int) -> PlacementMatrix:
    """Return the matrix that puts `side` rows at a position, (p + side − 1) x side.

    >>> placement_matrix(torch.tensor([0.0, 1.0]), 2)
    tensor([[0., 0.],
            [1., 0.],
            [0., 1.]])
    """
    padded = pad(position, (side - 1, side - 1))
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


def placed_at(patch: Float[Tensor, "N C k k"], at: Placement) -> Float[Tensor, "N C H W"]:
    """Return frames that show a patch at its position and nothing else."""
    rows, columns = at
    return rows @ patch @ columns.transpose(-2, -1)


def cropped_at(frames: Float[Tensor, "N C H W"], at: Placement) -> Float[Tensor, "N C k k"]:
    """Return what frames show at the position of a patch."""
    rows, columns = at
    return rows.transpose(-2, -1) @ frames @ columns


class PatchDecoder(nn.Module):
    """s -> patches, d_t -> where each is placed in x_t; pixels in [0, 1].

    Overlapping patches are combined as 1 − Π (1 − patch): what is bright stays bright.
    """

    def __init__(
        self, frame: tuple[int, ...], codes: tuple[int, int], *, patches: int, side: int
    ) -> None:
        super().__init__()
        if any(size % patches for size in codes):
            raise ValueError(
                f"static_dim={codes[0]} and dynamic_dim={codes[1]} cannot be shared by {patches} "
                "patches. Set both to multiples of it."
            )
        channels, height, width = frame
        side = side or min(height, width) // 2
        if side > min(height, width):
            raise ValueError(
                f"patch_side={side} is larger than frames of {height}x{width}. "
                "Set it to the size of the largest object that moves, in pixels."
            )
        self.patches, self.side = patches, side
        self.positions = (height - side + 1, width - side + 1)
        static, dynamic = (size // patches for size in codes)
        inner, *others = CHANNELS[::-1]
        rounded = -(-side // 2 ** len(CHANNELS))
        layers: list[nn.Module] = [
            nn.Linear(static, inner * rounded**2),
            nn.Unflatten(1, (inner, rounded, rounded)),
        ]
        for fan_in, fan_out in zip(CHANNELS[::-1], (*others, channels), strict=True):
            layers += [nn.GroupNorm(GROUPS, fan_in), nn.LeakyReLU(SLOPE), doubling(fan_in, fan_out)]
        self.painter = nn.Sequential(*layers)
        self.placer = nn.Sequential(
            nn.Linear(dynamic, PLACER), nn.LeakyReLU(SLOPE), nn.Linear(PLACER, 4)
        )

    def forward(self, codes: Codes, mask: Tensor | None = None) -> Prediction:
        """Return the frames, (B, T, C, H, W), or those of the steps in `mask`, (N, C, H, W)."""
        steps = every_step(codes.d) if mask is None else mask
        static = rearrange(codes.s, "B (patch k) -> B patch k", patch=self.patches)
        patches = self.paint(static.flatten(0, 1)).unflatten(0, (-1, self.patches))
        sequence, _ = steps.nonzero(as_tuple=True)
        dynamic = rearrange(codes.d[steps], "N (patch k) -> (N patch) k", patch=self.patches)
        placed = placed_at(patches[sequence].flatten(0, 1), self.placement(dynamic))
        frames = 1 - (1 - placed.unflatten(0, (-1, self.patches))).prod(1)
        return Prediction(
            frames.reshape(*steps.shape, *frames.shape[1:]) if mask is None else frames
        )

    def paint(self, s: Float[Tensor, "N S"]) -> Float[Tensor, "N C k k"]:
        """Return the patch of the share of s that belongs to it."""
        logits = self.painter(s)[..., : self.side, : self.side].float()
        return (logits + INITIAL_LOGIT).sigmoid()

    def placement(self, d: Float[Tensor, "N D"]) -> Placement:
        """Return where a patch is by the share of d that belongs to it."""
        logits = self.placer(d).float().unflatten(1, (2, 2)).unbind(1)
        rows, columns = (
            placement_matrix(placement_distribution(part, count), self.side)[:, None]
            for part, count in zip(logits, self.positions, strict=True)
        )
        return rows, columns


class PatchReader(nn.Module):
    """Crops that show the same object -> features of what they show.

    It reads their median and their mean over time. What passes over the object in less than half of
    the steps is not in the median.
    """

    def __init__(self, channels: int, side: int, features: int) -> None:
        super().__init__()
        rounded = -(-side // 2 ** len(CHANNELS))
        self.margin = rounded * 2 ** len(CHANNELS) - side
        layers: list[nn.Module] = []
        for fan_in, fan_out in zip((2 * channels, *CHANNELS), CHANNELS, strict=False):
            layers += [halving(fan_in, fan_out), nn.GroupNorm(GROUPS, fan_out), nn.LeakyReLU(SLOPE)]
        self.net = nn.Sequential(
            *layers,
            nn.Flatten(),
            nn.Linear(CHANNELS[-1] * rounded**2, features),
            nn.LayerNorm(features),
            nn.LeakyReLU(SLOPE),
        )

    def forward(
        self, crops: Float[Tensor, "B T C k k"], mask: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "B H"]:
        """Return the features of what the existing steps have in common."""
        both = torch.cat([masked_median(crops, mask), masked_mean(crops, mask)], 1)
        return self.net(pad(both, (0, self.margin, 0, self.margin)))


def masked_median(x: Float[Tensor, "B T *F"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, " B *F"]:
    """Return the median over the existing steps; of an even number the lower of the middle two.

    >>> masked_median(torch.tensor([[3.0, 1.0, 2.0, 0.0]]), torch.arange(4)[None] < 3)
    tensor([2.])
    """
    counts = mask.reshape(*mask.shape, *(1 for _ in x.shape[2:]))
    ordered = x.masked_fill(~counts, torch.inf).sort(1).values
    middle = (counts.sum(1, keepdim=True) - 1).clamp(min=0) // 2
    return ordered.gather(1, middle.expand(-1, 1, *x.shape[2:])).squeeze(1)


def masked_mean(x: Float[Tensor, "B T *F"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, " B *F"]:
    """Return the mean over the existing steps."""
    counts = mask.reshape(*mask.shape, *(1 for _ in x.shape[2:]))
    return (x * counts).sum(1) / counts.sum(1).clamp(min=1)
