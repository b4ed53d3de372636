"""Series: windows of W rows and F channels; one feature vector and one code per window.

Departure: the papers leave open how the rows of a window become one vector: an LSTM of the last
layer's size reads them. Where values can be missing, the rows are joined with what is observed.
With `tells_gaps` the decoder says which values are observed, too: in a clinic what is measured, and
how often, tells more of a patient than many a value. No paper does that. With `shared_scale` every
channel has one learned scale in place of one for every value (Rybkin et al., Simple and Effective
VAE Training with Calibrated Decoders, ICML 2021): of few sequences, a scale of its own for every
value is learned by heart.
"""

from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn

from unbraid.nets.frames import join
from unbraid.records import Batch, Codes, Features, Prediction, Spec, chosen_steps, per_step

SMALLEST_SCALE = 0.01  # of a standardised channel: keeps the likelihood bounded


def _ladder(sizes: tuple[int, ...]) -> nn.Sequential:
    """Return linear layers of these sizes, each followed by ReLU."""
    layers: list[nn.Module] = []
    for fan_in, fan_out in pairwise(sizes):
        layers += [nn.Linear(fan_in, fan_out), nn.ReLU()]
    return nn.Sequential(*layers)


class SeriesEncoder(nn.Module):
    """Window -> features: linear layers on every row, then an LSTM over the rows."""

    def __init__(self, spec: Spec, layers: tuple[int, ...]) -> None:
        super().__init__()
        self.sees_gaps = spec.missing
        self.rows = _ladder((spec.frame[1] * (2 if spec.missing else 1), *layers))
        self.reader = nn.LSTM(layers[-1], layers[-1], batch_first=True)
        self.features = layers[-1]

    def forward(self, batch: Batch) -> Features:
        """Return the features of every window."""
        x = batch.x.where(batch.valid, 0.0)
        if self.sees_gaps:
            x = torch.cat([x, batch.valid.expand_as(batch.x).to(x.dtype)], -1)
        return per_step(self._encode, x, batch.mask)

    def _encode(self, x: Float[Tensor, "N W F"]) -> Float[Tensor, "N K"]:
        return self.reader(self.rows(x))[0][:, -1]


class SeriesDecoder(nn.Module):
    """(s, d_t) -> mean and scale of every row of window t, and which values are observed."""

    def __init__(
        self,
        spec: Spec,
        code: int,
        layers: tuple[int, ...],
        *,
        tells_gaps: bool = False,
        shared_scale: bool = False,
    ) -> None:
        super().__init__()
        self.window, channels = spec.frame
        self.scale = nn.Parameter(torch.zeros(channels)) if shared_scale else None
        self.outputs_per_value = 1 + (not shared_scale) + (tells_gaps and spec.missing)
        self.root = nn.Sequential(nn.Linear(code, layers[0]), nn.Tanh())
        self.writer = nn.LSTM(layers[0], layers[0], batch_first=True)
        self.rows = _ladder(layers)
        self.out = nn.Linear(layers[-1], self.outputs_per_value * channels)

    def forward(self, codes: Codes, mask: Tensor | None = None) -> Prediction:
        """Return mean, log-variance and logits of every row, (B, T, W, F).

        With a `mask`, those of its steps alone, (N, W, F).
        """
        z = join(codes)
        steps = z.flatten(0, 1) if mask is None else chosen_steps(z, mask)
        features = self.root(steps)[:, None].expand(-1, self.window, -1)  # (N, W, K)
        out = self.out(self.rows(self.writer(features)[0])).float()
        out = out.reshape(*z.shape[:2], *out.shape[1:]) if mask is None else out
        mean, *others = out.chunk(self.outputs_per_value, -1)
        raw = others.pop(0) if self.scale is None else self.scale.expand_as(mean)
        scale = nn.functional.softplus(raw) + SMALLEST_SCALE
        return Prediction(mean, 2 * scale.log(), *others)
