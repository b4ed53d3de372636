"""`unbraid reproduce`."""

import json as jsonlib
from pathlib import Path
from typing import Annotated

import typer

from unbraid.cli.output import print_line
from unbraid.cli.use import Device


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command()(reproduce)


def reproduce(
    name: Annotated[
        str, typer.Argument(help="A comparison (--list), recipes, or a TOML file.")
    ] = "",
    show: Annotated[bool, typer.Option("--list", help="Show the comparisons there are.")] = False,
    seeds: Annotated[
        int,
        typer.Option(help="Trainings of each row (default: the comparison's).", show_default=False),
    ] = 0,
    first_seed: Annotated[
        int, typer.Option(help="Begin with this seed; --merge adds to the seeds of the table.")
    ] = 0,
    epochs: Annotated[
        int,
        typer.Option(
            help="Epochs of each training (default: the comparison's).", show_default=False
        ),
    ] = 0,
    max_minutes: Annotated[
        float,
        typer.Option(
            help="Minutes at work of each training (default: the comparison's).",
            show_default=False,
        ),
    ] = 0.0,
    rows: Annotated[str, typer.Option(help="Some rows only, e.g. dbse,spyl (default: all).")] = "",
    data: Annotated[
        str, typer.Option(help="With recipes: some data sets only, e.g. toy-series (default: all).")
    ] = "",
    protocol: Annotated[str, typer.Option(help="paper, or authors: as their code.")] = "paper",
    out: Annotated[Path, typer.Option(help="Folder of comparisons.")] = Path("runs/reproduce"),
    workers: Annotated[
        int, typer.Option(help="Runs side by side, one thread each; 1: one run, all threads.")
    ] = 1,
    merge: Annotated[
        Path | None, typer.Option(help="Put the rows into this results.json and its page, too.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="With --list: for scripts.")] = False,
    device: Device = "auto",
) -> None:
    """Re-make a published comparison: data, training, judge, evaluation, table."""
    if show:
        _list(json)
        return
    if not name:
        raise ValueError("which comparison? `unbraid reproduce --list` shows them.")
    from unbraid.runs.run import torch_device
    from unbraid.screen import Screen
    from unbraid.workflows.reproduce import recipes
    from unbraid.workflows.reproduce.comparison import Request
    from unbraid.workflows.reproduce.comparison import reproduce as work

    if data and name != recipes.NAME:
        raise ValueError(f"--data is for `unbraid reproduce recipes`, not for {name}.")

    console = Screen()
    request = Request(
        name=name,
        seeds=seeds,
        first_seed=first_seed,
        epochs=epochs,
        max_minutes=max_minutes,
        protocol=protocol,
        out=out,
        rows=tuple(word.strip() for word in rows.split(",") if word.strip()),
        workers=workers,
        merge=merge,
        device=torch_device(device),
    )
    display = console if console.is_terminal else None
    sets = [word.strip() for word in data.split(",") if word.strip()]
    try:
        outcome = (
            recipes.compare_recipes(request, sets, console=display, say=print_line)
            if name == recipes.NAME
            else work(request, console=display, say=print_line)
        )
    except KeyboardInterrupt:
        print_line("Stopped; what was made is kept. The same command goes on.", err=True)
        raise typer.Exit(130) from None
    print_line(f"wrote {outcome.page}\n{outcome.verdict}")
    if outcome.failed:
        print_line(
            f"{len(outcome.failed)} runs failed; the same command tries them again.", err=True
        )
        raise typer.Exit(1)


def _list(json: bool) -> None:
    from rich.table import Table

    from unbraid.screen import Screen
    from unbraid.workflows.reproduce.plan import list_comparisons

    facts = list_comparisons()
    if json:
        typer.echo(jsonlib.dumps(facts, indent=1))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("name", "data", "runs", "what"):
        table.add_column(column, overflow="fold", no_wrap=column == "name")
    for fact in facts:
        budget = f"{fact['epochs']} epochs" if fact["epochs"] else f"{fact['minutes']:g} min"
        runs = f"{len(fact['rows'])} x {fact['seeds']} of {budget}"
        table.add_row(fact["name"], fact["data"], runs, fact["title"])
    Screen().print(table)
