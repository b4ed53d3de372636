"""`unbraid methods`: what there is."""

import json as jsonlib
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="For scripts.")]


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command()(methods)


def _table(columns: list[str], rows: list[list[str]]) -> None:
    from rich.table import Table

    from unbraid.screen import Screen

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*row)
    Screen().print(table)


def methods(
    name: Annotated[str, typer.Argument(help="Show this method's settings.")] = "",
    json: Json = False,
) -> None:
    """Show the methods, or the settings and presets of one."""
    from unbraid.methods import find_method, method_names
    from unbraid.runs.costs import COSTS, cost_words
    from unbraid.runs.plan import preset_names
    from unbraid.runs.recipes import recommended_for
    from unbraid.settings import as_table, flat
    from unbraid.workflows.reproduce.strengths import good_at, good_at_words

    chosen = {key: find_method(key) for key in ([name] if name else method_names())}
    facts: list[dict[str, Any]] = [
        {
            "name": key,
            "paper": cls.paper,
            "settings": as_table(cls.Config()),
            "presets": preset_names(key),
            "recommended": recommended_for(key),
            "step_cost": COSTS.get(key, {}),
            "good_at": good_at(key),
        }
        for key, cls in chosen.items()
    ]
    if json:
        typer.echo(jsonlib.dumps(facts, indent=1))
    elif name:
        typer.echo(f"{name}: {facts[0]['paper']}\npresets: {', '.join(facts[0]['presets'])}")
        typer.echo(
            "".join(f"recommended for {k}: {v}\n" for k, v in facts[0]["recommended"].items())
        )
        for comparison, ranks in facts[0]["good_at"].items():
            words = "; ".join(f"{rank}: {', '.join(names)}" for rank, names in ranks.items())
            typer.echo(f"our results, {comparison}: {words}")
        _table(
            ["setting", "default"],
            [[name, str(value)] for name, value in flat(facts[0]["settings"], "method.")],
        )
    else:
        rows = [
            [
                f["name"],
                f["paper"],
                cost_words(f["name"]),
                good_at_words(f["good_at"]),
                ", ".join(f["recommended"]) or "-",
            ]
            for f in facts
        ]
        columns = ["method", "paper", "kinds of data, cost of a step", "good at"]
        _table([*columns, "recommended for"], rows)
        typer.echo("\ncost of a step: CPU time, dsvae = 1, measured with recommended presets")
        typer.echo(
            "good at: metrics of our comparisons (docs/which.md) in which no other method is "
            "better by more than one standard deviation of the seeds, nor raw values at all"
        )
        for fact in facts:
            for kind, why in fact["recommended"].items():
                typer.echo(f"\n{fact['name']} for {kind}: {why}")
