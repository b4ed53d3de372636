"""Train a method on a data set into a run folder, or go on with one."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import lightning
import torch
from lightning.pytorch.utilities.exceptions import SIGTERMException
from rich.console import Console

from unbraid.data import load_data
from unbraid.data.corpus import Corpus
from unbraid.data.own import load_own
from unbraid.data.problems import check_trainable
from unbraid.files import hold
from unbraid.methods import Method, find_method
from unbraid.methods.store import load_model, read_about, save_model
from unbraid.training import folder
from unbraid.training.callbacks import Checkpoints, Clock, LogBook, timer
from unbraid.training.checkpoint import method_weights, read_checkpoint
from unbraid.training.folder import CHECKPOINT
from unbraid.training.guards import NonFiniteLossError
from unbraid.training.memory import reuse_memory
from unbraid.training.module import TrainingModule, seed_draws
from unbraid.training.plan import CATALOGUE, MEMORY, Plan, make_plan, read_plan
from unbraid.training.processes import launch, must_launch, place, with_console
from unbraid.training.progress import Display, tell_emulated, tell_skipped
from unbraid.training.splits import check_splits, split_facts
from unbraid.training.stream import BatchStream
from unbraid.training.trainer import make_trainer, quiet, stop_on_signal
from unbraid.training.validation import Validation


@dataclass(frozen=True, slots=True)
class Run:
    """A run folder: config.toml, splits.csv, log.csv, checkpoints/, model.safetensors and .json."""

    path: Path

    @property
    def plan(self) -> Plan:
        """The settings the run was made with."""
        return read_plan(self.path / "config.toml")

    @property
    def about(self) -> dict[str, Any]:
        """What `model.json` says of the model and its training."""
        return read_about(self.path)

    def model(self, device: str = "cpu") -> Method:
        """Return the trained model, ready for use."""
        return load_model(self.path, device)

    def corpus(self) -> Corpus:
        """Return the data set the run was trained on, or say that it has changed."""
        corpus = open_corpus(self.plan)
        if (self.path / "model.json").is_file():
            check_splits(corpus, self.about["training"].get("splits", {}), self.path)
        return corpus

    def history(self, device: str = "cpu") -> Iterator[tuple[int, Method]]:
        """Yield (step, model) of the checkpoints that were kept, and of the finished model."""
        kept = {int(p.stem[5:]): p for p in (self.path / "checkpoints").glob("step-*.safetensors")}
        last = self.about["training"]["steps"]
        for step in sorted(step for step in kept if step < last):
            model = self.model(device)
            model.load_state_dict(method_weights(read_checkpoint(kept[step])))
            yield step, model
        yield last, self.model(device)


def open_run(path: str | Path) -> Run:
    """Return the run of a folder, or say that it is none."""
    run = Run(Path(path))
    if not (run.path / "config.toml").is_file():
        raise ValueError(f"{run.path} is not a run folder: it has no config.toml.")
    return run


def open_corpus(plan: Plan) -> Corpus:
    """Return the data of a plan: a data set of the catalogue, or a file or folder."""
    if plan.reader == MEMORY:
        raise ValueError(
            f"the run was trained on arrays in memory ('{plan.data}'), which it does not keep: "
            "give the sequences yourself (--input FILE.npz, or corpus= in Python)."
        )
    if plan.reader == CATALOGUE:
        return load_data(plan.data, plan.data_options)
    return load_own(plan.data, plan.data_options, name=plan.reader)


def run_folder(root: str | Path, plan: Plan) -> Path:
    """Return `<root>/<data>/<method>/<seed>`."""
    return Path(root) / Path(plan.data).stem / plan.method / str(plan.seed)


def run_plan(  # noqa: PLR0913
    plan: Plan, path: str | Path, *, corpus: Corpus | None = None,
    console: Console | None = None, device: str = "cpu", devices: int = 1,
    callbacks: Sequence[lightning.Callback] = (),
) -> Run:  # fmt: skip
    """Train by a plan into a new run folder.

    Args:
        plan: what to do, from `make_plan`.
        path: the run folder; must not hold a run yet, or one that has no checkpoint so far.
        corpus: the data, if they are in memory already.
        console: where progress is shown; nowhere if None.
        device: where to train.
        devices: how many processes (on a CPU) or GPUs of this machine share every batch.
        callbacks: Lightning's, added to our own.

    Raises:
        NonFiniteLossError: the run folder then holds the last good state.
    """
    run, first = Run(Path(path)), place().rank == 0
    if first:
        folder.check_free(run.path)
    if must_launch(devices):
        _ = corpus or open_corpus(plan)  # prepared once, before every process asks for them
        task = partial(run_plan, plan, path, corpus=corpus, device=device, callbacks=callbacks)
        return launch(devices, partial(with_console, task, shown=console is not None))
    check_trainable(corpus := corpus or open_corpus(plan))
    plan = plan.on(device, corpus.spec.kind)
    session = _Session(plan, corpus, run, console, device, more=callbacks)
    with hold(run.path) if first else nullcontext():
        if first:
            folder.check_free(run.path)  # another process may have been faster
            folder.write_begun(run.path, plan, corpus)
            tell_skipped(corpus, console)
        session.go(None)
    return run


def resume(  # noqa: PLR0913
    path: str | Path, *, settings: Mapping[str, Any] | None = None, corpus: Corpus | None = None,
    console: Console | None = None, device: str = "cpu", devices: int = 1,
    callbacks: Sequence[lightning.Callback] = (),
) -> Run:  # fmt: skip
    """Go on with a run where it stopped; the result equals that of an uninterrupted run.

    Args:
        path: the run folder.
        settings: what to change from here on, e.g. a longer budget or a smaller rate.
        corpus: the data, if they are in memory only.
        console: where progress is shown; nowhere if None.
        device: where to train.
        devices: see `run_plan`; they need not be as many as before.
        callbacks: Lightning's, added to our own.
    """
    run = open_run(path)
    plan = read_plan(run.path / "config.toml", settings)
    if not folder.is_begun(run.path):  # cut off before its first checkpoint
        return run_plan(
            plan, path, corpus=corpus, console=console, device=device, devices=devices,
            callbacks=callbacks,
        )  # fmt: skip
    folder.check_change(run.path, run.plan, plan)
    if must_launch(devices):
        task = partial(
            resume, path, settings=settings, corpus=corpus, device=device, callbacks=callbacks
        )
        return launch(devices, partial(with_console, task, shown=console is not None))
    with hold(run.path) if place().rank == 0 else nullcontext():
        state = read_checkpoint(run.path / CHECKPOINT)
        corpus = corpus or open_corpus(plan)
        folder.check_data(run.path, corpus)
        plan = plan.on(device, corpus.spec.kind)
        session = _Session(plan, corpus, run, console, device, more=callbacks)
        folder.check_weights(run.path, state, session.module.method, [run.plan, plan])
        tell_emulated(plan, device, console)
        if session.first:
            folder.write_resumed(run.path, plan, state["global_step"])
        session.go(run.path / CHECKPOINT)
    return run


class _Session:
    """One call of Lightning's Trainer and what is written around it."""

    def __init__(
        self, plan: Plan, corpus: Corpus, run: Run, console: Console | None, device: str,
        *, more: Sequence[lightning.Callback],
    ) -> None:  # fmt: skip
        self.plan, self.run, self.corpus = plan, run, corpus
        here = place()
        self.first = here.rank == 0  # of several processes one writes
        seed_draws(plan.seed, "start")
        method = find_method(plan.method)(corpus.spec, plan.method_config)
        c = plan.training
        c = replace(c, batch_size=min(c.batch_size, len(corpus.train)))
        stream = BatchStream(
            corpus.train, c.batch_size, seed=plan.seed, device=device,
            start=lambda: self.trainer.global_step, place=(here.rank, here.size),
        )  # fmt: skip
        self.stream = stream
        self.steps = c.steps or c.epochs * stream.steps_per_epoch
        self.module = TrainingModule(method, c, seed=plan.seed, steps=self.steps)
        cooling = self.module.cooling if c.schedule == "plateau" else None
        self.clock = Clock(c.max_minutes, timer(c, device), cooling)
        self.module.spent = lambda: self.clock.spent
        self.book = LogBook(run.path / "log.csv", c.log_every, self.clock)
        self.validation = Validation(
            corpus.validation, c, run.path / "validation.csv", plan.seed,
            steps=(stream.steps_per_epoch, self.steps), plateau=self.clock.plateau,
        )  # fmt: skip
        # Validation may ask for a stop, on which the processes agree at the clock in the same step.
        callbacks: list[lightning.Callback] = [self.validation] if self.first else []
        callbacks += [self.clock, self.book] if self.first else [self.clock]
        if self.first and console is not None:
            callbacks.append(Display(console, self.book, self.clock, self.validation, self.steps))
        callbacks.append(Checkpoints(run.path / CHECKPOINT, c.checkpoint_every, c.keep_every))
        callbacks.extend(more)
        reuse_memory()
        self.trainer = make_trainer(callbacks, self.steps, c, device)

    def go(self, checkpoint: Path | None) -> None:
        """Train until the budget is used up, the user stops it, or the loss is not finite."""
        with quiet(), stop_on_signal(self.clock, self.trainer):
            try:
                self.trainer.fit(self.module, self.stream, ckpt_path=checkpoint)
            except NonFiniteLossError as error:
                raise self._rolled_back(error) from None
            except SIGTERMException:
                pass  # Lightning noticed the polite kill too; the checkpoint is written
        kept = self.validation.restore(self.module.method)
        self._save(self.clock.reason or "finished", self.trainer.global_step, kept)

    def _save(self, reason: str, step: int, kept: dict[str, Any]) -> None:
        if self.first:
            save_model(self.module.method, self.run.path, self._facts(reason, step) | kept)
        self.trainer.strategy.barrier()  # others may look for the model next

    def _facts(self, reason: str, step: int) -> dict[str, Any]:
        return {
            "reason": reason,
            "finished": reason in ("finished", "budget", "plateau"),
            "steps": step,
            "epochs": round(step / self.stream.steps_per_epoch, 2),
            "minutes": round(self.clock.minutes, 4),  # as the log, so that it is never less
            "waiting": round(self.stream.waited / max(60 * self.clock.session_minutes, 1e-9), 4),
            "precision": self.plan.training.precision,
            "seed": self.plan.seed,
            "splits": split_facts(self.corpus),
            "notes": self.book.notes,
        }

    def _rolled_back(self, error: NonFiniteLossError) -> NonFiniteLossError:
        """Put the last good state back and say what to do."""
        path = self.run.path / CHECKPOINT
        lower = self.plan.training.lr / 3
        state = read_checkpoint(path)
        self.module.method.load_state_dict(method_weights(state))
        self._save("not finite", state["global_step"], {})
        return NonFiniteLossError(
            f"{error} The run is back at step {state['global_step']}, its last good state. Try "
            f"`unbraid fit --resume {self.run.path} --set training.lr={lower:.1g}`, or "
            "--set training.clip=10."
        )


def fit(  # noqa: PLR0913 the front door
    data: str | Corpus, method: str | None = None, *, preset: str | None = None,
    settings: Mapping[str, Any] | None = None, seed: int = 0, out: str | Path = "runs",
    console: Console | None = None, device: str = "cpu", devices: int = 1,
) -> Run:  # fmt: skip
    """Train a method on a data set into `<out>/<data>/<method>/<seed>`.

    Args:
        data: a name of the catalogue, the path of a file or folder, or a
            corpus in memory (`from_arrays`).
        method: a name of the catalogue of methods; without one, the recommended method.
        preset: see `make_plan`.
        settings: what differs, e.g. `{"training": {"max_minutes": 5.0}}`.
        seed: decides every draw.
        out: folder of run folders.
        console: where progress is shown; nowhere if None.
        device: where to train.
        devices: see `run_plan`.
    """
    corpus = data if isinstance(data, Corpus) else None
    plan = make_plan(data, method, preset=preset, settings=settings, seed=seed)
    return run_plan(
        plan, run_folder(out, plan), corpus=corpus, console=console, device=device, devices=devices
    )


def torch_device(name: str) -> str:
    """Return a device that exists, or say which do."""
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if not re.fullmatch(r"cpu|cuda(:\d+)?", name):
        raise ValueError(f"device must be auto, cpu, cuda or cuda:N, got {name!r}.")
    if name != "cpu" and not torch.cuda.is_available():
        raise ValueError(f"device '{name}' is not there. Use --device cpu.")
    return name
