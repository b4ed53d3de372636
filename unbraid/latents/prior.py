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
