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
        table.add_column(column, overflow="fold")
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
    from unbraid.methods import find_method, method_names
    from unbraid.runs.costs import COSTS
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
                citation(f["paper"]),
                *(_cost(kind in cls.kinds, f["step_cost"].get(kind)) for kind in KINDS),
                good_at_words(f["good_at"]),
            ]
            for f, cls in zip(facts, chosen.values(), strict=True)
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
