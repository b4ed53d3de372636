"""`unbraid data`: list, prepare, check and preview data sets and people's own data."""

import json as jsonlib
from pathlib import Path
from typing import Annotated, Any

import typer

from unbraid.cli.output import print_line
from unbraid.cli.use import Force, SplitName
from unbraid.safety.ownership import replacing_ours

data_app = typer.Typer(help="Data: list, prepare, check, preview.", no_args_is_help=True)
Json = Annotated[bool, typer.Option("--json", help="For scripts.")]
Name = Annotated[str, typer.Argument(help="Data set (`unbraid data list`), file or folder.")]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", help="A setting of the data, e.g. data.split.by=speaker; repeat."),
]


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    data_app.command("list")(show)
    for command in (prepare, check, preview):
        data_app.command()(command)
    app.add_typer(data_app, name="data")


def show(json: Json = False) -> None:
    """Show the data sets there are, and which are at hand."""
    from rich.table import Table

    from unbraid.screen import Screen
    from unbraid.workflows.check.catalogue import at_hand, data_facts, origin

    facts = data_facts()
    if json:
        typer.echo(jsonlib.dumps(facts, indent=1))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("data set", "kind", "origin", "here", "what"):
        table.add_column(column, overflow="fold", no_wrap=column in ("data set", "kind"))
    for fact in facts:
        table.add_row(fact["name"], fact["kind"], origin(fact), at_hand(fact), fact["about"])
    Screen().print(table)


def prepare(
    name: Annotated[str, typer.Argument(help="A data set of `unbraid data list`.")],
    root: Annotated[Path | None, typer.Option(help="Folder with the publisher's files.")] = None,
    download: Annotated[
        bool, typer.Option("--download", help="Fetch the files to --root.")
    ] = False,
    sets: Sets = None,
) -> None:
    """Build the memory-mapped cache of a data set from its files."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    from unbraid.screen import Screen
    from unbraid.workflows.check import prepare as work

    options = _options(sets)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    console = Screen()
    bars = Progress(
        *columns,
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with bars as bar:
        task = bar.add_task("preparing", total=1.0)
        summary = work.prepare(
            name,
            root,
            download=download,
            options=options,
            progress=lambda share: bar.update(task, completed=share),
        )
        for line in summary:
            bar.console.print(line, soft_wrap=True)


def check(
    data: Name,
    sets: Sets = None,
    json: Json = False,
    deep: Annotated[
        bool, typer.Option("--deep", help="Examine every sequence, however many there are.")
    ] = False,
) -> None:
    """Say what data hold, what will be done with them, and what is wrong with them."""
    from dataclasses import asdict

    from unbraid.screen import Screen
    from unbraid.workflows.check.examination import check_data
    from unbraid.workflows.check.terminal import screen, verdict

    console = Screen()
    options = _options(sets)
    if json:
        examination = check_data(data, options, deep=deep)
        typer.echo(jsonlib.dumps(asdict(examination), indent=1))
    else:
        with console.status("examining"):
            examination = check_data(data, options, deep=deep)
        for part in screen(examination):
            console.print(part)
        console.print(verdict(examination), soft_wrap=True)
    if not examination.ready:
        raise typer.Exit(2)


def preview(
    data: Name,
    out: Annotated[
        Path | None, typer.Option(help="A folder, or a .png file (default: previews/NAME).")
    ] = None,
    count: Annotated[int, typer.Option(help="How many sequences.")] = 6,
    split: SplitName = "train",
    sets: Sets = None,
    force: Force = False,
) -> None:
    """Draw some sequences with their labels, and how often labels and lengths occur."""
    from unbraid.workflows.check.preview import preview as work

    folder, stem = (out.parent, out.stem) if out and out.suffix else (out, "sequences")
    with replacing_ours(folder, [stem, f"{stem}-labels"], force=force):
        for path in work(data, _options(sets), out=out, count=count, split=split):
            print_line(f"wrote {path}")


def _options(sets: list[str] | None) -> dict[str, Any]:
    """Return the settings of the data; there are no other settings here."""
    from unbraid.settings import closest, parse_sets

    table = parse_sets(sets or [])
    for section in table:
        if section != "data":
            raise KeyError(
                f"--set: there is no section '{section}' here.{closest(section, ['data'])}"
            )
    options = table.get("data", {})
    if not isinstance(options, dict):
        raise ValueError(f"--set wants data.name=value, got data={options}.")
    return options
