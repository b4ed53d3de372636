"""Train a method on a data set into a run folder, or go on with one."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import lightning
from lightning.pytorch.utilities.exceptions import SIGTERMException
from rich.console import Console

from unbraid.data.checks.problems import check_trainable
from unbraid.data.corpus import Corpus
from unbraid.files import hold
from unbraid.methods import Method, make_method, method_name
from unbraid.methods.store import save_model
from unbraid.parallel.launch import launch, must_launch, process_info, with_console
from unbraid.runs import folder
from unbraid.runs.checkpoint import method_weights, read_checkpoint
from unbraid.runs.folder import CHECKPOINT
from unbraid.runs.plan import Plan, make_plan, read_plan
from unbraid.runs.run import Run, open_run, run_folder, torch_device
from unbraid.runs.splits import split_facts
from unbraid.seeding import seed_draws
from unbraid.training.callbacks import Checkpoints, Clock, LogBook, timer
from unbraid.training.memory import reuse_memory
from unbraid.training.module import NonFiniteLossError, TrainingModule
from unbraid.training.progress import Display, print_emulated, print_skipped
from unbraid.training.stream import BatchStream
from unbraid.training.trainer import Loggers, make_trainer, quiet, stop_on_signal
from unbraid.training.validation import Validation


def run_plan(  # noqa: PLR0913
    plan: Plan,
    path: str | Path,
    *,
    corpus: Corpus | None = None,
    method: Method | None = None,
    console: Console | None = None,
    device: str = "cpu",
    devices: int = 1,
    callbacks: Sequence[lightning.Callback] = (),
    logger: Loggers = None,
) -> Run:
    """Train by a plan into a new run folder.

    Args:
        plan: what to do, from `make_plan`.
        path: the run folder; must not hold a run yet, or one that has no checkpoint so far.
        corpus: the data, if they are in memory already.
        method: the model to train, if it is made already; its settings are then those of the plan.
        console: where progress is shown; nowhere if None.
        device: where to train.
        devices: how many processes (on a CPU) or GPUs of this machine share every batch.
        callbacks: Lightning's, added to our own.
        logger: Lightning's loggers (TensorBoard, W&B, MLflow), told what the log is told.

    Raises:
        NonFiniteLossError: the run folder then holds the last good state.
    """
    run, first = Run(Path(path)), process_info().rank == 0
    if first:
        folder.check_free(run.path)
    if must_launch(devices):
        _ = corpus or plan.data.load()  # prepared once, before every process asks for them
        task = partial(
            run_plan,
            plan,
            path,
            corpus=corpus,
            method=method,
            device=device,
            callbacks=callbacks,
            logger=logger,
        )
        return launch(devices, partial(with_console, task, shown=console is not None))
    check_trainable(corpus := corpus or plan.data.load())
    plan = plan.on(device, corpus.spec.kind)
    extras = _Extras(method, tuple(callbacks), logger)
    session = _Session(plan, corpus, run, console, device, extras=extras)
    with hold(run.path) if first else nullcontext():
        if first:
            folder.check_free(run.path)  # another process may have been faster
            folder.write_begun(run.path, plan, corpus)
            print_skipped(corpus, console)
        session.go(None)
    return run


def resume(  # noqa: PLR0913
    path: str | Path,
    *,
    settings: Mapping[str, Any] | None = None,
    corpus: Corpus | None = None,
    method: Method | None = None,
    console: Console | None = None,
    device: str = "cpu",
    devices: int = 1,
    callbacks: Sequence[lightning.Callback] = (),
    logger: Loggers = None,
) -> Run:
    """Go on with a run where it stopped; the result equals that of an uninterrupted run.

    Args:
        path: the run folder.
        settings: what to change from here on, e.g. a longer budget or a smaller rate.
        corpus: the data, if they are in memory only.
        method: a model made as before, if it has networks of your own; its weights are replaced.
        console: where progress is shown; nowhere if None.
        device: where to train.
        devices: see `run_plan`; they need not be as many as before.
        callbacks: Lightning's, added to our own.
        logger: see `run_plan`.
    """
    run = open_run(path)
    plan = read_plan(run.path / "config.toml", settings)
    if not folder.is_begun(run.path):  # cut off before its first checkpoint
        return run_plan(
            plan,
            path,
            corpus=corpus,
            method=method,
            console=console,
            device=device,
            devices=devices,
            callbacks=callbacks,
            logger=logger,
        )
    folder.check_change(run.path, run.plan, plan)
    if must_launch(devices):
        task = partial(
            resume,
            path,
            settings=settings,
            corpus=corpus,
            method=method,
            device=device,
            callbacks=callbacks,
            logger=logger,
        )
        return launch(devices, partial(with_console, task, shown=console is not None))
    with hold(run.path) if process_info().rank == 0 else nullcontext():
        state = read_checkpoint(run.path / CHECKPOINT)
        corpus = corpus or plan.data.load()
        folder.check_data(run.path, corpus)
        plan = plan.on(device, corpus.spec.kind)
        extras = _Extras(method, tuple(callbacks), logger)
        session = _Session(plan, corpus, run, console, device, extras=extras)
        folder.check_weights(run.path, state, session.module.method, [run.plan, plan])
        print_emulated(plan, device, console)
        if session.first:
            folder.write_resumed(run.path, plan, state["global_step"])
        session.go(run.path / CHECKPOINT)
    return run


class _Extras(NamedTuple):
    """What a user brings to a training."""

    method: Method | None
    callbacks: tuple[lightning.Callback, ...]
    logger: Loggers

    def made(self, plan: Plan, corpus: Corpus) -> Method:
        """Return the model to train: the one that was brought, else that of the plan."""
        if self.method is None:
            return make_method(plan.method, corpus.spec, plan.method_config)
        if self.method.spec != corpus.spec:
            raise ValueError(
                f"the model was made for {self.method.spec}, and the data are {corpus.spec}. Make "
                "it with the spec of these data: Method(corpus.spec, config)."
            )
        return self.method.train()


class _Session:
    """One call of Lightning's Trainer and what is written around it."""

    def __init__(
        self,
        plan: Plan,
        corpus: Corpus,
        run: Run,
        console: Console | None,
        device: str,
        *,
        extras: _Extras,
    ) -> None:
        self.plan, self.run, self.corpus = plan, run, corpus
        here = process_info()
        self.first = here.rank == 0  # of several processes one writes
        seed_draws(plan.seed, "start")
        method = extras.made(plan, corpus)
        c = plan.training
        c = replace(c, batch_size=min(c.batch_size, len(corpus.train)))
        stream = BatchStream(
            corpus.train,
            c.batch_size,
            seed=plan.seed,
            device=device,
            start=lambda: self.trainer.global_step,
            shard=(here.rank, here.size),
        )
        self.stream = stream
        epoch = max(stream.steps_per_epoch, c.epoch_steps)
        self.steps = c.steps or c.epochs * epoch
        self.module = TrainingModule(method, c, seed=plan.seed, steps=self.steps)
        cooling = self.module.cooling if c.schedule == "plateau" else None
        self.clock = Clock(c.max_minutes, timer(c, device), cooling)
        self.module.spent = lambda: self.clock.spent
        self.book = LogBook(run.path / "log.csv", c.log_every, self.clock)
        self.validation = Validation(
            corpus.validation,
            c,
            run.path / "validation.csv",
            plan.seed,
            steps=(epoch, self.steps),
            plateau=self.clock.plateau,
        )
        # Validation may ask for a stop, on which the processes agree at the clock in the same step.
        callbacks: list[lightning.Callback] = [self.validation] if self.first else []
        callbacks += [self.clock, self.book] if self.first else [self.clock]
        if self.first and console is not None:
            callbacks.append(Display(console, self.book, self.clock, self.validation, self.steps))
        callbacks.append(Checkpoints(run.path / CHECKPOINT, c.checkpoint_every, c.keep_every))
        callbacks.extend(extras.callbacks)
        reuse_memory()
        self.trainer = make_trainer(callbacks, self.steps, c, device, logger=extras.logger)

    def go(self, checkpoint: Path | None) -> None:
        """Train until the budget is used up, the user stops it, or the loss is not finite."""
        with quiet(), stop_on_signal(self.clock, self.trainer):
            try:
                self.trainer.fit(self.module, self.stream, ckpt_path=checkpoint)
            except NonFiniteLossError as error:
                raise self._rolled_back(error) from None
            except SIGTERMException:
                pass  # Lightning handles SIGTERM too; the checkpoint is written
        best = self.validation.restore(self.module.method)
        self._save(self.clock.reason or "finished", self.trainer.global_step, best)

    def _save(self, reason: str, step: int, best: dict[str, Any]) -> None:
        if self.first:
            save_model(self.module.method, self.run.path, self._facts(reason, step) | best)
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
    data: str | Corpus,
    method: str | type[Method] | Method | None = None,
    *,
    preset: str | None = None,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    out: str | Path = "runs",
    console: Console | None = None,
    device: str = "auto",
    devices: int = 1,
    callbacks: Sequence[lightning.Callback] = (),
    logger: Loggers = None,
) -> Run:
    """Train a method on a data set into `<out>/<data>/<method>/<seed>`.

    Args:
        data: a name of the catalogue, the path of a file or folder, or a
            corpus in memory (`from_arrays`).
        method: a name of the catalogue of methods, a subclass of `Method`, or a model made for
            these data, e.g. with networks of your own, which is trained in place; None: the
            recommended one for the kind of data.
        preset: see `make_plan`.
        settings: what differs, e.g. `{"training": {"max_minutes": 5.0}}`.
        seed: decides every draw.
        out: folder of run folders.
        console: where progress is shown; nowhere if None.
        device: where to train: cpu, cuda, or auto for a GPU if there is one.
        devices: see `run_plan`.
        callbacks: Lightning's, added to our own.
        logger: see `run_plan`.
    """
    corpus = data if isinstance(data, Corpus) else None
    model = method if isinstance(method, Method) else None
    plan = make_plan(data, _name(method), preset=preset, settings=settings, seed=seed)
    if model is not None:
        plan = _with_config_of(model, plan, settings or {})
    return run_plan(
        plan,
        run_folder(out, plan),
        corpus=corpus,
        method=model,
        console=console,
        device=torch_device(device),
        devices=devices,
        callbacks=callbacks,
        logger=logger,
    )


def _name(method: str | type[Method] | Method | None) -> str | None:
    """Return the name a method goes by; None for the recommended one."""
    if method is None or isinstance(method, str):
        return method
    return method_name(type(method) if isinstance(method, Method) else method)


def _with_config_of(method: Method, plan: Plan, settings: Mapping[str, Any]) -> Plan:
    """Return a plan with the settings of a model that is made already."""
    if settings.get("method"):
        listed = ", ".join(settings["method"])
        raise ValueError(
            f"the model is made already, so its settings cannot be changed ({listed}). Make it "
            "with those, or give fit its class."
        )
    return replace(plan, method_config=method.config)
