"""`unbraid diagnose`."""

import typer

from unbraid.cli.use import Device, Run, SplitName


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command()(diagnose)


def diagnose(run: Run, split: SplitName = "test", device: Device = "auto") -> None:
    """Find leakage between s and d, without labels too, and say what to try."""
    from rich.console import Console

    from unbraid.tasks.diagnose import diagnose as work
    from unbraid.tasks.diagnose import diagnosis_table
    from unbraid.training.fit import torch_device

    found = work(run, split=split, device=torch_device(device))
    Console().print(diagnosis_table(found))
    typer.echo("")
    for sentence in found["verdict"]:
        typer.echo(f"- {sentence}")
