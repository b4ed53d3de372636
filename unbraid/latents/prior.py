"""p(s) = N(0, I) and p(d_t | d_<t), an LSTM over the earlier codes."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from unbraid.latents.heads import GaussianHead
from unbraid.records import Gaussian


class DynamicPrior(nn.Module):
    """An LSTM that says how d goes on."""

    def __init__(self, dynamic_dim: int, hidden: int, layers: int) -> None:
        super().__init__()
        self.size = dynamic_dim
        self.lstm = nn.LSTM(dynamic_dim, hidden, layers, batch_first=True)
        self.head = GaussianHead(hidden, dynamic_dim)

    def forward(self, d: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]) -> Gaussian:
        """Return p(d_t | d_<t) for every t, teacher-forced, in one call.

        The first step sees zeros. Padding at the end needs no care: nothing looks ahead.
        """
        earlier = torch.cat([torch.zeros_like(d[:, :1]), d[:, :-1]], 1)
        return self.head(self.lstm(earlier)[0])

    def rollout(self, n: int, length: int, *, means: bool = False) -> Float[Tensor, "n T D"]:
        """Draw n trajectories; the only loop over time in the library.

        Args:
            n: how many.
            length: number of steps.
            means: return the means along the drawn path instead of the draws themselves.
        """
        d = next(self.parameters()).new_zeros(n, 1, self.size)
        state, path = None, []
        for _ in range(length):
            out, state = self.lstm(d, state)
            p = self.head(out)
            d = p.sample()
            path.append(p.mean if means else d)
        return torch.cat(path, 1)


class StandardPrior(nn.Module):
    """p(d_t) = N(0, I), every step on its own."""

    like: Tensor

    def __init__(self, dynamic_dim: int) -> None:
        super().__init__()
        self.size = dynamic_dim
        self.register_buffer("like", torch.zeros(()), persistent=False)

    def forward(self, d: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]) -> Gaussian:
        """Return N(0, I) at every step."""
        return Gaussian(torch.zeros_like(d), torch.zeros_like(d))

    def rollout(self, n: int, length: int, *, means: bool = False) -> Float[Tensor, "n T D"]:
        """Draw n trajectories; with `means` they are zero."""
        d = self.like.new_empty(n, length, self.size)
        return d.zero_() if means else d.normal_()
