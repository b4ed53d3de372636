"""What a network has to answer to be part of a method: anybody's own will do."""

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from jaxtyping import Bool
from torch import Tensor, nn

from unbraid.records import Batch, Codes, Features, Prediction


@runtime_checkable
class Encoder(Protocol):
    """A torch module that turns sequences into one feature vector per step."""

    @property
    def features(self) -> int:
        """Size of a step's feature vector."""

    def __call__(self, batch: Batch) -> Features:
        """Return (B, T, features); what it says of steps outside `batch.mask` is not read.

        `batch.x` is (B, T, *frame) as the model sees it, zero where `batch.observed` is False.
        """

    def modules(self) -> Iterator[nn.Module]:
        """Return its layers, as every torch module does."""


@runtime_checkable
class Decoder(Protocol):
    """A torch module that turns codes into what is expected at every step."""

    def __call__(self, codes: Codes, mask: Bool[Tensor, "B T"] | None = None) -> Prediction:
        """Return what is expected at every step, (B, T, *frame); with a mask at its N steps alone.

        The latter is (N, *frame), in the order of `records.chosen_steps(x, mask)`.
        """

    def modules(self) -> Iterator[nn.Module]:
        """Return its layers, as every torch module does."""
