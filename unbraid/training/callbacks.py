"""Bookkeeping while training: the log, checkpoints, the budget."""

import math
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lightning
import torch
from lightning import Trainer

from unbraid.rows import Row, append_row
from unbraid.runs.config import TrainingConfig
from unbraid.training.cooldown import CoolDown
from unbraid.training.module import total

COLLAPSED = 0.1  # nats: a code this close to its prior says nothing of the input
LIMITED = "KL(d) grew"  # how the note begins that the KL weight of s stopped rising
REASONS = ("", "budget", "plateau", "interrupted")  # to stop, the strongest last


def timer(config: TrainingConfig, device: str) -> Callable[[], float]:
    """Return what counts the seconds of a budget."""
    worked = config.minutes_of == "work" and torch.device(device).type == "cpu"
    return _worked if worked else time.monotonic


def _worked() -> float:
    """Return the seconds that this process was busy, with all its threads at once."""
    return time.process_time() / torch.get_num_threads()


class Clock(lightning.Callback):
    """Counts minutes of training over all sessions of a run and stops at the budget.

    Args:
        max_minutes: the budget; 0 for none.
        now: seconds since some moment, of the wall or of work.
        cooling: of a plateau schedule; it begins in time and its end is the end of the run.
    """

    def __init__(
        self,
        max_minutes: float,
        now: Callable[[], float] = time.monotonic,
        cooling: CoolDown | None = None,
    ) -> None:
        self.max_minutes, self.now, self.cooling = max_minutes, now, cooling
        self.before = 0.0
        self.started = now()
        self.reason = ""
        self.spent = 0.0
        """Share of the budget that was used up when the last step ended; 0 without a budget."""
        self.on_signal: Any = None

    @property
    def minutes(self) -> float:
        """Minutes of training so far."""
        return self.before + self.session_minutes

    @property
    def session_minutes(self) -> float:
        """Minutes of this session alone."""
        return (self.now() - self.started) / 60

    def on_train_start(self, trainer: Trainer, module: Any) -> None:
        self.started = self.now()
        if self.cooling:
            spent = self.minutes / self.max_minutes if self.max_minutes else 0.0
            self.cooling.go_on(trainer.global_step, spent)
        if self.on_signal and trainer.world_size > 1:
            # Lightning's own answer makes processes wait for each other out of turn.
            signal.signal(signal.SIGTERM, self.on_signal)

    def on_train_batch_end(self, trainer: Trainer, *_: Any) -> None:
        self.spent = self.minutes / self.max_minutes if self.max_minutes else 0.0
        if self.spent >= 1:
            self.stop(trainer, "budget")
        if self.cooling:
            self._cool(trainer, self.cooling)
        if trainer.world_size > 1:
            self._agree(trainer)

    def plateau(self, trainer: Trainer) -> None:
        """Validation no longer improves: stop, or let the rate fall first."""
        if self.cooling:
            self.cooling.start(trainer.global_step, self.spent, "plateau")
        else:
            self.stop(trainer, "plateau")

    def _cool(self, trainer: Trainer, cooling: CoolDown) -> None:
        step = trainer.global_step
        if cooling.begin and cooling.end <= step < cooling.steps:
            self.stop(trainer, cooling.reason or "budget")
        if cooling.due(step, self.spent):
            cooling.start(step, self.spent, "budget")

    def stop(self, trainer: Trainer, reason: str) -> None:
        """Let the present step be the last one."""
        self.reason = self.reason or reason
        trainer.should_stop = trainer.world_size == 1  # several processes agree first

    def _agree(self, trainer: Trainer) -> None:
        """Stop at the same step as the other processes, as soon as one of them wants to."""
        cooling = self.cooling or CoolDown(1.0, 1)
        values = [float(REASONS.index(self.reason)), self.spent, cooling.begin, cooling.spent]
        state = torch.tensor(values, dtype=torch.float64).to(trainer.strategy.root_device)
        torch.distributed.all_reduce(state, torch.distributed.ReduceOp.MAX)
        self.reason, self.spent = REASONS[int(state[0])], float(state[1])
        cooling.begin, cooling.spent = int(state[2]), float(state[3])
        trainer.should_stop = bool(self.reason)

    def state_dict(self) -> dict[str, Any]:
        c = self.cooling
        cooling = {"begin": c.begin, "spent": c.spent, "reason": c.reason} if c else {}
        return {"minutes": self.minutes, "cooling": cooling}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.before = state_dict["minutes"]
        cooling = state_dict.get("cooling")  # older runs and other schedules have none
        if self.cooling and cooling:
            self.cooling.start(cooling["begin"], cooling["spent"], cooling["reason"])


@dataclass(slots=True)
class CollapseMonitor:
    """Notices when a code stops telling anything of the input, and when it starts again."""

    after: int = 200
    collapsed: set[str] = field(default_factory=set)

    def update(self, step: int, row: dict[str, float]) -> list[str]:
        """Return sentences about what has changed since the last call."""
        if step < self.after:
            return []
        notes = []
        for code, term in (("s", "kl_static"), ("d", "kl_dynamic")):
            value = row.get(term, math.inf)
            if value < COLLAPSED and code not in self.collapsed:
                self.collapsed.add(code)
                notes.append(
                    f"{code} has collapsed at step {step}: {term} is {value:.3f} nats, so "
                    f"{code} tells nothing of the input. Try a smaller method.w_{term}."
                )
            elif value > 2 * COLLAPSED and code in self.collapsed:
                self.collapsed.discard(code)
                notes.append(f"{code} is in use again at step {step}: {term} is {value:.2f} nats.")
        return notes


class LogBook(lightning.Callback):
    """Writes one row per `log_every` steps to log.csv: the mean of every term in between."""

    def __init__(self, path: Path, every: int, clock: Clock) -> None:
        self.path, self.every, self.clock = path, every, clock
        self.sums: dict[str, torch.Tensor] = {}
        self.counts: dict[str, int] = {}
        self.row: Row = {}
        self.notes: list[str] = []
        self.monitor = CollapseMonitor()

    def on_train_batch_end(
        self, trainer: Trainer, module: Any, outputs: Any, batch: Any, index: int
    ) -> None:
        rows = {name: value for name, (_, value) in module.terms.items()}
        rows["loss"] = total(module.terms)
        for name, value in rows.items():
            self.sums[name] = self.sums.get(name, torch.zeros_like(value)) + value
            self.counts[name] = self.counts.get(name, 0) + 1
        if trainer.global_step % self.every == 0:
            self.flush(trainer.global_step)
            self._note_limit(module.method, trainer.global_step)
            write_to_loggers(trainer, "train", self.row)

    def flush(self, step: int) -> None:
        """Write the means since the last row."""
        means = {name: float(value) / self.counts[name] for name, value in self.sums.items()}
        self.sums, self.counts = {}, {}
        head = {"step": float(step), "minutes": round(self.clock.minutes, 4)}
        self.row = head | {"loss": means.pop("loss")} | means
        append_row(self.path, self.row)
        self.notes += self.monitor.update(step, means)

    def _note_limit(self, method: Any, step: int) -> None:
        """Say once that the KL weight of s went back to its safe value."""
        limit = getattr(method, "rise_limit", None)
        if limit is None or not limit.stopped or any(LIMITED in note for note in self.notes):
            return
        weight = method.kl_static_weight(step)
        self.notes.append(
            f"{LIMITED} by step {step}: static factors were leaving s for d, so the KL weight of s "
            f"stays at {weight:.3g}."
        )

    def state_dict(self) -> dict[str, Any]:
        # The sums of an unfinished row travel along, so a resumed log is the same log.
        watched = {"notes": self.notes, "collapsed": sorted(self.monitor.collapsed)}
        return {"sums": self.sums, "counts": self.counts} | watched

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.sums, self.counts = state_dict["sums"], state_dict["counts"]
        self.notes = state_dict["notes"]
        self.monitor.collapsed = set(state_dict.get("collapsed", ()))  # older runs kept none


def write_to_loggers(trainer: Trainer, stage: str, row: Row) -> None:
    """Give a row to the loggers a user brought: `train/loss`, `validation/kl_static` and so on."""
    values = {f"{stage}/{name}": value for name, value in row.items() if name != "step"}
    for logger in trainer.loggers:
        logger.log_metrics(values, step=int(row["step"]))


class Checkpoints(lightning.Callback):
    """Keeps the last state of the run on disk, and earlier ones if asked."""

    def __init__(self, path: Path, every: int, keep_every: int = 0) -> None:
        self.path, self.every, self.keep_every = path, every, keep_every

    def on_train_start(self, trainer: Trainer, module: Any) -> None:
        if trainer.global_step == 0:  # so that there is always a state to go back to
            trainer.save_checkpoint(self.path)

    def on_train_batch_end(self, trainer: Trainer, *_: Any) -> None:
        step = trainer.global_step
        if step % self.every == 0 or trainer.should_stop:
            trainer.save_checkpoint(self.path)
        if self.keep_every and step % self.keep_every == 0:
            trainer.save_checkpoint(self.path.with_name(f"step-{step}.safetensors"))

    def on_train_end(self, trainer: Trainer, module: Any) -> None:
        trainer.save_checkpoint(self.path)
