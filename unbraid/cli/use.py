"""`unbraid encode`, `reconstruct`, `swap`, `sample`, `interpolate`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from unbraid.cli.output import print_line
from unbraid.safety.ownership import replacing_ours

Run = Annotated[str, typer.Argument(help="A run folder, e.g. runs/toy-sprites/dbse/0.")]
SplitName = Annotated[str, typer.Option(help="train, validation or test.")]
Index = Annotated[
    str, typer.Option(help="Positions in the split, e.g. 3,17,4 (default: spread out).")
]
Count = Annotated[int, typer.Option(help="How many, if --index is not given.")]
File = Annotated[str, typer.Option("--input", help="Your own file or folder of sequences.")]
Out = Annotated[Path | None, typer.Option(help="Where to write (default: RUN/use).")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that are not ours, too.")]
Device = Annotated[str, typer.Option(help="cpu, cuda or auto.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    for command in (encode, reconstruct, swap, sample, interpolate):
        app.command()(command)


def _source(split: str, index: str, count: int, file: str, device: str) -> Any:
    from unbraid.runs.run import torch_device
    from unbraid.workflows.export.use import Source

    try:
        positions = tuple(int(word) for word in index.split(",") if word.strip())
    except ValueError:
        raise ValueError(f"--index wants whole numbers such as 3,17,4, got {index!r}.") from None
    if count < 1:
        raise ValueError(f"--count must be 1 or more, got {count}.")
    return Source(split, positions, count, file, torch_device(device))


def _say(path: Path) -> None:
    print_line(f"wrote {path} and pictures beside it")


def encode(
    run: Run,
    split: SplitName = "test",
    file: File = "",
    out: Annotated[
        Path | None,
        typer.Option(help="codes.npz, or codes.parquet for tables (default: RUN/use/codes.npz)."),
    ] = None,
    batch_size: Annotated[int, typer.Option(help="How many sequences at once.")] = 128,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a file that is not one of ours.")
    ] = False,
    device: Device = "auto",
    devices: Annotated[
        int, typer.Option(help="Processes (cpu) or GPUs of this machine that share the work.")
    ] = 1,
) -> None:
    """Write the codes s and d of every sequence, with ids and labels.

    Memory stays flat however many sequences there are. If it is stopped, the same command goes on.
    """
    from unbraid.parallel.launch import process_info
    from unbraid.screen import Screen
    from unbraid.workflows.export import EncodeConfig, encode

    config = EncodeConfig(batch_size=batch_size, devices=devices, force=force)
    console = Screen(quiet=process_info().rank > 0)
    source = _source(split, "", 1, file, device)
    try:
        paths = encode(run, source, out, config=config, console=console)
    except KeyboardInterrupt:
        console.print("Stopped: the same command goes on after the last finished part.")
        raise typer.Exit(130) from None
    if process_info().rank == 0:
        print_line(f"wrote {' and '.join(map(str, paths))}")


def reconstruct(
    run: Run,
    split: SplitName = "test",
    index: Index = "",
    count: Count = 4,
    file: File = "",
    out: Out = None,
    device: Device = "auto",
    force: Force = False,
) -> None:
    """Encode and decode sequences."""
    from unbraid.workflows.export import use

    with replacing_ours(out, ["reconstruct"], force=force):
        _say(use.reconstruct(run, _source(split, index, count, file, device), out))


def swap(
    run: Run,
    split: SplitName = "test",
    index: Index = "",
    count: Count = 3,
    file: File = "",
    out: Out = None,
    device: Device = "auto",
    force: Force = False,
) -> None:
    """Exchange the dynamic codes of pairs of sequences (first half with second half)."""
    from unbraid.workflows.export import use

    with replacing_ours(out, ["swap"], force=force):
        _say(use.swap(run, _source(split, index, count, file, device), out))


def sample(
    run: Run,
    factor: Annotated[str, typer.Option(help="Draw both, static or dynamic.")] = "both",
    length: Annotated[
        int, typer.Option(help="Steps (default: as the data).", show_default=False)
    ] = 0,
    seed: Annotated[int, typer.Option(help="Decides the draws.")] = 0,
    split: SplitName = "test",
    index: Index = "",
    count: Count = 6,
    file: File = "",
    out: Out = None,
    device: Device = "auto",
    force: Force = False,
) -> None:
    """Draw new sequences, or one factor anew while the other is kept."""
    from unbraid.workflows.export import use

    if factor not in ("both", "static", "dynamic"):
        raise ValueError(f"--factor must be both, static or dynamic, got {factor!r}.")
    source = _source(split, index, count, file, device)
    names = ["sample" if factor == "both" else f"sample-{factor}"]
    with replacing_ours(out, names, force=force):
        _say(use.sample(run, source, out, factor=factor, length=length, seed=seed))  # type: ignore[arg-type]


def interpolate(
    run: Run,
    factor: Annotated[str, typer.Option(help="static, dynamic or both.")] = "static",
    steps: Annotated[int, typer.Option(help="Sequences on the way.")] = 6,
    split: SplitName = "test",
    index: Index = "",
    file: File = "",
    out: Out = None,
    device: Device = "auto",
    force: Force = False,
) -> None:
    """Go from one sequence to another in code space."""
    from unbraid.workflows.export import use

    if factor not in ("both", "static", "dynamic"):
        raise ValueError(f"--factor must be static, dynamic or both, got {factor!r}.")
    source = _source(split, index, 2, file, device)
    with replacing_ours(out, ["interpolate"], force=force):
        _say(use.interpolate(run, source, out, steps=steps, factor=factor))  # type: ignore[arg-type]
