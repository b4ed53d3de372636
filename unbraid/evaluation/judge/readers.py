"""What a judge reads a sequence with: features of every step, and of the sequence as a whole.

`RecurrentReader` looks at whole frames and at their order. `AttentionReader` looks at places: one
head may follow one object, whatever else is in the frame, so that several moving objects are told
apart. On SM-MNIST it names the pair of digits better, and in a quarter of the time.
"""

from itertools import pairwise

import numpy as np
import torch
from einops import rearrange, reduce
from jaxtyping import Bool, Float
from torch import Tensor, nn

from unbraid.latents.recurrent import run_recurrent
from unbraid.nets import NetConfig, encoder_for
from unbraid.nets.frames import halving, inner_size
from unbraid.records import Batch, Spec, per_step

StepFeatures = Float[Tensor, "B T H"]
SequenceFeatures = Float[Tensor, "B K"]
ELASTIC_STEP = 8  # pixels between independent shifts of an elastic distortion


class RecurrentReader(nn.Module):
    """A bidirectional LSTM over the features of whole steps; the sequence is its mean."""

    def __init__(self, spec: Spec, net: NetConfig) -> None:
        super().__init__()
        self.encoder = encoder_for(spec, net)
        self.lstm = nn.LSTM(self.encoder.features, net.hidden, batch_first=True, bidirectional=True)
        self.step_size = self.sequence_size = 2 * net.hidden

    def forward(self, batch: Batch) -> tuple[StepFeatures, SequenceFeatures]:
        """Return the features of every step and of the sequence."""
        steps, _ = run_recurrent(self.lstm, self.encoder(batch), batch.mask)
        weights = batch.mask[..., None].to(steps.dtype)
        pooled = reduce(steps * weights, "B T H -> B H", "sum") / weights.sum(1).clamp(min=1.0)
        return steps, pooled


class AttentionReader(nn.Module):
    """Video: a convolutional map per frame, and heads that attend to places of it.

    A step is what every head sees there and where it looks; the sequence is what every head sees
    when it attends to all places of all steps at once. The order of steps does not matter.
    """

    places: Tensor

    def __init__(self, spec: Spec, channels: tuple[int, ...], heads: int, depth: int = 1) -> None:
        super().__init__()
        if spec.kind != "video":
            raise ValueError(
                f"judge.reader=attention looks at places in frames, and {spec.name} is "
                f"{spec.kind}. Use judge.reader=recurrent."
            )
        layers: list[nn.Module] = [*_layer(halving(spec.frame[0], channels[0], bias=False))]
        for fan_in, fan_out in pairwise(channels):
            layers += _layer(halving(fan_in, fan_out, bias=False))
            layers += _layer(nn.Conv2d(fan_out, fan_out, 3, padding=1, bias=False))
            layers += [_Residual(fan_out) for _ in range(depth - 1)]
        self.pyramid = nn.Sequential(*layers).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        size = channels[-1]
        self.score, self.value = nn.Conv2d(size, heads, 1), nn.Conv2d(size, size, 1)
        height, width = inner_size(spec.frame, len(channels))
        rows, columns = torch.meshgrid(
            torch.linspace(-1, 1, height), torch.linspace(-1, 1, width), indexing="ij"
        )
        self.register_buffer("places", torch.stack([rows.ravel(), columns.ravel()], 1))
        self.heads = heads
        self.step_size, self.sequence_size = heads * (size + 2), heads * size

    def forward(self, batch: Batch) -> tuple[StepFeatures, SequenceFeatures]:
        """Return the features of every step and of the sequence."""
        read = per_step(self._map, batch.x_filled, batch.mask)  # (B, T, P, heads + size)
        with torch.autocast(read.device.type, enabled=False):
            scores, values = read.float().split([self.heads, read.shape[-1] - self.heads], -1)
            return _attend_in_steps(scores, values, self.places), _attend(
                scores, values, batch.mask
            )

    def _map(self, x: Float[Tensor, "N C H W"]) -> Float[Tensor, "N P K"]:
        inner = self.pyramid(x.contiguous(memory_format=torch.channels_last))
        read = torch.cat([self.score(inner), self.value(inner).relu()], 1)
        return rearrange(read, "N K H W -> N (H W) K")


class _Residual(nn.Module):
    """relu(x + what a 3 x 3 convolution adds to it)."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.added = nn.Sequential(
            nn.Conv2d(size, size, 3, padding=1, bias=False), nn.BatchNorm2d(size)
        )

    def forward(self, x: Float[Tensor, "N C H W"]) -> Float[Tensor, "N C H W"]:
        return (x + self.added(x)).relu()


def _layer(convolution: nn.Module) -> list[nn.Module]:
    size = int(convolution.out_channels)  # type: ignore[arg-type]
    return [convolution, nn.BatchNorm2d(size), nn.ReLU(inplace=True)]


def _attend(
    scores: Float[Tensor, "B T P heads"],
    values: Float[Tensor, "B T P size"],
    mask: Bool[Tensor, "B T"],
) -> SequenceFeatures:
    """Return what every head sees of all places of all existing steps."""
    scores = scores.masked_fill(~mask[..., None, None], -torch.inf)
    weights = scores.flatten(1, 2).softmax(1)
    return torch.einsum("bph,bpk->bhk", weights, values.flatten(1, 2)).flatten(1)


def _attend_in_steps(
    scores: Float[Tensor, "B T P heads"],
    values: Float[Tensor, "B T P size"],
    places: Float[Tensor, "P 2"],
) -> StepFeatures:
    """Return what every head sees of the places of each step, and where it looks."""
    weights = scores.softmax(2)
    seen = torch.einsum("btph,btpk->bthk", weights, values)
    where = torch.einsum("btph,pk->bthk", weights, places)
    return torch.cat([seen, where], -1).flatten(2)


def distorted(
    x: Float[Tensor, "B T C H W"],
    strength: float,
    draws: np.random.Generator,
    elastic: float = 0.0,
) -> Float[Tensor, "B T C H W"]:
    """Return sequences turned, sheared and zoomed about the middle, each in a way of its own.

    The frames of a sequence are distorted alike. What comes in from outside is zero. `elastic` adds
    a smooth field of shifts, independent normal draws about every `ELASTIC_STEP` pixels with that
    deviation in pixels (Simard et al., ICDAR 2003).
    """
    change = strength * draws.uniform(-1, 1, (len(x), 2, 2))
    matrix = np.concatenate([np.eye(2) + change, np.zeros((len(x), 2, 1))], 2)
    theta = torch.as_tensor(matrix, dtype=x.dtype, device=x.device)
    frames = x.flatten(1, 2)  # (B, T C, H, W)
    grid = nn.functional.affine_grid(theta, list(frames.shape), align_corners=False)
    if elastic:
        grid = grid + _shifts((frames.shape[-2], frames.shape[-1]), len(x), elastic, draws).to(grid)
    return nn.functional.grid_sample(frames, grid, align_corners=False).reshape(x.shape)


def _shifts(
    frame: tuple[int, int], count: int, elastic: float, draws: np.random.Generator
) -> Float[Tensor, "B H W 2"]:
    """Return smooth random shifts in the units of `grid_sample`, where a frame is 2 wide."""
    coarse = [max(4, round(size / ELASTIC_STEP) + 1) for size in frame]
    scale = elastic * 2 / np.array(frame[::-1])[:, None, None]  # x, then y
    nodes = torch.as_tensor(scale * draws.standard_normal((count, 2, *coarse)))
    field = nn.functional.interpolate(nodes, size=frame, mode="bicubic", align_corners=True)
    return rearrange(field, "B two H W -> B H W two")
