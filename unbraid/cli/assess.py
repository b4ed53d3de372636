"""`unbraid evaluate` and `unbraid report`."""

from typing import Annotated

import typer

from unbraid.cli.use import Device, Run


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command()(evaluate)
    app.command()(report)


def evaluate(
    run: Run,
    seeds: Annotated[int, typer.Option(help="Random 80/20 splits per probe.")] = 10,
    device: Device = "auto",
) -> None:
    """Measure reconstruction and what s and d tell of the labelled factors (test split)."""
    from rich.console import Console

    from unbraid.tasks.assess import evaluate as work
    from unbraid.tasks.assess import summary_table
    from unbraid.training.fit import torch_device

    metrics = work(run, seeds=seeds, device=torch_device(device))
    Console().print(summary_table(metrics))


def report(run: Run, device: Device = "auto") -> None:
    """Write RUN/report.html: what was trained, measured and how it looks."""
    from unbraid.tasks.assess import report as work
    from unbraid.training.fit import torch_device

    typer.echo(f"wrote {work(run, device=torch_device(device))}")
