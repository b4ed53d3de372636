"""`unbraid methods`: what there is."""

import json as jsonlib
import re
from typing import Annotated, Any

import typer

KINDS = ("video", "audio", "series")
Json = Annotated[bool, typer.Option("--json", help="For scripts.")]


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command()(methods)


def _table(columns: list[str], rows: list[list[str]]) -> None:
    from rich.table import Table

    from unbraid.screen import Screen

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column == columns[0])  # names to copy
    for row in rows:
        table.add_row(*row)
    Screen().print(table)


def citation(paper: str) -> str:
    """Return authors and venue of `Authors, title, venue year`, two authors at most.

    >>> citation("Bai, Wang, Gomes, Contrastively Disentangled VAE, NeurIPS 2021")
    'Bai et al., NeurIPS 2021'
    >>> citation("Li and Mandt, Disentangled Sequential Autoencoder, ICML 2018")
    'Li and Mandt, ICML 2018'
    """
    first, *parts = paper.split(", ")
    venue = re.search(r"\b[A-Z]\w+ \d{4}\b", paper)
    if venue is None or not parts:
        return paper
    several = " " not in parts[0]  # a title has several words
    return f"{first} et al., {venue[0]}" if several else f"{first}, {venue[0]}"


def _cost(served: bool, cost: float | None) -> str:
    if not served:
        return "-"
    return "?" if cost is None else f"{cost:.1f}"


def methods(
    name: Annotated[str, typer.Argument(help="Show this method's settings.")] = "",
    json: Json = False,
) -> None:
    """Show the methods, or the settings and presets of one."""
    from unbraid.methods import method_names

    facts = [_facts(key) for key in ([name] if name else method_names())]
    if json:
        typer.echo(jsonlib.dumps(facts, indent=1))
    elif name:
        _show_one(facts[0])
    else:
        _show_all(facts)


def _facts(name: str) -> dict[str, Any]:
    """Return all that is known of a method, for scripts."""
    from unbraid.methods import find_method
    from unbraid.runs.costs import COSTS
    from unbraid.runs.plan import preset_names, preset_settings
    from unbraid.runs.recipes import RECOMMENDED, recommended_for
    from unbraid.settings import as_table
    from unbraid.workflows.reproduce.strengths import good_at

    cls = find_method(name)
    return {
        "name": name,
        "paper": cls.paper,
        "settings": as_table(cls.Config()),
        "recommended_settings": {
            kind: preset_settings(f"{RECOMMENDED}/{kind}", name) for kind in cls.kinds
        },
        "presets": preset_names(name),
        "recommended": recommended_for(name),
        "step_cost": COSTS.get(name, {}),
        "good_at": good_at(name),
    }


def _show_one(fact: dict[str, Any]) -> None:
    """Print the paper of a method, its presets, results and settings."""
    from unbraid.runs.plan import preset_settings
    from unbraid.settings import flat

    typer.echo(f"{fact['name']}: {fact['paper']}\npresets: {', '.join(fact['presets'])}")
    typer.echo("".join(f"recommended for {k}: {v}\n" for k, v in fact["recommended"].items()))
    for comparison, ranks in fact["good_at"].items():
        words = "; ".join(f"{rank}: {', '.join(names)}" for rank, names in ranks.items())
        typer.echo(f"our results, {comparison}: {words}")
    kinds = {kind: dict(flat(table)) for kind, table in fact["recommended_settings"].items()}
    rows = [
        [
            key,
            str(value),
            *("" if table[key] == value else str(table[key]) for table in kinds.values()),
        ]
        for key, value in flat(preset_settings("none", fact["name"]))
    ]
    _table(["setting", "default", *kinds], rows)
    typer.echo(
        f"\n{', '.join(kinds)}: what `unbraid fit DATA --method {fact['name']}` takes (recommended "
        "preset), empty where it is the default; --preset none takes all defaults"
    )


def _show_all(facts: list[dict[str, Any]]) -> None:
    """Print a line for every method, and what its columns mean."""
    from unbraid.workflows.reproduce.strengths import good_at_words

    rows = [
        [
            fact["name"],
            citation(fact["paper"]),
            *(
                _cost(kind in fact["recommended_settings"], fact["step_cost"].get(kind))
                for kind in KINDS
            ),
            good_at_words(fact["good_at"]),
        ]
        for fact in facts
    ]
    _table(["method", "paper", *KINDS, "good at"], rows)
    typer.echo(
        "\nvideo, audio, series: cost of a training step, in CPU time, dsvae = 1, with "
        "recommended presets; - not for such data, ? not measured"
    )
    typer.echo(
        "good at: metrics of our comparisons (docs/which.md) in which no other method is "
        "better by more than one standard deviation of the seeds, nor raw values at all"
    )
    for fact in facts:
        for kind, why in fact["recommended"].items():
            typer.echo(f"\n{fact['name']} for {kind}: {why}")
