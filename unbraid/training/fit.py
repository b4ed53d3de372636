"""Train a method on a data set into a run folder, or go on with one."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import lightning
from rich.console import Console

from unbraid.data.checks.problems import check_trainable
from unbraid.data.corpus import Corpus
from unbraid.files import hold
from unbraid.methods import Method, method_name
from unbraid.parallel.launch import launch, must_launch, process_info, with_console
from unbraid.runs import folder
from unbraid.runs.checkpoint import read_checkpoint
from unbraid.runs.folder import CHECKPOINT
from unbraid.runs.plan import Plan, make_plan, read_plan
from unbraid.runs.run import Run, open_run, run_folder, torch_device
from unbraid.training.progress import print_emulated, print_outcomes, print_skipped
from unbraid.training.session import Session, TrainingOptions
from unbraid.training.stream import share_of_batch
from unbraid.training.trainer import Loggers


def run_plan(
    plan: Plan, path: str | Path, *, devices: int = 1, **options: Unpack[TrainingOptions]
) -> Run:
    """Train by a plan into a new run folder.

    Args:
        plan: what to do, from `make_plan`.
        path: the run folder; must not hold a run yet, or one that has no checkpoint so far.
        devices: how many processes (on a CPU) or GPUs of this machine share every batch.
        options: see `TrainingOptions`.

    Raises:
        NonFiniteLossError: the run folder then holds the last good state.
    """
    run, first = Run(Path(path)), process_info().rank == 0
    if first:
        folder.check_free(run.path)
    corpus = options.get("corpus") or plan.data.load()  # prepared before every process asks
    channels = check_trainable(corpus)
    if must_launch(devices):
        share_of_batch(plan.training.batch_size, devices)  # refused before a process is started
        return _launch(devices, partial(run_plan, plan, path), options)
    session = _session(plan, corpus, run, options)
    with hold(run.path) if first else nullcontext():
        if first:
            folder.check_free(run.path)  # another process may have been faster
            folder.write_begun(run.path, session.plan, corpus)
            print_skipped(corpus, options.get("console"))
            print_outcomes(channels, plan.data, options.get("console"))
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
        logger: Lightning's loggers, which get the rows of the log.
    """
    options = TrainingOptions(
        corpus=corpus,
        method=method,
        console=console,
        device=device,
        callbacks=callbacks,
        logger=logger,
    )
    run = open_run(path, corpus=corpus)
    plan = read_plan(run.path / "config.toml", settings)
    if not folder.is_begun(run.path):  # cut off before its first checkpoint
        return run_plan(plan, path, devices=devices, **options)
    folder.check_change(run.path, run.plan, plan)
    folder.check_budget(run.path, run.plan, plan)
    if must_launch(devices):
        share_of_batch(plan.training.batch_size, devices)
        return _launch(devices, partial(resume, path, settings=settings), options)
    with hold(run.path) if process_info().rank == 0 else nullcontext():
        state = read_checkpoint(run.path / CHECKPOINT)
        corpus = corpus or plan.data.load()
        folder.check_data(run.path, corpus)
        session = _session(plan, corpus, run, options)
        folder.check_weights(run.path, state, session.module.method, [run.plan, session.plan])
        print_emulated(session.plan, device, console)
        if session.first:
            folder.write_resumed(run.path, session.plan, state["global_step"])
        session.go(run.path / CHECKPOINT)
    return run


def _launch(devices: int, task: Callable[..., Run], options: TrainingOptions) -> Run:
    """Run a task in new processes, of which the first shows progress if there is a console."""
    shown = options.pop("console", None) is not None
    return launch(devices, partial(with_console, partial(task, **options), shown=shown))


def _session(plan: Plan, corpus: Corpus, run: Run, options: TrainingOptions) -> Session:
    plan = plan.on(options.get("device", "cpu"), corpus.spec.kind)
    return Session(plan, corpus, run, options)


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
        logger: Lightning's loggers (TensorBoard, W&B, MLflow), which get the rows of the log.
    """
    model = method if isinstance(method, Method) else None
    plan = make_plan(data, _name(method), preset=preset, settings=settings, seed=seed)
    if model is not None:
        plan = _with_config_of(model, plan, settings or {})
    corpus = data if isinstance(data, Corpus) else None
    run = run_plan(
        plan,
        run_folder(out, plan),
        devices=devices,
        corpus=corpus,
        method=model,
        console=console,
        device=torch_device(device),
        callbacks=callbacks,
        logger=logger,
    )
    return replace(run, memory=corpus)


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
