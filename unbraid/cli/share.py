"""`unbraid export`: models for other programs."""

from pathlib import Path
from typing import Annotated

import typer

from unbraid.cli.tell import tell
from unbraid.cli.use import File, Force, Run, SplitName
from unbraid.safety.ours import replacing_ours


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command()(export)


def export(
    run: Run,
    to: Annotated[str, typer.Option("--to", help="onnx.")] = "onnx",
    split: SplitName = "test",
    file: File = "",
    out: Annotated[Path | None, typer.Option(help="Where to write [RUN/onnx].")] = None,
    force: Force = False,
) -> None:
    """Write a model for other runtimes, checked against PyTorch on real sequences."""
    if to != "onnx":
        raise ValueError(f"--to must be onnx, got {to!r}.")
    from unbraid.workflows.export.onnx_files import export_run
    from unbraid.workflows.export.use import Source

    with replacing_ours(out, ["encoder", "decoder", "prior_step", "onnx"], force=force):
        exported = export_run(run, Source(split, file=file), out)
    for part in exported.parts:
        shapes = " and ".join(f"{count} x {steps} steps" for count, steps in part.shapes)
        size = part.file.stat().st_size / 1e6
        tell(
            f"wrote {part.file} ({size:.1f} MB): max difference from PyTorch {part.difference:.1e} "
            f"on {shapes}"
        )
    for note in exported.notes:
        tell(note)
