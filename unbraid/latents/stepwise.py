"""q(z_t | x_t) of every step on its own; s is the mean over time of the first numbers of z_t.

For methods that know of no static code while training (VAE, GP-VAE): they train one code z_t per
step, and the split into s and d is made afterwards.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from unbraid.latents.recurrent import GaussianHead, mean_features
from unbraid.records import Codes, Features, Gaussian, Posterior

Steps = Bool[Tensor, "B T"]


class StepPosterior(nn.Module):
    """z_t = (s_t, d_t) from x_t alone, one hidden layer; s = mean of s_t over valid steps."""

    def __init__(self, features: int, static_dim: int, dynamic_dim: int, hidden: int) -> None:
        super().__init__()
        self.static_dim = static_dim
        self.step = nn.Sequential(nn.Linear(features, hidden), nn.ReLU())
        self.head = GaussianHead(hidden, static_dim + dynamic_dim)

    def steps(self, h: Features) -> Posterior:
        """Return q(s_t | x_t) and q(d_t | x_t), both (B, T, ...)."""
        q = self.head(self.step(h))
        static, dynamic = (
            part.split([self.static_dim, part.shape[-1] - self.static_dim], -1)
            for part in (q.mean, q.log_var)
        )
        return Posterior(Gaussian(static[0], dynamic[0]), Gaussian(static[1], dynamic[1]))

    def forward(self, h: Features, mask: Steps) -> Posterior:
        """Return the posterior of s = mean of s_t, and that of d."""
        q = self.steps(h)
        return Posterior(mean_over_steps(q.s, mask), q.d)


def mean_over_steps(q: Gaussian, mask: Steps) -> Gaussian:
    """Return the distribution of the mean over valid steps of independent Gaussians.

    μ = Σ_t μ_t / n, σ² = Σ_t σ²_t / n², n valid steps.
    """
    n = mask.sum(1, keepdim=True).clamp(min=1)  # (B, 1)
    log_var = q.log_var.masked_fill(~mask[..., None], -torch.inf).logsumexp(1) - 2 * n.log()
    return Gaussian(mean_features(q.mean, mask), log_var)


def varying(s: Float[Tensor, "B T S"], d: Float[Tensor, "B T D"]) -> Codes:
    """Return codes whose static part varies in time, in the form decoders take.

    Every decoder is linear in (s, d_t) at first: an s of width 0 and a d of width S + D meet the
    same weights as s and d do.
    """
    return Codes(s.new_empty(len(s), 0), torch.cat([s, d], -1))
