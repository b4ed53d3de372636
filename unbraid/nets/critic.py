"""Critics: how much a code, a step or a whole sequence looks like the real ones, as a logit."""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from unbraid.nets.parts import Encoder
from unbraid.records import Batch, Features


class CodeCritic(nn.Module):
    """A code -> logit, by four hidden layers."""

    def __init__(self, size: int, width: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for fan_in in (size, width, width, width):
            layers += [nn.Linear(fan_in, width), nn.ReLU()]
        self.layers = nn.Sequential(*layers, nn.Linear(width, 1))

    def forward(self, z: Float[Tensor, "*N K"]) -> Float[Tensor, "*N"]:
        """Return the logit of every code."""
        return self.layers(z)[..., 0].float()


class StepCritic(nn.Module):
    """x_t -> logit, for each step on its own."""

    def __init__(self, encoder: Encoder, hidden: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = nn.Sequential(
            nn.Linear(encoder.features, hidden), nn.LeakyReLU(0.2), nn.Linear(hidden, 1)
        )

    def forward(self, batch: Batch) -> Float[Tensor, "B T"]:
        """Return the logit of every step."""
        return self.head(self.encoder(batch))[..., 0].float()


class SequenceCritic(nn.Module):
    """x_1:T -> logit, by convolutions over time and a mean over valid steps; any length will do.

    With `categories` it names one of so many kinds of sequences, too.
    """

    def __init__(self, encoder: Encoder, hidden: int, categories: int = 0) -> None:
        super().__init__()
        self.encoder = encoder
        self.time = nn.Conv1d(encoder.features, hidden, kernel_size=3, padding=1)
        self.head = nn.Sequential(nn.LeakyReLU(0.2), nn.Linear(hidden, 1 + categories))

    def forward(self, batch: Batch) -> tuple[Float[Tensor, " B"], Float[Tensor, "B K"]]:
        """Return the logit of every sequence, and those of its category."""
        mask: Bool[Tensor, "B T 1"] = batch.mask[..., None]
        h: Features = self.encoder(batch) * mask
        steps = self.head(self.time(h.mT).mT).float()
        logits = (steps * mask).sum(1) / mask.sum(1).clamp(min=1)
        return logits[:, 0], logits[:, 1:]
