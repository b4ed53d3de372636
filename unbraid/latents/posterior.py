"""q(s | x) and q(d_t | ...) from the features of the whole sequence."""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from unbraid.latents.heads import GaussianHead, run_recurrent, some_steps
from unbraid.records import Features, Gaussian, Posterior

Steps = Bool[Tensor, "B T"]


class SequencePosterior(nn.Module):
    """A bi-LSTM's last states give s; its outputs, through a forward RNN, give d_t."""

    def __init__(self, features: int, static_dim: int, dynamic_dim: int, hidden: int) -> None:
        super().__init__()
        self.reader = nn.LSTM(features, hidden, batch_first=True, bidirectional=True)
        self.static_head = GaussianHead(2 * hidden, static_dim)
        self.tracker = nn.RNN(2 * hidden, hidden, batch_first=True)
        self.dynamic_head = GaussianHead(hidden, dynamic_dim)

    def forward(self, h: Features, mask: Steps) -> Posterior:
        """Return both posteriors."""
        out, last = run_recurrent(self.reader, h, mask)
        tracked, _ = run_recurrent(self.tracker, out, mask)
        return Posterior(self.static_head(last), self.dynamic_head(tracked))

    def static(self, h: Features, mask: Steps) -> Gaussian:
        """Return q(s | x) alone, without the work for d."""
        return self.static_head(run_recurrent(self.reader, h, mask)[1])


class FullPosterior(nn.Module):
    """DSVAE "full": d_t is read from the sequence and s together.

    Departure: d is conditioned on the mean of q(s | x), not on a draw, so that encoding has no
    randomness and the KL of d stays analytic.
    """

    def __init__(self, features: int, static_dim: int, dynamic_dim: int, hidden: int) -> None:
        super().__init__()
        self.reader = nn.LSTM(features, hidden, batch_first=True, bidirectional=True)
        self.static_head = GaussianHead(2 * hidden, static_dim)
        sizes = features + static_dim
        self.follower = nn.LSTM(sizes, hidden, batch_first=True, bidirectional=True)
        self.tracker = nn.RNN(2 * hidden, hidden, batch_first=True)
        self.dynamic_head = GaussianHead(hidden, dynamic_dim)

    def forward(self, h: Features, mask: Steps) -> Posterior:
        """Return both posteriors."""
        q_s = self.static_head(run_recurrent(self.reader, h, mask)[1])
        s: Float[Tensor, "B T S"] = q_s.mean[:, None].expand(-1, h.shape[1], -1)
        out, _ = run_recurrent(self.follower, torch.cat([h, s], -1), mask)
        tracked, _ = run_recurrent(self.tracker, out, mask)
        return Posterior(q_s, self.dynamic_head(tracked))


class FactorisedPosterior(nn.Module):
    """DSVAE "factorised": d_t is read from x_t alone."""

    def __init__(self, features: int, static_dim: int, dynamic_dim: int, hidden: int) -> None:
        super().__init__()
        self.reader = nn.LSTM(features, hidden, batch_first=True, bidirectional=True)
        self.static_head = GaussianHead(2 * hidden, static_dim)
        self.step = nn.Sequential(nn.Linear(features, hidden), nn.ReLU())
        self.dynamic_head = GaussianHead(hidden, dynamic_dim)

    def forward(self, h: Features, mask: Steps) -> Posterior:
        """Return both posteriors."""
        q_s = self.static_head(run_recurrent(self.reader, h, mask)[1])
        return Posterior(q_s, self.dynamic_head(self.step(h)))


class PooledPosterior(nn.Module):
    """s from the mean over time of per-step features, d_t from an LSTM over them.

    In no paper. Dynamic factors average out before s is read, so s holds little of them from the
    first training step on. The last state of an LSTM holds them first and has to unlearn them.

    A mean still tells how often something was where. With `static_steps`, training reads s from so
    many steps, drawn anew each time: what only the others show cannot be relied on. A method may
    set it while training.
    """

    def __init__(
        self,
        features: int,
        static_dim: int,
        dynamic_dim: int,
        hidden: int,
        *,
        static_steps: int = 0,
    ) -> None:
        super().__init__()
        self.static_steps = static_steps
        self.step = nn.Sequential(nn.Linear(features, hidden), nn.ReLU())
        self.static_head = GaussianHead(hidden, static_dim)
        self.tracker = nn.LSTM(features, hidden, batch_first=True)
        self.dynamic_head = GaussianHead(hidden, dynamic_dim)

    def forward(self, h: Features, mask: Steps) -> Posterior:
        """Return both posteriors."""
        tracked, _ = run_recurrent(self.tracker, h, mask)
        return Posterior(self.static(h, mask), self.dynamic_head(tracked))

    def static(self, h: Features, mask: Steps) -> Gaussian:
        """Return q(s | x) alone; the order of steps does not matter to it."""
        if self.static_steps and self.training:
            mask = some_steps(mask, self.static_steps)
        exists = mask[..., None]
        pooled = (self.step(h) * exists).sum(1) / exists.sum(1).clamp(min=1)
        return self.static_head(pooled)


class PlacedPosterior(nn.Module):
    """d_t from an LSTM over the features, s from crops of x_t at the positions that d_t gives.

    In no paper. The crops are aligned, so their mean over time is an image of what is static.
    """

    def __init__(
        self, features: int, crop_values: int, static_dim: int, dynamic_dim: int, hidden: int
    ) -> None:
        super().__init__()
        self.tracker = nn.LSTM(features, hidden, batch_first=True)
        self.dynamic_head = GaussianHead(hidden, dynamic_dim)
        self.summary = nn.Sequential(
            nn.Linear(crop_values, hidden, bias=False), nn.LayerNorm(hidden), nn.LeakyReLU(0.2)
        )
        self.static_head = GaussianHead(hidden, static_dim)

    def forward(
        self,
        h: Features,
        mask: Steps,
        crop: Callable[[Float[Tensor, "B T D"]], Float[Tensor, "B P"]],
    ) -> Posterior:
        """Return both posteriors; `crop` gives the mean crop at the positions of d."""
        q_d = self.dynamic_head(run_recurrent(self.tracker, h, mask)[0])
        return Posterior(self.static_head(self.summary(crop(q_d.mean))), q_d)


POSTERIORS: dict[str, type[nn.Module]] = {
    "sequence": SequencePosterior,
    "pooled": PooledPosterior,
    "full": FullPosterior,
    "factorised": FactorisedPosterior,
}


def posterior_for(config: Any, features: int) -> Any:
    """Return the posterior that a method's settings ask for."""
    sizes = (features, config.static_dim, config.dynamic_dim, config.net.hidden)
    if config.posterior == "pooled":
        return PooledPosterior(*sizes, static_steps=config.static_steps)
    return POSTERIORS[config.posterior](*sizes)
