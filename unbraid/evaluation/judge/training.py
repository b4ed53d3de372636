"""How a judge learns; what it has learned is kept, so that a stopped training goes on."""

import copy
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR

from unbraid.data.corpus import Corpus, Split
from unbraid.evaluation.judge.model import Judge, JudgeConfig, make_judge, pieces
from unbraid.evaluation.judge.readers import distorted
from unbraid.evaluation.judge.store import fingerprint
from unbraid.precision import autocast, number_format
from unbraid.records import Batch
from unbraid.runs.checkpoint import read_state, write_state
from unbraid.runs.config import TrainingConfig
from unbraid.seeding import seed_draws
from unbraid.settings import as_table
from unbraid.training.module import learning_rate_factor, make_optimizer

KEEP_EVERY = 2.0  # minutes between two writes of the state


def fit_judge(
    corpus: Corpus,
    config: JudgeConfig,
    *,
    seed: int = 0,
    say: Callable[[str], None] = lambda text: None,
    device: str = "cpu",
    checkpoint: Path | None = None,
) -> Judge:
    """Return the judge, in evaluation mode, of the epoch with the lowest validation loss.

    Args:
        corpus: the data; labels of the training split teach, the test split is not looked at.
        config: sizes and budget.
        seed: decides weights and order.
        say: is told how far it is, every epoch and every two minutes.
        device: where to train.
        checkpoint: a file that keeps the state of a training that is not over. One that is there
            is continued, with the same result as without the stop.
    """
    seed_draws(seed, "start")
    judge = make_judge(corpus.spec, config).to(device)
    training = JudgeTraining(judge, corpus, seed, checkpoint)
    if checkpoint is not None and checkpoint.is_file():
        training.continue_from(checkpoint)
        say(f"judge: goes on at step {training.step} of {training.steps}")
    while training.waited < config.patience and not training.over:
        for _ in training.epoch():
            if training.keep_now:
                training.keep()
                say(training.progress)
        loss = training.validate()
        say(f"{training.progress}  validation loss {loss:.4g}")
    judge.load_state_dict(training.best_weights)
    return judge.eval()


def minutes_before(checkpoint: Path) -> float:
    """Return the minutes that went into a training whose state is there; 0 if there is none."""
    return float(_read(checkpoint)["minutes"]) if checkpoint.is_file() else 0.0


class JudgeTraining:
    """Steps and budget of one training."""

    def __init__(
        self, judge: Judge, corpus: Corpus, seed: int, checkpoint: Path | None = None
    ) -> None:
        c = judge.config
        self.judge, self.corpus, self.seed = judge, corpus, seed
        self.size = min(c.batch_size, len(corpus.train))
        self.steps = min(c.max_steps, c.max_epochs * (len(corpus.train) // self.size))
        self.step, self.epoch_began, self.began = 0, 0, time.monotonic()
        curve = TrainingConfig(
            optimizer=c.optimizer, lr=c.lr, schedule="cosine", warmup_steps=self.steps // 10
        )
        self.optimizer = make_optimizer(judge.parameters(), [], curve)
        self.schedule = LambdaLR(self.optimizer, learning_rate_factor(curve, self.steps))
        self.draws = np.random.default_rng(seed)
        self.best, self.waited = math.inf, 0
        self.best_weights: dict[str, Tensor] = copy.deepcopy(judge.state_dict())
        self.checkpoint, self.kept_at = checkpoint, self.began

    @property
    def minutes(self) -> float:
        return (time.monotonic() - self.began) / 60

    @property
    def over(self) -> bool:
        limit = self.judge.config.minutes or math.inf
        return self.step >= self.steps or self.minutes >= limit

    @property
    def progress(self) -> str:
        return f"judge: step {self.step}/{self.steps}  {self.minutes:.1f} min"

    @property
    def keep_now(self) -> bool:
        return time.monotonic() - self.kept_at > 60 * KEEP_EVERY

    def epoch(self) -> Iterator[int]:
        """Go once over the training split in a random order; yield the number of steps made.

        An epoch in whose midst the state was written goes on where it was.
        """
        train, size = self.corpus.train, self.size
        order = np.random.default_rng((self.seed, self.epoch_began)).permutation(len(train))
        first = (self.step - self.epoch_began) * size
        self.judge.train()
        for start in range(first, len(order) - size + 1, size):
            if self.over:
                return
            loss = self.loss(train.select(np.sort(order[start : start + size])))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.schedule.step()
            self.step += 1
            yield self.step

    def validate(self) -> float:
        """End an epoch: return the loss on validation and note the weights if it is the lowest."""
        loss = self.validation_loss()
        self.waited += 1
        if loss < self.best:
            self.best, self.waited = loss, 0
            self.best_weights = copy.deepcopy(self.judge.state_dict())
        self.epoch_began = self.step
        return loss

    def loss(self, split: Split) -> Tensor:
        """Return the cross-entropy, summed over factors, mean over sequences (or their steps).

        Unknown labels do not count; a factor that is unknown in the whole batch adds 0.
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
            known = labels >= 0
            if labels.ndim == 2:
                labels, known = labels[:, steps], known[:, steps] & batch.mask
            logits, labels = logits[known], labels[known]
            some = len(labels) > 0  # a mean over none would be NaN
            total = total + (nn.functional.cross_entropy(logits, labels) if some else logits.sum())
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
        losses = [len(part) * self.loss(part).item() for part in pieces(split)]
        return sum(losses) / len(split)

    def keep(self) -> None:
        """Write the state, if there is a file for it."""
        self.kept_at = time.monotonic()
        if self.checkpoint is None:
            return
        write_state(
            self.checkpoint,
            {
                "about": self._about(),
                "step": self.step,
                "epoch_began": self.epoch_began,
                "minutes": self.minutes,
                "best": self.best,
                "waited": self.waited,
                "best_weights": self.best_weights,
                "weights": self.judge.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "schedule": self.schedule.state_dict(),
                "draws": self.draws.bit_generator.state,
                "torch": torch.get_rng_state(),
            },
        )

    def continue_from(self, path: Path) -> None:
        """Take up a state that `keep` wrote; one of other settings or data is refused."""
        state = _read(path)
        if state["about"] != self._about():
            raise ValueError(
                f"{path} is of a judge with other settings, seed or data, whose training was "
                "stopped. Go on with those, choose another --out, or delete the file."
            )
        self.judge.load_state_dict(state["weights"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])
        self.draws.bit_generator.state = state["draws"]
        torch.set_rng_state(state["torch"])
        self.step, self.epoch_began = state["step"], state["epoch_began"]
        self.best, self.waited = state["best"], state["waited"]
        self.best_weights = state["best_weights"]
        self.began = time.monotonic() - 60 * state["minutes"]

    def _about(self) -> dict[str, Any]:
        """Return what must be the same for a training to go on."""
        own = {"seed": self.seed, "data": fingerprint(self.corpus)}
        return {"config": as_table(self.judge.config), **own}


def _read(path: Path) -> dict[str, Any]:
    kinds = {"about": dict, "weights": dict, "optimizer": dict, "step": int, "minutes": float}
    return read_state(path, kinds, "Delete it to start anew.")
