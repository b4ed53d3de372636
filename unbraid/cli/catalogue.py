"""`unbraid methods` and `unbraid data`: what there is."""

import json as jsonlib
from pathlib import Path
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="For scripts.")]
data_app = typer.Typer(help="Data sets: list, prepare.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command()(methods)
    data_app.command("list")(data_list)
    data_app.command("prepare")(data_prepare)
    app.add_typer(data_app, name="data")


def _table(columns: list[str], rows: list[list[str]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def methods(
    name: Annotated[str, typer.Argument(help="Show this method's settings.")] = "",
    json: Json = False,
) -> None:
    """Show the methods, or the settings and presets of one."""
    from unbraid.methods import METHODS, find_method
    from unbraid.settings import as_table
    from unbraid.training.plan import preset_names

    chosen = {name: find_method(name)} if name else METHODS
    facts: list[dict[str, Any]] = [
        {
            "name": key,
            "paper": cls.paper,
            "settings": as_table(cls.Config()),
            "presets": preset_names(key),
        }
        for key, cls in chosen.items()
    ]
    if json:
        typer.echo(jsonlib.dumps(facts, indent=1))
    elif name:
        typer.echo(f"{name}: {facts[0]['paper']}\npresets: {', '.join(facts[0]['presets'])}\n")
        _table(["setting", "default"], _flatten(facts[0]["settings"], "method"))
    else:
        _table(["method", "paper"], [[fact["name"], fact["paper"]] for fact in facts])


def _flatten(table: dict[str, Any], prefix: str) -> list[list[str]]:
    rows = []
    for key, value in table.items():
        inner = isinstance(value, dict)
        rows += _flatten(value, f"{prefix}.{key}") if inner else [[f"{prefix}.{key}", str(value)]]
    return rows


def data_list(json: Json = False) -> None:
    """Show the data sets there are."""
    from dataclasses import asdict

    from unbraid.data import DATASETS

    if json:
        facts = [{"name": name, **asdict(entry)} for name, entry in DATASETS.items()]
        typer.echo(jsonlib.dumps(facts, indent=1))
        return
    rows = [
        [name, entry.kind, "embedded" if entry.embedded else "to prepare", entry.about]
        for name, entry in DATASETS.items()
    ]
    _table(["data set", "kind", "", "what"], rows)


def data_prepare(
    name: Annotated[str, typer.Argument(help="A data set of `unbraid data list`.")],
    root: Annotated[Path | None, typer.Option(help="Folder with the publisher's files.")] = None,
    download: Annotated[
        bool, typer.Option("--download", help="Fetch the files to --root.")
    ] = False,
) -> None:
    """Build the memory-mapped cache of a data set from its files."""
    from unbraid.tasks.prepare import prepare

    for line in prepare(name, root, download=download):
        typer.echo(line)
