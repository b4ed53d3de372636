"""A denoiser of single elements: windows of series, spectrogram columns, small frames.

A multi-layer perceptron with skip connections; codes and noise level scale and shift every hidden
layer after its norm.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

BLOCKS = 4


class Block(nn.Module):
    """h + W(silu(scale · norm(h) + shift)), with scale and shift from the condition."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width, elementwise_affine=False)
        self.modulate = nn.Linear(width, 2 * width)
        self.linear = nn.Linear(width, width)

    def forward(self, h: Float[Tensor, "N K"], c: Float[Tensor, "N K"]) -> Float[Tensor, "N K"]:
        """Return the next hidden layer."""
        scale, shift = self.modulate(c).chunk(2, -1)
        return h + self.linear(nn.functional.silu(self.norm(h) * (1 + scale) + shift))


class Denoiser(nn.Module):
    """D(x; σ, z) = c_skip x + c_out F(c_in x, ln σ / 4, z), the preconditioning of EDM.

    c_skip = σ_d² / (σ² + σ_d²), c_out = σ σ_d / √(σ² + σ_d²), c_in = 1 / √(σ² + σ_d²), where
    σ_d is the standard deviation of the data.
    """

    def __init__(self, frame: tuple[int, ...], code: int, width: int, *, sigma_data: float) -> None:
        super().__init__()
        self.frame, self.sigma_data = frame, sigma_data
        size = math.prod(frame)
        self.enter = nn.Linear(size, width)
        self.condition = nn.Sequential(nn.Linear(code + 1, width), nn.SiLU())
        self.blocks = nn.ModuleList(Block(width) for _ in range(BLOCKS))
        self.leave = nn.Linear(width, size)

    def forward(
        self, x: Float[Tensor, " N *F"], sigma: Float[Tensor, " N"], z: Float[Tensor, "N K"]
    ) -> Float[Tensor, " N *F"]:
        """Return what is expected behind the noise."""
        skip, out, into = (c[:, None] for c in preconditioning(sigma, self.sigma_data))
        flat = x.flatten(1)
        c = self.condition(torch.cat([z, (sigma.log() / 4)[:, None]], -1))
        h = self.enter(into * flat)
        for block in self.blocks:
            h = block(h, c)
        return (skip * flat + out * self.leave(h).float()).unflatten(1, self.frame)


def preconditioning(
    sigma: Float[Tensor, " N"], sigma_data: float
) -> tuple[Float[Tensor, " N"], Float[Tensor, " N"], Float[Tensor, " N"]]:
    """Return c_skip, c_out, c_in.

    >>> [round(c.item(), 4) for c in preconditioning(torch.tensor([0.5]), 0.5)]
    [0.5, 0.3536, 1.4142]
    """
    total = sigma.square() + sigma_data**2
    return sigma_data**2 / total, sigma * sigma_data / total.sqrt(), 1 / total.sqrt()
