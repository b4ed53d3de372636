"""`unbraid evaluate` and `unbraid report`."""

from pathlib import Path
from typing import Annotated

import typer

from unbraid.cli.output import print_line
from unbraid.cli.use import Device, Force, Run
from unbraid.safety.ownership import replacing_ours


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command()(evaluate)
    app.command()(report)
    app.command()(compare)


def evaluate(
    run: Run,
    suite: Annotated[str, typer.Option(help="quick or full.")] = "quick",
    judge: Annotated[str, typer.Option(help="Folder of a judge (default: judges/DATA).")] = "",
    unfinished: Annotated[
        bool, typer.Option("--unfinished", help="Measure an interrupted run, too.")
    ] = False,
    device: Device = "auto",
) -> None:
    """Measure a run on its test split: error, separation, probes, judge, tasks, leakage."""
    from unbraid.data import data_title
    from unbraid.runs.run import torch_device
    from unbraid.screen import Screen
    from unbraid.workflows.evaluate import measure as work
    from unbraid.workflows.evaluate.tables import all_tables, on_screen

    console = Screen()
    where = torch_device(device)
    with console.status("measuring") as status:
        metrics = work.evaluate(
            run, suite=suite, judge=judge, device=where, unfinished=unfinished, say=status.update
        )
    console.print(f"{data_title(metrics['data'])}: {metrics['sequences']} test sequences\n")
    for table in all_tables(metrics):
        console.print(on_screen(table), "")
    share = f"{100 * metrics['relative_error']:.1f} % of that of the data's mean"
    console.print(f"reconstruction: squared error {metrics['reconstruction_mse']:.5f}, {share}")
    for name, reason in metrics["skipped"].items():
        console.print(f"not measured: {name}: {reason}.", soft_wrap=True)
    for sentence in metrics["verdict"]:
        console.print(f"- {sentence}", soft_wrap=True)


def compare(
    data: Annotated[str, typer.Argument(help="Data set (`unbraid data list`), file or folder.")],
    methods: Annotated[str, typer.Option(help="Two or more, e.g. dsvae,glr,skd.")],
    max_minutes: Annotated[
        float,
        typer.Option(help="Of each training (default: those of its preset).", show_default=False),
    ] = 0,
    sets: Annotated[
        list[str] | None, typer.Option("--set", help="One setting for all; repeat for more.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of every run.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder of run folders.")] = Path("runs"),
    device: Device = "auto",
) -> None:
    """Train several methods on your data, measure them, and write one page with a leaderboard."""
    from unbraid.settings import merge, parse_sets
    from unbraid.workflows.evaluate.compare import compare_methods

    names = [name.strip() for name in methods.split(",") if name.strip()]
    settings = merge({"training": {"max_minutes": max_minutes}}, parse_sets(sets or []))
    page = compare_methods(
        data, names, settings=settings, seed=seed, out=out, say=print_line, device=device
    )
    print_line(f"wrote {page}")


def report(
    runs: Annotated[list[str], typer.Argument(help="One run folder, or several to compare.")],
    out: Annotated[Path, typer.Option(help="Where a comparison goes.")] = Path("comparison"),
    judge: Annotated[str, typer.Option(help="Folder of a judge (default: judges/DATA).")] = "",
    device: Device = "auto",
    force: Force = False,
) -> None:
    """Write RUN/report.html, or for several runs a comparison: figures, pictures, settings."""
    from unbraid.runs.run import torch_device
    from unbraid.workflows.evaluate import page as work

    where = torch_device(device)
    if len(runs) == 1:
        print_line(f"wrote {work.report(runs[0], judge=judge, device=where)}")
    else:
        with replacing_ours(out, ["report"], force=force):
            print_line(f"wrote {work.compare(runs, out, judge=judge, device=where)}")
