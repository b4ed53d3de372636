"""The judge: a classifier trained with labels, which says what generated sequences show.

A net has a reader (`judge/readers.py`) and one linear head per labelled factor: on the features of
the sequence, or of every step for factors with a label per step. A judge is one net or the mean of
several. It learns from the training split, is chosen on validation, and carries its own test
accuracy and the fingerprint of its data.
"""

import copy
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR

from unbraid.data.corpus import Corpus, Split
from unbraid.evaluation.judge.readers import AttentionReader, RecurrentReader, distorted
from unbraid.nets import NetConfig
from unbraid.precision import Precision, autocast, inference, number_format
from unbraid.records import Batch, Factor, Spec
from unbraid.runs.config import TrainingConfig
from unbraid.seeding import seed_draws
from unbraid.settings import all_finite, at_least, closest
from unbraid.training.module import learning_rate_factor, make_optimizer

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


def fit_judge(
    corpus: Corpus,
    config: JudgeConfig,
    *,
    seed: int = 0,
    console: Console | None = None,
    device: str = "cpu",
) -> Judge:
    """Return the judge, in evaluation mode, of the epoch with the lowest validation loss.

    Args:
        corpus: the data; labels of the training split teach, the test split is not looked at.
        config: sizes and budget.
        seed: decides weights and order.
        console: where progress is shown; nowhere if None.
        device: where to train.
    """
    seed_draws(seed, "start")
    judge = Judge(corpus.spec, config).to(device)
    training = _Training(judge, corpus, seed)
    best, weights, waited = math.inf, judge.state_dict(), 0
    quiet = console is None or not console.is_terminal
    while waited < config.patience and not training.over:
        for _ in track(training.epoch(), "judge", console=console, disable=quiet, transient=True):
            pass
        loss, waited = training.validation_loss(), waited + 1
        if loss < best:
            best, weights, waited = loss, copy.deepcopy(judge.state_dict()), 0
        if console is not None:
            progress = f"step {training.step}/{training.steps}  {training.minutes:.1f} min"
            console.print(f"{progress}  validation loss {loss:.4g}", highlight=False)
    judge.load_state_dict(weights)
    return judge.eval()


class _Training:
    """Steps and budget of one training."""

    def __init__(self, judge: Judge, corpus: Corpus, seed: int) -> None:
        c = judge.config
        self.judge, self.corpus, self.seed = judge, corpus, seed
        self.size = min(c.batch_size, len(corpus.train))
        self.steps = min(c.max_steps, c.max_epochs * (len(corpus.train) // self.size))
        self.step, self.began = 0, time.monotonic()
        curve = TrainingConfig(
            optimizer=c.optimizer, lr=c.lr, schedule="cosine", warmup_steps=self.steps // 10
        )
        self.optimizer = make_optimizer(judge.parameters(), [], curve)
        self.schedule = LambdaLR(self.optimizer, learning_rate_factor(curve, self.steps))
        self.draws = np.random.default_rng(seed)

    @property
    def minutes(self) -> float:
        return (time.monotonic() - self.began) / 60

    @property
    def over(self) -> bool:
        limit = self.judge.config.minutes or math.inf
        return self.step >= self.steps or self.minutes >= limit

    def epoch(self) -> Iterator[int]:
        """Go once over the training split in a random order; yield the number of steps made."""
        train, size = self.corpus.train, self.size
        order = np.random.default_rng((self.seed, self.step)).permutation(len(train))
        self.judge.train()
        for start in range(0, len(order) - size + 1, size):
            if self.over:
                return
            loss = self.loss(train.select(np.sort(order[start : start + size])))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.schedule.step()
            self.step += 1
            yield self.step

    def loss(self, split: Split) -> Tensor:
        """Return the cross-entropy, summed over factors, mean over sequences (or their steps).

        Training sums over nets, each with a loss of its own; validation has that of their mean.
        """
        batch = split.take(slice(None), next(self.judge.parameters()).device)
        steps = self.seen(batch) if self.judge.training else slice(None)
        batch = batch.steps(steps)
        c = self.judge.config
        if self.judge.training and (c.distortion or c.elastic):
            batch = batch.with_x(distorted(batch.x, c.distortion, self.draws, c.elastic))
        total = batch.x.new_zeros(())
        device = batch.x.device
        with autocast(device, number_format(c.precision, device, self.judge.spec.kind)):
            nets = self.judge.nets if self.judge.training else [self.judge]
            predictions = [pair for net in nets for pair in net(batch).items()]
        for name, logits in predictions:
            labels = torch.as_tensor(split.label(name), device=logits.device).long()
            if labels.ndim == 2:
                labels = labels[:, steps]
                logits, labels = logits[batch.mask], labels[batch.mask]
            total = total + nn.functional.cross_entropy(logits, labels)
        return total

    def seen(self, batch: Batch) -> slice | Tensor:
        """Draw the steps to learn from, among those that the shortest sequence has."""
        few, shortest = self.judge.config.window, int(batch.mask.sum(1).min())
        if not few or few >= shortest:
            return slice(None)
        if self.judge.config.reader == "attention":
            return torch.as_tensor(self.draws.permutation(shortest)[:few])
        start = int(self.draws.integers(shortest - few + 1))
        return slice(start, start + few)

    @torch.inference_mode()
    def validation_loss(self) -> float:
        """Return the mean loss over the validation split."""
        self.judge.eval()
        split = self.corpus.validation
        losses = [len(part) * self.loss(part).item() for part in _pieces(split)]
        return sum(losses) / len(split)


def _pieces(split: Split, size: int = 128) -> Iterator[Split]:
    for start in range(0, len(split), size):
        yield split.select(slice(start, start + size))


def test_accuracy(judge: Judge, split: Split) -> dict[str, float]:
    """Return the share of right answers per factor, 0 to 1; padded steps do not count."""
    right: dict[str, list[NDArray[np.bool_]]] = {factor.name: [] for factor, _ in judge.factors}
    for part in _pieces(split):
        batch = part.take(slice(None))
        for name, p in judge.predict(batch).items():
            hits = p.argmax(-1) == part.label(name)
            right[name].append(hits[batch.mask.numpy()] if hits.ndim == 2 else hits)
    return {name: float(np.concatenate(hits).mean()) for name, hits in right.items()}
