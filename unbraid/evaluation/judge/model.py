"""The judge: a classifier trained with labels, which says what generated sequences show.

A net has a reader (`judge/readers.py`) and one linear head per labelled factor: on the features of
the sequence, or of every step for factors with a label per step. A judge is one net or the mean of
several. It learns from the training split, is chosen on validation, and carries its own test
accuracy and the fingerprint of its data.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from unbraid.data.corpus import Split
from unbraid.data.labels import where_known
from unbraid.evaluation.judge.readers import AttentionReader, RecurrentReader
from unbraid.nets import NetConfig
from unbraid.nets.memory import check_network
from unbraid.precision import Precision, inference
from unbraid.records import Batch, Factor, Spec
from unbraid.settings import all_finite, at_least, closest

Role = Literal["static", "dynamic"]
Predictions = dict[str, NDArray[np.float32]]
"""Factor -> class probabilities, (N, K) or, for factors with a label per step, (N, T, K)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeConfig:
    """Sizes and budget; the defaults are meant to learn Sprites in minutes on two cores."""

    factors: tuple[str, ...] = ()  # that it learns; empty: all that have classes
    # recurrent: an LSTM over whole frames; attention: heads that look at places, for video of
    # several objects, each with a label of its own
    reader: Literal["recurrent", "attention"] = "recurrent"
    channels: tuple[int, ...] = (16, 32, 32, 64)  # video: convolutions, outermost first
    features: int = 128  # video, recurrent: size of a frame's feature vector
    hidden: int = 128  # recurrent: of the LSTM, each direction
    heads: int = 4  # attention
    depth: int = 1  # attention: 3 x 3 convolutions after every halving but the first
    members: int = 1  # nets, each with a loss of its own; a judgement is the mean of theirs
    lr: float = 2e-3  # at its highest; rises for a tenth of the steps, then falls as a cosine
    optimizer: Literal["adam", "muon"] = "adam"
    precision: Precision = "auto"  # auto: bf16 where it is native, else fp32
    batch_size: int = 32
    # steps that it learns from, drawn anew each time; 0 = all. Steps in a row for an LSTM, any
    # steps for attention, to which their order does not matter
    window: int = 0
    # video: random turn, shear and zoom of a sequence while it learns, as a share of its size; for
    # factors that do not change by it
    distortion: float = 0.0
    elastic: float = 0.0  # video: deviation of smooth random shifts while it learns, in pixels
    max_epochs: int = 40
    max_steps: int = 1000  # optimiser steps at most, whatever the number of epochs
    patience: int = 6  # epochs without a better validation loss
    minutes: float = 10.0  # of training at most; 0 = no limit

    def __post_init__(self) -> None:
        all_finite(self)
        if self.lr <= 0:
            raise ValueError(f"lr must be positive, got {self.lr}.")
        at_least(self, 1, "features", "hidden", "heads", "depth", "members")
        at_least(self, 1, "max_epochs", "max_steps", "patience")
        at_least(self, 0, "minutes", "window", "distortion", "elastic")
        at_least(self, 2, "batch_size")


class JudgeNet(nn.Module):
    """A reader and a linear head per factor: batch -> logits of every factor."""

    def __init__(self, spec: Spec, config: JudgeConfig, factors: tuple[Factor, ...]) -> None:
        super().__init__()
        self.factors = factors
        self.reader = _reader_for(spec, config)
        sizes = (self.reader.sequence_size, self.reader.step_size)
        self.heads = nn.ModuleList(nn.Linear(sizes[f.per_step], f.classes) for f in factors)

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        """Return the logits of every factor, (B, K) or (B, T, K)."""
        steps, sequence = self.reader(batch)
        return {
            factor.name: head(steps if factor.per_step else sequence).float()
            for factor, head in zip(self.factors, self.heads, strict=True)
        }


class Judge(nn.Module):
    """Batch -> logits of every factor: those of its net, or the mean of several."""

    def __init__(self, spec: Spec, config: JudgeConfig) -> None:
        super().__init__()
        if (config.distortion or config.elastic) and spec.kind != "video":
            raise ValueError(
                f"judge.distortion and judge.elastic move pixels, and {spec.name} is {spec.kind}. "
                "Set both to 0."
            )
        self.spec, self.config = spec, config
        self.factors = judged_factors(spec, config.factors)
        factors = tuple(factor for factor, _ in self.factors)
        self.nets = nn.ModuleList(JudgeNet(spec, config, factors) for _ in range(config.members))

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        """Return the logits of every factor, (B, K) or (B, T, K).

        Those of several nets are the logarithm of the mean of their probabilities.
        """
        logits = [net(batch) for net in self.nets]
        if len(logits) == 1:
            return logits[0]
        return {
            name: torch.stack([each[name].log_softmax(-1) for each in logits]).logsumexp(0)
            - math.log(len(logits))
            for name in logits[0]
        }

    @inference
    def predict(self, batch: Batch, *, size: int = 128) -> Predictions:
        """Return class probabilities, computed `size` sequences at a time.

        `batch.with_x(x_hat)` has generated values judged at the steps of a real batch.
        """
        device = next(self.parameters()).device
        parts = []
        for start in range(0, len(batch), size):
            cut = slice(start, start + size)
            observed = None if batch.observed is None else batch.observed[cut]
            parts.append(self(Batch(batch.x[cut], batch.mask[cut], observed).to(device)))
        return {
            name: torch.cat([part[name] for part in parts]).softmax(-1).cpu().numpy()
            for name in parts[0]
        }


def make_judge(spec: Spec, config: JudgeConfig) -> Judge:
    """Return a new judge; one that does not fit in memory raises `ValueError`."""
    advice = "Choose smaller sizes (judge.channels, judge.features, judge.hidden, judge.members)."
    factors = tuple(factor for factor, _ in judged_factors(spec, config.factors))
    check_network(lambda: JudgeNet(spec, config, factors), "a judge", advice, times=config.members)
    return Judge(spec, config)


def _reader_for(spec: Spec, config: JudgeConfig) -> RecurrentReader | AttentionReader:
    c = config
    if c.reader == "attention":
        return AttentionReader(spec, c.channels, c.heads, c.depth)
    net = NetConfig(channels=c.channels, features=c.features, hidden=c.hidden)
    return RecurrentReader(spec, net)


def judged_factors(spec: Spec, some: tuple[str, ...] = ()) -> tuple[tuple[Factor, Role], ...]:
    """Return the factors that have classes, each with its role; `some` names those wanted."""
    both = [(f, "static") for f in spec.static] + [(f, "dynamic") for f in spec.dynamic]
    factors = tuple((factor, role) for factor, role in both if factor.classes >= 2)
    if not factors:
        raise ValueError(f"{spec.name} has no labelled classes, so there is nothing to judge.")
    names = [factor.name for factor, _ in factors]
    for name in some:
        if name not in names:
            raise KeyError(f"{spec.name} has no classes of '{name}'.{closest(name, names)}")
    if some:
        factors = tuple(pair for pair in factors if pair[0].name in some)
    return factors  # type: ignore[return-value]


def pieces(split: Split, size: int = 128) -> Iterator[Split]:
    """Yield the sequences of a split, `size` at a time."""
    for start in range(0, len(split), size):
        yield split.select(slice(start, start + size))


def test_accuracy(judge: Judge, split: Split) -> dict[str, float]:
    """Return the share of right answers per factor, 0 to 1.

    Padded steps and unknown labels do not count; a factor that is nowhere known is left out.
    """
    right: dict[str, list[NDArray[np.bool_]]] = {factor.name: [] for factor, _ in judge.factors}
    for part in pieces(split):
        batch = part.take(slice(None))
        for name, p in judge.predict(batch).items():
            labels = part.label(name)
            known = where_known(labels, batch.mask.numpy())
            right[name].append((p.argmax(-1) == labels)[known])
    answers = {name: np.concatenate(hits) for name, hits in right.items()}
    return {name: float(hits.mean()) for name, hits in answers.items() if len(hits)}
