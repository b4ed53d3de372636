"""Video: a convolutional pyramid down to one feature vector per frame, and back up.

The innermost layer (a 4x4 convolution over a 4x4 map in the papers) is a `Linear` over the
flattened map: the same function, several times faster on a CPU.
"""

from functools import partial
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d, linear

from unbraid.records import Batch, Codes, Features, Prediction, chosen_steps, per_step

SLOPE = 0.2
halving = partial(nn.Conv2d, kernel_size=4, stride=2, padding=1)
doubling = partial(nn.ConvTranspose2d, kernel_size=4, stride=2, padding=1)


def inner_size(frame: tuple[int, ...], stages: int) -> tuple[int, int]:
    """Return height and width after `stages` halvings, or say which sizes would do."""
    _, height, width = frame
    step = 2**stages
    if height % step or width % step:
        raise ValueError(
            f"frames of {height}x{width} cannot be halved {stages} times. "
            f"Resize to multiples of {step}, or give net.channels fewer entries."
        )
    return height // step, width // step


def shrunk(frame: tuple[int, ...], shrink: int) -> tuple[int, ...]:
    """Return the shape of a frame averaged over squares, or say that it cannot be.

    >>> shrunk((3, 64, 64), 2)
    (3, 32, 32)
    """
    if any(side % shrink for side in frame[1:]):
        raise ValueError(
            f"frames of {frame[1]}x{frame[2]} cannot be shrunk {shrink} times. Resize them, or set "
            "net.shrink to a divisor of both."
        )
    return (frame[0], *(side // shrink for side in frame[1:]))


def fitting_shrink(frame: tuple[int, ...], halvings: int) -> int:
    """Return 2 if halved frames can still be halved so often and keep two pixels a side, else 1.

    >>> fitting_shrink((3, 64, 64), 4), fitting_shrink((1, 32, 64), 4)
    (2, 1)
    """
    least = 2 ** (halvings + 1)
    return 2 if all(side % least == 0 and side >= 2 * least for side in frame[1:]) else 1


class FrameEncoder(nn.Module):
    """x_t -> features, for each frame on its own."""

    def __init__(
        self, frame: tuple[int, ...], channels: tuple[int, ...], features: int, *, shrink: int = 1
    ) -> None:
        super().__init__()
        self.shrink = shrink
        height, width = inner_size(shrunk(frame, shrink), len(channels))
        layers: list[nn.Module] = []
        for fan_in, fan_out in zip((frame[0], *channels), channels, strict=False):
            # No bias: the BatchNorm behind it would take it out again.
            layers += [
                halving(fan_in, fan_out, bias=False),
                nn.BatchNorm2d(fan_out),
                nn.LeakyReLU(SLOPE, inplace=True),
            ]
        self.pyramid = nn.Sequential(*layers).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.head = nn.Sequential(
            nn.Linear(channels[-1] * height * width, features, bias=False),
            nn.BatchNorm1d(features),
            nn.Tanh(),
        )
        self.features = features

    def forward(self, batch: Batch) -> Features:
        """Return the features of every frame."""
        return per_step(self._encode, batch.x_filled, batch.mask)

    def _encode(self, x: Float[Tensor, "N C H W"]) -> Float[Tensor, "N K"]:
        x = x.contiguous(memory_format=torch.channels_last)
        x = x if self.shrink == 1 else avg_pool2d(x, self.shrink)
        return self.head(self.pyramid(x).flatten(1))


class FrameDecoder(nn.Module):
    """(s, d_t) -> x_t, for each frame on its own; pixels in [0, 1]."""

    def __init__(self, frame: tuple[int, ...], channels: tuple[int, ...], code: int) -> None:
        super().__init__()
        upward = channels[::-1]
        self.inner = (upward[0], *inner_size(frame, len(channels)))
        height, width = self.inner[1:]
        self.root = nn.Linear(code, upward[0] * height * width, bias=False)
        layers: list[nn.Module] = [nn.BatchNorm2d(upward[0]), nn.LeakyReLU(SLOPE, inplace=True)]
        for fan_in, fan_out in pairwise(upward):
            layers += [
                doubling(fan_in, fan_out, bias=False),
                nn.BatchNorm2d(fan_out),
                nn.LeakyReLU(SLOPE, inplace=True),
            ]
        layers += [doubling(upward[-1], frame[0])]
        self.pyramid = nn.Sequential(*layers).to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def forward(self, codes: Codes, mask: Tensor | None = None) -> Prediction:
        """Return the frames, (B, T, C, H, W), or those of the steps in `mask`, (N, C, H, W).

        The first layer is linear in (s, d_t), so the share of s is computed once per sequence.
        """
        static, dynamic = self.root.weight.split([codes.s.shape[1], codes.d.shape[2]], dim=1)
        inner = linear(codes.d, dynamic) + linear(codes.s, static)[:, None]  # (B, T, K)
        if mask is None:
            frames = self._decode(inner.flatten(0, 1))
            return Prediction(frames.reshape(*inner.shape[:2], *frames.shape[1:]))
        return Prediction(self._decode(chosen_steps(inner, mask)))

    def _decode(self, inner: Float[Tensor, "N K"]) -> Float[Tensor, "N C H W"]:
        inner_map = inner.unflatten(1, self.inner)
        pictures = self.pyramid(inner_map.contiguous(memory_format=torch.channels_last))
        return pictures.float().sigmoid()


def join(codes: Codes) -> Float[Tensor, "B T K"]:
    """Return s beside d_t at every step."""
    s = codes.s[:, None].expand(-1, codes.d.shape[1], -1)
    return torch.cat([s, codes.d], -1)


def every_step(z: Float[Tensor, "B T K"]) -> Tensor:
    """Return a mask in which every step counts."""
    return torch.ones(z.shape[:2], dtype=torch.bool, device=z.device)
