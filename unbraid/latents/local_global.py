"""GLR's latents: s from a piece of the sequence, d_t from step t alone."""

import torch
from jaxtyping import Bool, Int, Shaped
from torch import Tensor, nn

from unbraid.latents.recurrent import GaussianHead, run_recurrent
from unbraid.records import Features, Gaussian, Posterior

Steps = Bool[Tensor, "B T"]


class LocalGlobalPosterior(nn.Module):
    """An LSTM's last state gives s, one hidden layer on each step's features gives d_t."""

    def __init__(
        self,
        features: int,
        static_dim: int,
        dynamic_dim: int,
        hidden: int,
        *,
        fixed_variance: bool,
    ) -> None:
        super().__init__()
        self.reader = nn.LSTM(features, hidden, batch_first=True)
        self.static_head = (
            MeanHead(hidden, static_dim) if fixed_variance else GaussianHead(hidden, static_dim)
        )
        self.step = nn.Sequential(nn.Linear(features, hidden), nn.ReLU())
        self.dynamic_head = GaussianHead(hidden, dynamic_dim)

    def forward(self, h: Features, mask: Steps) -> Posterior:
        """Return both posteriors, that of s from all valid steps."""
        return Posterior(self.static(h, mask), self.dynamic(h))

    def static(self, h: Features, mask: Steps) -> Gaussian:
        """Return q(s | steps in mask), which stand at the beginning."""
        return self.static_head(run_recurrent(self.reader, h, mask)[1])

    def dynamic(self, h: Features) -> Gaussian:
        """Return q(d_t | x_t)."""
        return self.dynamic_head(self.step(h))


class MeanHead(nn.Module):
    """Features -> mean, linear, in fp32; the variance is 1."""

    def __init__(self, features: int, size: int) -> None:
        super().__init__()
        self.linear = nn.Linear(features, size)

    def forward(self, h: Tensor) -> Gaussian:
        """Return the Gaussian of every feature vector."""
        with torch.autocast(h.device.type, enabled=False):
            mean = self.linear(h.float())
        return Gaussian(mean, torch.zeros_like(mean))


class Window:
    """A contiguous share of the valid steps of every sequence, drawn at random.

    `mask` is (B, L): the steps of a piece stand at the beginning; `of` takes them from anything.
    """

    mask: Steps
    order: Int[Tensor, "B L"]

    def __init__(self, mask: Steps, share: float) -> None:
        valid = mask.sum(1, keepdim=True)  # (B, 1)
        lengths = (share * valid).round().long().clamp(min=1).minimum(valid)
        start = (torch.rand(len(mask), 1, device=mask.device) * (valid - lengths + 1)).long()
        steps = torch.arange(int(lengths.max()), device=mask.device)
        self.mask = steps < lengths
        self.order = (start + steps).clamp(max=mask.shape[1] - 1)

    def of(self, h: Shaped[Tensor, "B T *F"]) -> Shaped[Tensor, "B L *F"]:
        """Return the steps of the piece."""
        return h[torch.arange(len(h), device=h.device)[:, None], self.order]
