"""`unbraid fit`."""

from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command()(fit)


def fit(
    data: Annotated[str, typer.Argument(help="Data set (`unbraid data list`) or .npz file.")] = "",
    method: Annotated[str, typer.Option("--method", "-m", help="See `unbraid methods`.")] = "dbse",
    preset: Annotated[
        str | None,
        typer.Option(help="Preset such as sprites/fast, a TOML file, or none [data set's own]."),
    ] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", help="One setting, e.g. method.static_dim=64; repeat for more."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Decides every draw.")] = 0,
    max_minutes: Annotated[
        float | None, typer.Option(help="Stop after so many minutes of training.")
    ] = None,
    out: Annotated[str, typer.Option(help="Folder of run folders.")] = "runs",
    resume: Annotated[str, typer.Option(help="Go on with this run folder.")] = "",
    device: Annotated[str, typer.Option(help="cpu, cuda or auto.")] = "auto",
) -> None:
    """Train a method on a data set, or go on with a run (`--resume RUN`)."""
    from rich.console import Console

    from unbraid.settings import merge, parse_sets
    from unbraid.training import fit as training
    from unbraid.training.plan import make_plan

    console = Console()
    settings = parse_sets(sets or [])
    if max_minutes is not None:
        settings = merge(settings, {"training": {"max_minutes": max_minutes}})
    where = training.torch_device(device)
    if resume:
        if data or preset is not None:
            raise ValueError("--resume takes data and preset from the run: leave them out.")
        run = training.resume(resume, settings=settings, console=console, device=where)
    elif not data:
        raise ValueError("which data? Try `unbraid fit toy-sprites`, or --resume RUN.")
    else:
        plan = make_plan(data, method, preset=preset, settings=settings, seed=seed)
        folder = training.run_folder(out, plan)
        note = "its defaults" if plan.preset == "none" else f"preset {plan.preset}"
        console.print(
            f"{method} on {data}, {note}, seed {seed} -> {folder}", highlight=False, soft_wrap=True
        )
        run = training.run_plan(plan, folder, console=console, device=where)
    end = run.about["training"]
    console.print(
        f"{end['reason']} after {end['steps']} steps, {end['epochs']} epochs, "
        f"{end['minutes']} min: {run.path}",
        highlight=False,
        soft_wrap=True,
    )
    if end["reason"] == "interrupted":
        console.print(f"Go on with: unbraid fit --resume {run.path}", highlight=False)
        raise typer.Exit(130)
