"""`unbraid export` and `unbraid push`: models for other programs and other people."""

from pathlib import Path
from typing import Annotated

import typer

from unbraid.cli.output import print_line
from unbraid.cli.use import File, Force, Run, SplitName
from unbraid.safety.ownership import replacing_ours


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command()(export)
    app.command()(push)


def export(
    run: Run,
    to: Annotated[str, typer.Option("--to", help="onnx.")] = "onnx",
    split: SplitName = "test",
    file: File = "",
    out: Annotated[Path | None, typer.Option(help="Where to write (default: RUN/onnx).")] = None,
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
        print_line(
            f"wrote {part.file} ({size:.1f} MB): max difference from PyTorch {part.difference:.1e} "
            f"on {shapes}"
        )
    for note in exported.notes:
        print_line(note)


def push(
    run: Run,
    name: Annotated[str, typer.Argument(help="user/name on the hub, or a folder to write.")],
    licence: Annotated[
        str, typer.Option(help="Of the weights, in the hub's words, e.g. apache-2.0.")
    ] = "other",
    private: Annotated[bool, typer.Option("--private", help="Only you can see it.")] = False,
    picture: Annotated[
        bool | None,
        typer.Option(
            "--picture/--no-picture",
            help="Put the picture of `unbraid swap` on the card (default: unless the data are your "
            "own).",
        ),
    ] = None,
    endpoint: Annotated[str, typer.Option(help="Another hub than huggingface.co.")] = "",
) -> None:
    """Upload a model with its card to the Hugging Face hub, or write both to a folder.

    No data go along. A name that starts with / or ./ is a folder, for which nothing is uploaded.
    """
    from unbraid.workflows.export import hub

    config = hub.PushConfig(
        licence=licence, private=private, picture=picture, endpoint=endpoint or None
    )
    if name.startswith(("/", "./", "../", "~")):
        print_line(f"wrote {hub.save_pretrained(run, Path(name).expanduser(), config=config)}")
    else:
        print_line(f"uploaded: {hub.push(run, name, config=config)}")
