"""`unbraid studio`: runs and data in a browser."""

from pathlib import Path
from typing import Annotated

import typer

from unbraid.cli.output import print_line


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command()(studio)


def studio(
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN ...|DATA]",
            help="Run folders, or data to train on (default: the runs in --runs).",
        ),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(help="Write a page that opens without a server into this folder, and end."),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; beyond this machine with a token.")
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(
            help="Port (default: the first that is free from 8420 on).", show_default=False
        ),
    ] = 0,
    runs: Annotated[Path, typer.Option(help="Folder that trainings write to.")] = Path("runs"),
    folder: Annotated[
        list[Path] | None,
        typer.Option(
            help="Folder whose files can be trained on; repeat for more (default: this one)."
        ),
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page.")] = True,
    force: Annotated[
        bool, typer.Option("--force", help="--export: replace files that are not ours, too.")
    ] = False,
) -> None:
    """Look at runs and data in a browser: swap, listen, find leaks, compare, train."""
    from unbraid.studio.serve import serve
    from unbraid.studio.workspace import Places, make_workspace

    folders = tuple(path.expanduser().resolve() for path in folder or [Path()])
    missing = [path for path in folders if not path.is_dir()]
    if missing:
        raise ValueError(f"--folder: there is no folder {missing[0]}.")
    if export is not None:
        _export(targets or [], export, force=force)
        return
    workspace = make_workspace(targets or [], Places(runs=runs.resolve(), folders=folders))
    serve(workspace, host, port, browser=browser, say=print_line)


def _export(targets: list[str], folder: Path, *, force: bool) -> None:
    from unbraid.safety.ownership import replacing_ours
    from unbraid.studio.page.write import NAMES, export_page

    if len(targets) != 1:
        raise ValueError(f"--export wants one run folder, got {len(targets)}.")
    with replacing_ours(folder, NAMES, force=force):
        size = export_page(targets[0], folder, say=print_line)
    print_line(f"wrote {folder / 'index.html'}: {size / 1e6:.1f} MB, open it in any browser")
