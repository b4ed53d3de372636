"""An example of an adapter: a plain convolutional autoencoder of videos, frame by frame."""

from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class FrameAutoencoder(nn.Module):
    """Four convolutions down to a code per frame, four up again; a Gaussian code, squared error."""

    name = "frame autoencoder"

    def __init__(self, colours: int, side: int, code: int) -> None:
        super().__init__()
        sizes, self.inner = (colours, 16, 32, 64, 128), side // 16
        flat = sizes[-1] * self.inner**2
        pairs = list(pairwise(sizes))
        down = [m for a, b in pairs for m in (nn.Conv2d(a, b, 4, 2, 1), nn.ReLU())]
        up = [m for a, b in pairs[::-1] for m in (nn.ReLU(), nn.ConvTranspose2d(b, a, 4, 2, 1))]
        self.down = nn.Sequential(*down, nn.Flatten(), nn.Linear(flat, 2 * code))
        self.up = nn.Sequential(
            nn.Linear(code, flat), nn.Unflatten(1, (sizes[-1], self.inner, self.inner)), *up
        )
        self.optimizer = torch.optim.Adam(self.parameters(), lr=1e-3)

    def train_step(self, x: Tensor) -> None:
        """Take one step on the evidence bound."""
        frames = x.flatten(0, 1)
        mean, log_var = self.down(frames).chunk(2, -1)
        z = mean + (0.5 * log_var).exp() * torch.randn_like(mean)
        kl = 0.5 * (log_var.exp() + mean.square() - log_var - 1).sum()
        loss = F.mse_loss(self.up(z).sigmoid(), frames, reduction="sum") + kl
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    @torch.no_grad()
    def encode(self, x: Tensor) -> Tensor:
        """Return the mean code of every frame."""
        return self.down(x.flatten(0, 1)).chunk(2, -1)[0].unflatten(0, x.shape[:2])


def build(spec: dict[str, Any]) -> FrameAutoencoder:
    """Return a model for frames of this size."""
    colours, side, _ = spec["frame"]
    return FrameAutoencoder(colours, side, spec["static_dim"] + spec["dynamic_dim"])
