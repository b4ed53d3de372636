"""`unbraid fit`."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from lightning import Callback
    from lightning.pytorch.loggers import Logger
    from rich.console import Console

    from unbraid.runs.config import TrainingConfig
    from unbraid.runs.plan import Plan
    from unbraid.runs.run import Run


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command()(fit)


def fit(
    data: Annotated[
        str, typer.Argument(help="Data set (`unbraid data list`), file or folder.")
    ] = "",
    method: Annotated[
        str | None,
        typer.Option(
            "--method", "-m", help="See `unbraid methods` (default: the recommended one)."
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help="paper, authors, a preset such as sprites/fast, a TOML file, or none "
            "(default: recommended for the kind of data)."
        ),
    ] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", help="One setting, e.g. method.static_dim=64; repeat for more."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Decides every draw (default: 0).")] = None,
    max_minutes: Annotated[
        float | None, typer.Option(help="Stop after so many minutes of training.")
    ] = None,
    out: Annotated[str, typer.Option(help="Folder of run folders.")] = "runs",
    resume: Annotated[str, typer.Option(help="Go on with this run folder.")] = "",
    device: Annotated[str, typer.Option(help="cpu, cuda or auto.")] = "auto",
    devices: Annotated[
        int, typer.Option(help="Processes (cpu) or GPUs of this machine that share every batch.")
    ] = 1,
    profile: Annotated[
        bool, typer.Option("--profile", help="Write where the time of a step goes (profile.md).")
    ] = False,
    logger: Annotated[
        list[str] | None,
        typer.Option(
            help="Tracker: csv, tensorboard, wandb or mlflow; repeatable (default: none)."
        ),
    ] = None,
    preview_every: Annotated[
        int,
        typer.Option(
            help="Steps between pictures of a swap in RUN/previews (default: none).",
            show_default=False,
        ),
    ] = 0,
) -> None:
    """Train a method on a data set, or go on with a run (`--resume RUN`)."""
    from unbraid.parallel.launch import process_info
    from unbraid.runs import run as runs
    from unbraid.runs.plan import make_plan
    from unbraid.screen import Screen
    from unbraid.settings import merge, parse_sets
    from unbraid.training import fit as training

    console = Screen(quiet=process_info().rank > 0)
    settings = parse_sets(sets or [])
    if max_minutes is not None:
        settings = merge(settings, {"training": {"max_minutes": max_minutes}})
    where = runs.torch_device(device)
    if resume:
        if data or (method, preset, seed) != (None, None, None):
            raise ValueError(
                "--resume takes data, method, preset and seed from the run: leave them out."
            )
        _choose_threads(where, devices, console)
        run = training.resume(
            resume,
            settings=settings,
            console=console,
            device=where,
            devices=devices,
            callbacks=[
                *_profiling(Path(resume), profile),
                *_previews(runs.open_run(resume).plan, Path(resume), preview_every),
            ],
            logger=_loggers(logger or [], Path(resume)),
        )
    elif not data:
        raise ValueError("which data? Try `unbraid fit toy-sprites`, or --resume RUN.")
    else:
        plan = make_plan(data, method, preset=preset, settings=settings, seed=seed or 0)
        folder = runs.run_folder(out, plan)
        note = "its defaults" if plan.preset == "none" else f"preset {plan.preset}"
        console.print(
            f"{plan.method} on {data}, {note}, seed {plan.seed} -> {folder}", soft_wrap=True
        )
        _choose_threads(where, devices, console)
        run = training.run_plan(
            plan,
            folder,
            console=console,
            device=where,
            devices=devices,
            callbacks=[*_profiling(folder, profile), *_previews(plan, folder, preview_every)],
            logger=_loggers(logger or [], folder),
        )
    if profile:
        _print_profile(run, console)
    console.print(_last_line(run), soft_wrap=True)
    if run.about["training"]["reason"] == "interrupted":
        raise typer.Exit(130)


def _choose_threads(device: str, devices: int, console: "Console") -> None:
    """Take one thread where other programs keep the cores busy, and say so."""
    from unbraid.parallel.threads import fewer_threads

    if device == "cpu" and devices == 1 and fewer_threads():
        console.print(
            "Other programs keep the cores busy: one thread is faster now, so one is used "
            "(OMP_NUM_THREADS says otherwise)."
        )


def _last_line(run: "Run") -> str:
    """Say how it ended, what was learned, where it is, and what to type next."""
    plan, end = run.plan, run.about["training"]
    reasons = {"plateau": "validation no longer improves: finished", "budget": "time is up"}
    sizes = f"{plan.method_config.static_dim} numbers a sequence", plan.method_config.dynamic_dim
    notes = "".join(f" {note}" for note in end["notes"])
    next_words = "unbraid evaluate {}" if end["finished"] else "unbraid fit --resume {}"
    next_command = next_words.format(shlex.quote(str(run.path)))
    return (
        f"{reasons.get(end['reason'], end['reason'])} after {_steps(end, plan.training)}, "
        f"{end['minutes']:.2f} min: {plan.method} learned s ({sizes[0]}) "
        f"and d ({sizes[1]} a step) of {plan.data.name}, kept in {run.path}.{notes} "
        f"{'Next' if end['finished'] else 'Go on with'}: {next_command}"
    )


def _steps(end: "dict[str, Any]", config: "TrainingConfig") -> str:
    """Return the steps of a training, and how much of its budget they are."""
    if config.steps:
        return f"{end['steps']:,} of {config.steps:,} steps"
    size = end["epoch_steps"]
    share = f"{end['steps'] / size:.4g} of {config.epochs:,} epochs of {size:,} steps"
    return f"{end['steps']:,} steps ({share})"


def _profiling(folder: Path, wanted: bool) -> "list[Callback]":
    """Return what times the stages of a step, if wanted."""
    from unbraid.training.profile import Profile

    return [Profile(folder)] if wanted else []


def _previews(plan: "Plan", folder: Path, every: int) -> "list[Callback]":
    """Return what draws swaps while training, if wanted."""
    if not every:
        return []
    from unbraid.workflows.track import Previews

    return [Previews(plan.data.load().validation, folder, every)]


def _loggers(names: list[str], folder: Path) -> "list[Logger] | None":
    """Return the trackers of these names."""
    if not names:
        return None
    from unbraid.workflows.track import make_loggers

    return make_loggers(names, folder)


def _print_profile(run: "Run", console: "Console") -> None:
    """Show where the time of a step goes."""
    page = run.path / "profile.md"
    text = page.read_text(encoding="utf-8") if page.is_file() else "Too few steps for a profile."
    console.print(text, soft_wrap=True)
