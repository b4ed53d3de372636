"""Where the time of a training step goes, by stage: `unbraid fit --profile`.

Stages are the parts of a method (encoder, posterior, prior, decoder), its views, its loss terms,
and data, backward, optimizer around them. They are timed from outside, by hooks that are there for
a few steps only: no method knows of it, and the run ends with the same weights.

The time of the backward pass is also shared out to the stages whose forward pass it undoes:
autograd numbers its nodes as the forward pass makes them, so a range of numbers belongs to each
stage.
"""

import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import lightning
import torch
from lightning import Trainer
from torch.profiler import profile

from unbraid.files import write_text
from unbraid.rows import Row, write_rows
from unbraid.training.stages import StageTimer, time_stages

COLUMNS = ("stage", "calls", "seconds", "share", "backward_share")
USUAL = ("data", "encoder", "posterior", "prior", "decoder", "backward", "optimizer")
AFTER, MEASURED, TRACED = 10, 20, 3  # steps: to get warm, for the table, for the trace
NODE = "autograd::engine::evaluate_function"


class Profile(lightning.Callback):
    """Writes profile.csv, profile.md and trace.json of a few steps into the run folder.

    After the first steps, which are slower than the rest, some are timed for the table; a few more
    are recorded by PyTorch's profiler, which costs time itself, for the trace.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.undo = ExitStack()
        self.timer: StageTimer | None = None
        self.trace: profile | None = None
        self.total, self.waited, self.steps, self.sequences = 0.0, 0.0, 0, 0
        self.began, self.ended, self.waited_before = 0.0, 0.0, 0.0
        self.rows: list[dict[str, Any]] = []

    def on_train_start(self, trainer: Trainer, module: Any) -> None:
        now, left = trainer.global_step, trainer.max_steps - trainer.global_step
        after = min(AFTER, left // 3)
        traced = min(TRACED, (left - after) // 2)
        self.first = now + after
        self.middle = self.first + min(MEASURED, left - after - traced)
        self.last = self.middle + traced

    def on_train_batch_start(self, trainer: Trainer, module: Any, batch: Any, index: int) -> None:
        step = trainer.global_step
        self._end_step(trainer, time.perf_counter())
        if step == self.first:
            self._begin(trainer, module)
        if step == self.middle:
            self._begin_trace()
        if step == self.last:
            self._finish(trainer, module)
        if self.first <= step < self.middle:
            self.sequences += len(batch)
            self.waited_before, self.began = _waited(trainer), time.perf_counter()

    def on_train_batch_end(self, trainer: Trainer, *_: Any) -> None:
        self.ended = time.perf_counter()

    def on_before_backward(self, trainer: Trainer, module: Any, loss: Any) -> None:
        if self.timer:
            self.timer.start("backward")

    def on_after_backward(self, trainer: Trainer, module: Any) -> None:
        if self.timer:
            self.timer.stop()

    def on_before_optimizer_step(self, trainer: Trainer, module: Any, optimizer: Any) -> None:
        if self.timer:
            self.timer.start("optimizer")  # the check of the gradients and the clipping, too

    def on_train_end(self, trainer: Trainer, module: Any) -> None:
        self._end_step(trainer, self.ended)
        self._finish(trainer, module)

    def on_exception(self, trainer: Trainer, module: Any, exception: BaseException) -> None:
        self._let_go()

    def _begin(self, trainer: Trainer, module: Any) -> None:
        timer = self.timer = StageTimer(module.device)
        self.undo = time_stages(module.method, timer)
        hook = trainer.optimizers[0].register_step_post_hook(lambda *_: timer.stop())
        self.undo.callback(hook.remove)

    def _end_step(self, trainer: Trainer, now: float) -> None:
        if self.began:
            self.total += now - self.began
            self.waited += _waited(trainer) - self.waited_before
            self.steps, self.began = self.steps + 1, 0.0

    def _begin_trace(self) -> None:
        self.rows = self._table()
        if self.last > self.middle:
            self.trace = profile()
            with hushed():
                self.trace.start()

    def _table(self) -> list[dict[str, Any]]:
        """Return the rows of the table, the largest stage first, what is left over last."""
        if not self.timer or not self.steps:
            return []
        seconds = dict.fromkeys(USUAL, 0.0) | self.timer.seconds | {"data": self.waited}
        total = max(self.total, sum(seconds.values()))
        calls = {"data": self.steps} | self.timer.calls
        order = sorted(seconds, key=lambda stage: -seconds[stage])
        rows = [(stage, calls.get(stage, 0), seconds[stage]) for stage in order]
        rows.append(("other", 0, total - sum(seconds.values())))
        return [
            dict(zip(COLUMNS, (s, n / self.steps, t / self.steps, t / total, 0.0), strict=True))
            for s, n, t in rows
        ]

    def _finish(self, trainer: Trainer, module: Any) -> None:
        """Write what was gathered, and leave the run alone from here on."""
        timer, trace, rows = self.timer, self.trace, self.rows or self._table()
        self._let_go()
        if timer is None or not rows or not trainer.is_global_zero:
            return
        if trace is not None:
            shares = _backward_shares(trace, timer)
            for row in rows:
                row["backward_share"] = shares.get(row["stage"], 0.0)
            write_trace(trace, self.folder / "trace.json")
        write_rows(self.folder / "profile.csv", rows, list(COLUMNS))
        write_text(self.folder / "profile.md", self._page(rows, type(module.method).__name__))

    def _let_go(self) -> None:
        if self.trace is not None:
            with hushed():
                self.trace.stop()
        self.undo.close()
        self.undo, self.timer, self.trace = ExitStack(), None, None

    def _page(self, rows: list[dict[str, Any]], method: str) -> str:
        """Return the table as Markdown."""
        step, speed = self.total / self.steps, self.sequences / self.total
        lines = [
            f"{method}, mean of {self.steps} steps: {step:.4g} s per step, "
            f"{speed:.4g} sequences/s, {torch.get_num_threads()} threads.",
            "",
            "| stage | calls | seconds | share | of the backward pass |",
            "| --- | --- | --- | --- | --- |",
        ]
        lines += [
            f"| {row['stage']} | {row['calls']:g} | {row['seconds']:.4g} | {row['share']:.1%} "
            f"| {_percent(row['backward_share'])} |"
            for row in rows
        ]
        return "\n".join([*lines, "", *NOTES, ""])


NOTES = (
    "Calls and seconds are per step. A stage's seconds are those of its forward pass; the last",
    "column says how much of `backward` undoes it. `data` is waiting for the next batch; `other`",
    "is what is left: draws, sums, the log, Lightning.",
)


def _percent(share: float) -> str:
    return f"{share:.1%}" if share else ""


def _waited(trainer: Trainer) -> float:
    """Return how many seconds the stream of batches took so far."""
    return float(getattr(trainer.train_dataloader, "waited", 0.0))


def _backward_shares(trace: profile, timer: StageTimer) -> Row:
    """Return which share of the backward pass belongs to each stage."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for event in trace.events() or ():
        if event.name.startswith(NODE):
            seconds[timer.maker(event.sequence_nr)] += event.time_range.elapsed_us()
    total = sum(seconds.values())
    return {stage: spent / total for stage, spent in seconds.items()}


def write_trace(trace: profile, path: Path) -> None:
    """Write the trace for a browser's `chrome://tracing` or ui.perfetto.dev."""
    path.unlink(missing_ok=True)
    trace.export_chrome_trace(str(path))


@contextmanager
def hushed() -> Iterator[None]:
    """Keep notices of the profiler's own library, which go past Python, off the screen."""
    sys.stderr.flush()
    stderr, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        os.close(nowhere)
