"""The contract: a method answers four verbs, and everything users do is built from them."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from torch import nn

from unbraid.nets import Decoder, Encoder
from unbraid.records import Batch, Codes, Features, Posterior, Sequences, Spec, Terms
from unbraid.settings import at_least


class Method(nn.Module, ABC):
    """A way to split sequences into what stays and what moves."""

    paper: ClassVar[str]
    """Authors, short title, where printed."""
    Config: ClassVar[type[Any]]
    """The frozen dataclass of its settings."""
    spec: Spec
    config: Any

    @abstractmethod
    def encode(self, batch: Batch) -> Codes:
        """Return the codes of sequences: posterior means, without randomness."""

    @abstractmethod
    def decode(self, codes: Codes) -> Sequences:
        """Return the sequences of codes, as a model sees them (`Spec.to_data` undoes that)."""

    @abstractmethod
    def sample(self, n: int, length: int, *, means: bool = False) -> Codes:
        """Draw codes of n sequences from the prior.

        Args:
            n: how many sequences.
            length: how many steps each.
            means: let d be the means along a drawn path instead of the draws.
        """

    @abstractmethod
    def loss(self, batch: Batch, step: int) -> Terms:
        """Return the terms of the objective in the order of the paper's equation.

        Args:
            batch: training sequences.
            step: how many optimiser steps were made, for warm-ups.
        """


class VariationalMethod(Method):
    """A method made of four declared parts: `encoder`, `posterior`, `prior`, `decoder`."""

    encoder: Encoder
    """Batch -> features of every step."""
    posterior: nn.Module
    """(features, mask) -> Posterior."""
    prior: nn.Module
    """(d, mask) -> Gaussian, teacher-forced; `rollout(n, length)` draws."""
    decoder: Decoder
    """(Codes, mask) -> Prediction."""

    def encode(self, batch: Batch) -> Codes:
        return self.infer(batch)[1].mean

    def decode(self, codes: Codes) -> Sequences:
        return self.decoder(codes).mean

    def sample(self, n: int, length: int, *, means: bool = False) -> Codes:
        d = self.prior.rollout(n, length, means=means)  # type: ignore[operator]
        return Codes(d.new_empty(n, self.config.static_dim).normal_(), d)

    def infer(self, batch: Batch) -> tuple[Features, Posterior]:
        """Return the features of every step and the posterior they give."""
        h = self.encoder(batch)
        return h, self.posterior(h, batch.mask)


def check_sizes(config: Any) -> None:
    """Raise `ValueError` for settings no method can work with."""
    at_least(config, 1, "static_dim", "dynamic_dim")
    at_least(config, 0, *(name for name in config.__dataclass_fields__ if name.startswith("w_")))


def count_parameters(method: nn.Module) -> int:
    """Return the number of trained numbers.

    >>> count_parameters(nn.Linear(3, 2))
    8
    """
    return sum(part.numel() for part in method.parameters() if part.requires_grad)
