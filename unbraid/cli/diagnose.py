"""`unbraid diagnose` and `unbraid modes`."""

from typing import Annotated

import typer

from unbraid.cli.output import print_line
from unbraid.cli.use import Device, Run, SplitName


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command()(diagnose)
    app.command()(modes)


def diagnose(
    run: Run,
    split: SplitName = "test",
    judge: Annotated[str, typer.Option(help="Folder of a judge, who then looks, too.")] = "",
    device: Device = "auto",
) -> None:
    """Find leakage between s and d, without labels too, and say what to try."""
    from unbraid.runs.run import torch_device
    from unbraid.screen import Screen
    from unbraid.workflows.evaluate.diagnose import diagnose as work
    from unbraid.workflows.evaluate.diagnose import diagnosis_table
    from unbraid.workflows.evaluate.judging import leakage_screen

    diagnosis = work(run, split=split, judge=judge, device=torch_device(device))
    Screen().print(diagnosis_table(diagnosis))
    if diagnosis["judge"]:
        Screen().print("", leakage_screen(diagnosis["judge"]))
    print_line("")
    for sentence in diagnosis["verdict"]:
        print_line(f"- {sentence}")


def modes(run: Run, split: SplitName = "test", device: Device = "auto") -> None:
    """Show which Koopman mode of an skd run tells which factor; write modes.json and a figure."""
    from unbraid.runs.run import torch_device
    from unbraid.screen import Screen
    from unbraid.workflows.evaluate.modes import measure_modes, modes_table

    measurement = measure_modes(run, split=split, device=torch_device(device))
    Screen().print(modes_table(measurement))
    print_line("% of the way from chance to certainty, by k-NN; modes.json has the numbers.")
