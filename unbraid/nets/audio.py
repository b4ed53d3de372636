"""Audio: spectrogram columns are features already; a two-layer decoder brings them back.

Departure: no activation after the last layer. The papers print LeakyReLU there, but standardised
log-mel bands are negative half of the time.
"""

from torch import Tensor, nn

from unbraid.nets.frames import join
from unbraid.records import Batch, Codes, Features, Prediction, chosen_steps


class AudioEncoder(nn.Module):
    """x_t -> x_t: the recurrent nets read the columns themselves."""

    def __init__(self, bands: int) -> None:
        super().__init__()
        self.features = bands

    def forward(self, batch: Batch) -> Features:
        """Return the columns, zeros where nothing is known."""
        return batch.x.where(batch.valid, 0.0)


class AudioDecoder(nn.Module):
    """(s, d_t) -> x_t by two linear layers."""

    def __init__(self, bands: int, code: int, hidden: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(code, hidden), nn.LeakyReLU(), nn.Linear(hidden, bands)
        )

    def forward(self, codes: Codes, mask: Tensor | None = None) -> Prediction:
        """Return the decoded columns, (B, T, F), or those of the steps in `mask`, (N, F)."""
        z = join(codes)
        return Prediction(self.layers(z if mask is None else chosen_steps(z, mask)).float())
