"""Says how training goes: a live line on a terminal, a line now and then elsewhere."""

import time
from collections.abc import Sequence
from typing import Any

import lightning
import torch
from lightning import Trainer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Column

from unbraid.data.checks.examine import Channel
from unbraid.data.checks.problems import find_outcomes
from unbraid.data.corpus import Corpus
from unbraid.precision import native_bf16
from unbraid.runs.plan import Plan
from unbraid.runs.source import DataSource
from unbraid.training.callbacks import Clock, LogBook
from unbraid.training.validation import Validation

SECONDS_BETWEEN_LINES = 15.0
WIDE = 150  # columns of a terminal that has room for every term of the loss


class Display(lightning.Callback):
    """Shows step, time left, speed and the terms of the loss; narrow terminals: the loss alone."""

    def __init__(
        self, console: Console, book: LogBook, clock: Clock, validation: Validation, steps: int
    ) -> None:
        self.console, self.book, self.clock, self.validation = console, book, clock, validation
        self.steps, self.shown, self.printed_notes = steps, 0.0, 0
        self.began, self.first, self.sequences = 0.0, 0, 0
        self.bar = Progress(
            TextColumn("{task.description}", table_column=Column(no_wrap=True, ratio=1)),
            BarColumn(bar_width=12),
            TextColumn("{task.completed:.0f}/{task.total:.0f}", table_column=Column(no_wrap=True)),
            TextColumn("{task.fields[left]}", table_column=Column(no_wrap=True)),
            console=console,
            disable=not console.is_terminal,
        )

    def on_train_start(self, trainer: Trainer, module: Any) -> None:
        self.began, self.first = time.monotonic(), trainer.global_step
        self.task = self.bar.add_task(
            "training", total=self.steps, completed=trainer.global_step, left=""
        )
        self.bar.start()

    def on_train_batch_end(
        self, trainer: Trainer, module: Any, outputs: Any, batch: Any, index: int
    ) -> None:
        step = trainer.global_step
        self.sequences += len(batch) * trainer.world_size
        for note in self.book.notes[self.printed_notes :]:
            self.console.print(note, style="yellow", markup=False, highlight=False)
        self.printed_notes = len(self.book.notes)
        self.bar.update(self.task, completed=step, total=self.end, left=self.left(step))
        if step % self.book.every == 0:
            self.bar.update(self.task, description=self.description())
            late = time.monotonic() - self.shown > SECONDS_BETWEEN_LINES
            if not self.console.is_terminal and late:
                self.shown = time.monotonic()
                self.console.print(self.line(step), highlight=False, soft_wrap=True)

    @property
    def end(self) -> int:
        """The last step, as far as is known."""
        return self.clock.cooling.end if self.clock.cooling else self.steps

    def left(self, step: int) -> str:
        """Return the time that is left: by steps, or by minutes if those are over sooner.

        It is an upper bound until a plateau schedule has begun to cool down.
        """
        done = step - self.first
        if done < 1:
            return ""
        seconds = (self.end - step) * (time.monotonic() - self.began) / done
        if self.clock.max_minutes:
            seconds = min(seconds, 60 * (self.clock.max_minutes - self.clock.minutes))
        cooling = self.clock.cooling
        bound = "at most " if cooling and not cooling.begin else ""
        minutes, rest = divmod(max(0, round(seconds)), 60)
        return f"{bound}{minutes}:{rest:02d} left"

    def line(self, step: int) -> str:
        """Return one line that says how it stands, for output that is no terminal."""
        head = f"step {step}/{self.end}  {self.clock.minutes:.1f} min  {self.left(step)}"
        return f"{head}  {self.description()}"

    def description(self) -> str:
        """Return speed and losses, as many as there is room for beside the bar."""
        row, held_out = self.book.row, self.validation.row.get("loss")
        roomy = not self.console.is_terminal or self.console.width >= WIDE
        names = [name for name in row if name not in ("step", "minutes")] if roomy else ["loss"]
        parts = [f"{name} {row[name]:.4g}" for name in names]
        parts += [] if held_out is None else [f"validation {held_out:.4g}"]
        speed = self.sequences / max(1e-9, time.monotonic() - self.began)
        return "  ".join([f"{speed:.1f} seq/s", *parts] if roomy else parts)

    def teardown(self, trainer: Trainer, module: Any, stage: str) -> None:
        self.bar.stop()


def print_skipped(corpus: Corpus, console: Console | None) -> None:
    """Say how much of the data could not be used."""
    if corpus.skipped and console is not None:
        name, reason = next(iter(corpus.skipped.items()))
        console.print(
            f"{len(corpus.skipped)} skipped, e.g. {name}: {reason} (see `unbraid data check`)",
            markup=False,
            highlight=False,
        )


def print_outcomes(channels: Sequence[Channel], data: DataSource, console: Console | None) -> None:
    """Say which inputs of a user's own data look like outcomes."""
    outcomes = None if data.published else find_outcomes(channels, data.settings)
    if outcomes and console is not None:
        what = f"{outcomes.what} {outcomes.do}"
        console.print(what, style="yellow", markup=False, highlight=False, soft_wrap=True)


def print_emulated(plan: Plan, device: str, console: Console | None) -> None:
    """Say that a run goes on in bf16 on a machine that is slow at it."""
    slow = plan.training.precision == "bf16" and not native_bf16(torch.device(device))
    if slow and console is not None:
        console.print(
            "This run computes in bf16, which this machine only emulates, many times slower. "
            "Interrupt it and add --set training.precision=fp32 to go on in fp32.",
            highlight=False,
        )
