"""Small parts every posterior and prior is made of."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from unbraid.precision import full_precision
from unbraid.records import Gaussian


class GaussianHead(nn.Module):
    """Features -> mean and log-variance, both linear, in fp32 whatever the features are."""

    def __init__(self, features: int, size: int) -> None:
        super().__init__()
        self.linear = nn.Linear(features, 2 * size)

    def forward(self, h: Float[Tensor, "*N H"]) -> Gaussian:
        """Return the Gaussian of every feature vector."""
        with full_precision(h.device):
            mean, log_var = self.linear(h.float()).chunk(2, -1)
        return Gaussian(mean, log_var)


def run_recurrent(
    rnn: nn.RNNBase, h: Float[Tensor, "B T H"], mask: Bool[Tensor, "B T"]
) -> tuple[Float[Tensor, "B T K"], Float[Tensor, "B K"]]:
    """Run a recurrent net over the existing steps in one call.

    Returns:
        the output at every step (zeros at padding) and the last state, both directions joined;
        the backward direction starts at each sequence's own end.
    """
    if mask.all():
        out, state = rnn(h)
    else:
        lengths = mask.sum(1).clamp(min=1).cpu()
        packed = pack_padded_sequence(h, lengths, batch_first=True, enforce_sorted=False)
        packed_out, state = rnn(packed)
        out, _ = pad_packed_sequence(packed_out, batch_first=True, total_length=h.shape[1])
    last = state[0] if isinstance(state, tuple) else state  # an LSTM also returns its cells
    directions = 2 if rnn.bidirectional else 1
    return out, torch.cat(tuple(last[-directions:]), -1)


def some_steps(mask: Bool[Tensor, "B T"], few: int) -> Bool[Tensor, "B T"]:
    """Draw `few` of the steps in `mask` for every sequence, or all if there are no more.

    >>> some_steps(torch.tensor([[True, True, False], [True, False, False]]), 2).tolist()
    [[True, True, False], [True, False, False]]
    """
    keys = torch.rand(mask.shape, device=mask.device).masked_fill(~mask, 2.0)
    return mask & (keys.argsort(1).argsort(1) < few)
