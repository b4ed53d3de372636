"""FHVAE's latents: a code z2 of every step around one s of the sequence, then z1 given z2."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from unbraid.latents.recurrent import GaussianHead
from unbraid.records import Features, Gaussian, Posterior

Steps = Bool[Tensor, "B T"]


class HierarchicalPosterior(nn.Module):
    """q(z2_t | x_t), q(z1_t | x_t, z2_t), and s, the most likely centre of the z2_t.

    Args:
        features: size of a step's features.
        static_dim: size of z2 and s.
        dynamic_dim: size of z1.
        hidden: size of the hidden layers.
        spread: standard deviation of p(z2_t | s); that of p(s) is 1.
    """

    def __init__(
        self, features: int, static_dim: int, dynamic_dim: int, hidden: int, *, spread: float
    ) -> None:
        super().__init__()
        self.ratio = spread**2
        self.static_step = nn.Sequential(nn.Linear(features, hidden), nn.ReLU())
        self.static_head = GaussianHead(hidden, static_dim)
        self.step = nn.Sequential(nn.Linear(features + static_dim, hidden), nn.ReLU())
        self.dynamic_head = GaussianHead(hidden, dynamic_dim)

    def forward(self, h: Features, mask: Steps) -> Posterior:
        """Return the posteriors of s and of d = z1, which is read from the means of z2."""
        q = self.steps(h)
        return Posterior(self.center(q, mask), self.dynamic(h, q.mean))

    def steps(self, h: Features) -> Gaussian:
        """Return q(z2_t | x_t)."""
        return self.static_head(self.static_step(h))

    def dynamic(self, h: Features, z2: Float[Tensor, "B T S"]) -> Gaussian:
        """Return q(z1_t | x_t, z2_t)."""
        return self.dynamic_head(self.step(torch.cat([h, z2.to(h.dtype)], -1)))

    def center(self, q: Gaussian, mask: Steps) -> Gaussian:
        """Return s = Σ_t E z2_t / (n + ratio of the variances), and the variance of that sum."""
        n = mask.sum(1, keepdim=True) + self.ratio
        mean = (q.mean * mask[..., None]).sum(1) / n
        log_var = q.log_var.masked_fill(~mask[..., None], -torch.inf).logsumexp(1) - 2 * n.log()
        return Gaussian(mean, log_var)
