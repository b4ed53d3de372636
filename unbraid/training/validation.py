"""Validation while training: the loss on held-out sequences, the best weights, the plateau."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightning
import torch
from lightning import Trainer

from unbraid.data.corpus import Split
from unbraid.precision import autocast
from unbraid.rows import Row, append_row
from unbraid.runs.config import TrainingConfig
from unbraid.seeding import seed_draws
from unbraid.training.callbacks import write_to_loggers
from unbraid.training.module import TrainingModule, total


class Validation(lightning.Callback):
    """Computes the loss on held-out sequences, the same ones with the same draws each time.

    They are chosen at random, as are their batches: a split may be sorted by person.

    With `patience` it does so after every epoch, keeps the weights of the lowest loss and stops at
    a plateau. The loss compared has the weights that the terms have at the end of training, so
    that a warm-up is no improvement.
    """

    def __init__(
        self,
        split: Split,
        config: TrainingConfig,
        path: Path,
        seed: int,
        *,
        steps: tuple[int, int] = (1, 0),
        plateau: Callable[[Trainer], None] | None = None,
    ) -> None:
        """Take the split, where rows go, and the steps of an epoch and of the run."""
        # In random order: terms that compare sequences are to see batches as mixed as in training.
        self.split = split.select(split.shuffled()[: config.validation_sequences])
        self.config, self.path, self.seed = config, path, seed
        (self.epoch, self.steps), self.plateau = steps, plateau
        self.every = self.epoch if config.patience else config.validate_every
        self.row: Row = {}
        self.best: dict[str, Any] = {}
        """Step, loss, weights and settings of the lowest loss; empty without `patience`."""
        # A plateau schedule without validation sequences falls at the end of its budget.
        if config.patience and config.schedule != "plateau" and not len(self.split):
            raise ValueError(
                "training.patience needs validation sequences, and there are none. Set "
                "training.patience=0, or give the data a validation split."
            )

    def on_train_start(self, trainer: Trainer, module: Any) -> None:
        """Forget the best weights of a run that goes on with other settings of its method."""
        self._forget_if_changed(module.method)

    def _forget_if_changed(self, method: torch.nn.Module) -> None:
        """Forget the best weights if their loss rests on something else than one of today.

        Losses would not compare: a run could end with the parameters from before a change.
        """
        if self.best.get("objective") != _objective(method):
            self.best = {}

    def on_train_batch_end(self, trainer: Trainer, module: Any, *_: Any) -> None:
        step = trainer.global_step
        if step % self.every or not len(self.split):
            return
        self.row = {"step": float(step)} | self.measure(module)
        append_row(self.path, self.row)
        write_to_loggers(trainer, "validation", self.row)
        if self.config.patience:
            self._compare(trainer, module.method, step)

    def _compare(self, trainer: Trainer, method: torch.nn.Module, step: int) -> None:
        """Keep the weights if they are the best so far; stop if none were for long."""
        c, loss = self.config, self.row["loss"]
        self._forget_if_changed(method)
        if not self.best or loss < self.best["loss"]:
            weights = {name: value.detach().clone() for name, value in method.state_dict().items()}
            self.best |= {"step": step, "loss": loss, "weights": weights}
            self.best["objective"] = _objective(method)
        # The first loss, and the last one that was lower by more than `min_gain`.
        first, level = self.best.setdefault("first", loss), self.best.setdefault("level", loss)
        warming = step <= _warmup(method)
        if warming or loss < level - c.min_gain * max(0.0, first - level):
            self.best |= {"gained": step, "level": min(level, loss)}
        waited = (step - self.best.setdefault("gained", step)) // self.epoch
        if self.plateau and waited >= c.patience and step // self.epoch >= c.min_epochs:
            self.plateau(trainer)

    def restore(self, method: torch.nn.Module) -> dict[str, Any]:
        """Give a method the best weights, if any are kept; return what there is to say of them."""
        if not self.best:
            return {}
        method.load_state_dict(self.best["weights"])
        return {"kept_step": self.best["step"], "kept_validation_loss": self.best["loss"]}

    @torch.no_grad()
    def measure(self, module: TrainingModule) -> Row:
        """Return the mean of every term over the validation sequences."""
        module.eval()
        seed_draws(self.seed, "validation")
        sums: Row = {}
        step = self.steps if self.config.patience else module.global_step
        for batch in self.split.batches(self.config.batch_size, module.device):
            with autocast(module.device, self.config.number_format):
                terms = module.method.loss(batch, step)
            values = {name: value for name, (_, value) in terms.items()} | {"loss": total(terms)}
            for name, value in values.items():
                share = len(batch) / len(self.split)
                sums[name] = sums.get(name, 0.0) + share * float(value)
        module.train()
        return sums

    def state_dict(self) -> dict[str, Any]:
        return {"best": self.best}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.best = state_dict["best"]


def _objective(method: torch.nn.Module) -> str:
    """Return what a loss rests on, beside the parameters: losses compare while it is the same.

    That is what the weights of the terms rest on, and which validation sequences are taken; runs
    begun before took the first ones and said nothing of it.
    """
    limit = getattr(method, "rise_limit", None)
    stopped = " stopped" if limit is not None and limit.stopped else ""
    return f"{getattr(method, 'config', None)!r}{stopped}, sequences at random"


def _warmup(method: torch.nn.Module) -> int:
    """Return the steps over which the weights of a method's KL terms change."""
    config = getattr(method, "config", None)
    rises = getattr(config, "kl_static_rise", 1.0) != 1
    return int(getattr(config, "kl_warmup_steps", 0)) * (3 if rises else 1)
