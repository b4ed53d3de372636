"""`unbraid tune`."""

from typing import TYPE_CHECKING, Annotated

import typer

from unbraid.cli.use import Device

if TYPE_CHECKING:
    from rich.console import Console

    from unbraid.workflows.tune.search import Search


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command()(tune)


def tune(
    data: Annotated[str, typer.Argument(help="Data set (`unbraid data list`), file or folder.")],
    method: Annotated[
        str | None,
        typer.Option("--method", "-m", help="See `unbraid methods` (default: recommended)."),
    ] = None,
    trials: Annotated[int, typer.Option(help="How many the study shall have in all.")] = 20,
    max_minutes: Annotated[
        float,
        typer.Option(
            help="Training budget of one trial (default: what the preset says).",
            show_default=False,
        ),
    ] = 0.0,
    objective: Annotated[
        str, typer.Option(help="elbo, leakage or both; measured on validation without labels.")
    ] = "leakage",
    preset: Annotated[
        str | None, typer.Option(help="Where trials start from, as for `fit` (default: paper).")
    ] = None,
    space: Annotated[
        str, typer.Option(help="TOML file of what is searched (default: the paper's search space).")
    ] = "",
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", help="Pin one setting, e.g. training.lr=1e-3; repeat for more."),
    ] = None,
    pruner: Annotated[str, typer.Option(help="median, hyperband or none.")] = "median",
    workers: Annotated[int, typer.Option(help="Processes, of one thread each if several.")] = 1,
    labels: Annotated[
        bool, typer.Option("--labels", help="Then measure how well the choice agrees with labels.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Decides every draw and every training.")] = 0,
    out: Annotated[str, typer.Option(help="Folder of studies.")] = "tuning",
    device: Device = "auto",
) -> None:
    """Search good settings without labels; a stopped study goes on by the same command."""
    from unbraid.runs.run import torch_device
    from unbraid.screen import Screen
    from unbraid.settings import parse_sets
    from unbraid.workflows.tune import tuning as work
    from unbraid.workflows.tune.report import results_table
    from unbraid.workflows.tune.search import make_search

    console, where = Screen(), torch_device(device)
    search = make_search(
        data,
        method,
        preset=preset,
        space=space,
        settings=parse_sets(sets or []),
        objective=objective,
        pruner=pruner,
        seed=seed,
        max_minutes=max_minutes,
    )
    folder = search.folder(out)
    _print_start(search, console, str(folder))
    try:
        study = work.tune(
            search,
            folder,
            trials=trials,
            workers=workers,
            device=where,
            say=lambda text: console.print(text, soft_wrap=True),
        )
    except KeyboardInterrupt:
        console.print(f"Stopped. The same command goes on with {folder}.")
        raise typer.Exit(130) from None
    console.print(results_table(study, search))
    if labels:
        from unbraid.workflows.tune.agree import agree, agreement_table

        console.print("", agreement_table(agree(study, search, device=where)))
    best = f"--method {search.method} --preset {folder}/best.toml"
    console.print(
        f"Train with the best: unbraid fit {data} {best}",
        highlight=False,
        soft_wrap=True,
    )


def _print_start(search: "Search", console: "Console", folder: str) -> None:
    """Say what is searched, where the budget comes from, and whether the preset takes part."""
    plan = search.plan({}).training
    budget = f"{plan.steps} steps" if plan.steps else f"{plan.epochs} epochs"
    if plan.max_minutes:
        budget = f"{plan.max_minutes:g} min or {budget}"
    names = ", ".join(name for name, entry in search.space.items() if not entry.same)
    outside = ", ".join(search.outside())
    first = f"the preset cannot be drawn ({outside})" if outside else "trial 0 is the preset"
    console.print(
        f"{search.method} on {search.data}, preset {search.preset}, by {search.objective} -> "
        f"{folder}\n{budget} a trial; searching {names}; {first}",
        highlight=False,
        soft_wrap=True,
    )
