"""How to train: settings that are not the method's own."""

from dataclasses import dataclass
from typing import Literal

from unbraid.precision import Format, Precision
from unbraid.settings import all_finite, at_least, share_below_one


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingConfig:
    """Optimiser, budget and bookkeeping. The papers use Adam at a constant rate, no clipping."""

    batch_size: int = 64
    precision: Precision = "auto"  # auto: bf16 where it is native, else fp32
    # muon: orthogonal steps of `matrix_lr` for matrices of weights, Adam at `lr` for the rest
    optimizer: Literal["adam", "muon"] = "adam"
    lr: float = 1e-3
    matrix_lr: float = 0.02
    beta1: float = 0.9  # Adam's momentum; adversarial methods want 0.5
    critic_lr: float = 0.0  # rate of critics, which always take Adam's steps; 0 = `lr`
    # cosine: down to `lr_end` of `lr` at the end of the budget, in steps or in minutes
    # plateau: constant until `patience` is over, then down to `lr_end` over `cooldown`, then stop
    schedule: Literal["constant", "cosine", "plateau"] = "constant"
    lr_end: float = 0.1  # share of `lr`
    cooldown: float = 0.25  # length of the fall of a plateau schedule, share of the steps before it
    warmup_steps: int = 0  # linear rise of the rate from zero
    clip: float = 0.0  # norm of the gradient at most; 0 = no clipping

    epochs: int = 100
    # of few sequences, an epoch counts as so many steps for `epochs`, `patience` and `min_epochs`
    epoch_steps: int = 0
    steps: int = 0  # budget in optimiser steps; 0 = by epochs
    max_minutes: float = 0.0  # budget in minutes of training, resumed ones included; 0 = none
    # work: minutes that the threads of this process were busy, so that other work on the machine
    # does not make a run shorter; on a GPU always those of the clock
    minutes_of: Literal["clock", "work"] = "clock"
    # epochs without a lower validation loss after which training stops (with a plateau schedule:
    # the rate falls); the weights kept are those of the lowest one. 0 = never, and the last ones
    patience: int = 0
    # a loss is lower if by more than this share of the fall since the first epoch
    min_gain: float = 0.0
    min_epochs: int = 0  # before which `patience` does not stop

    log_every: int = 20  # steps averaged into one row of log.csv
    validate_every: int = 500  # steps; with `patience` every epoch
    validation_sequences: int = 256  # at most, chosen at random
    checkpoint_every: int = 500  # steps
    keep_every: int = 0  # steps between checkpoints that stay, for analyses over training; 0 = none

    @property
    def number_format(self) -> Format:
        """The precision once it is decided (`Plan.on`); undecided it is fp32."""
        return "fp32" if self.precision == "auto" else self.precision

    def epoch_length(self, sequences: int) -> int:
        """Return the steps that `epochs`, `patience` and `min_epochs` count as an epoch."""
        return max(sequences // max(1, min(self.batch_size, sequences)), self.epoch_steps)

    def __post_init__(self) -> None:
        all_finite(self)
        if self.lr <= 0:
            raise ValueError(f"lr must be positive, got {self.lr}.")
        if self.matrix_lr <= 0:
            raise ValueError(f"matrix_lr must be positive, got {self.matrix_lr}.")
        share_below_one(self, "beta1")
        at_least(self, 0, "critic_lr")
        if not 0 <= self.lr_end <= 1:
            raise ValueError(f"lr_end must lie between 0 and 1, got {self.lr_end}.")
        if not 0 < self.cooldown <= 1:
            raise ValueError(f"cooldown must be above 0 and at most 1, got {self.cooldown}.")
        share_below_one(self, "min_gain")
        at_least(self, 1, "epochs", "log_every", "validate_every", "checkpoint_every")
        at_least(self, 0, "steps", "max_minutes", "clip", "warmup_steps", "validation_sequences")
        at_least(self, 0, "keep_every", "patience", "min_epochs", "epoch_steps")
        if self.batch_size < 2:
            raise ValueError(
                "batch_size must be 2 or more: batch normalisation needs at least two sequences."
            )
