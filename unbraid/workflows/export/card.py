"""A model card: what a model is, its data, what was measured, and what it is not for."""

import json
from pathlib import Path
from typing import Any

from unbraid.files import read_json
from unbraid.methods import find_method, method_label
from unbraid.methods.store import read_about

UNKNOWN_LICENCE = "other"
LIMITS = """\
* The codes are statistics of the data above. On other recordings, people or machines measure first.
* s and d are separated as far as the table says, and no further: d may tell who somebody is.
  This is no method to make data anonymous.
* A swap is a reconstruction by a model, not a recording. Say so where you show it."""


def model_card(folder: Path, *, name: str, licence: str, picture: str = "") -> str:
    """Return the card (`README.md`) of a model folder, from `model.json` and `metrics.json`.

    Args:
        folder: holds the model and, if it was evaluated, `metrics.json`.
        name: what to call it, e.g. user/name.
        licence: of the weights, in the hub's words, e.g. "apache-2.0".
        picture: file of a swap, beside the card.
    """
    about = read_about(folder)
    metrics = read_json(folder / "metrics.json") if (folder / "metrics.json").is_file() else {}
    parts = [
        _front_matter(about, licence),
        f"# {name}\n\n{_what(about)}",
        f"![Swapped sequences]({picture})" if picture else "",
        f"## How to load\n\n```python\nimport unbraid\n\n"
        f'model = unbraid.load("{name}")\n```\n\nThe files are safetensors and JSON; loading them '
        "runs no code of theirs.",
        f"## Data\n\n{_data(about)}",
        f"## Measured\n\n{_measured(metrics)}",
        f"## Limits\n\n{LIMITS}",
        f"## Settings\n\n```json\n{json.dumps(about['config'], indent=1)}\n```",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _front_matter(about: dict[str, Any], licence: str) -> str:
    kind = about["spec"]["kind"]
    tags = ["unbraid", "disentanglement", "representation-learning", kind, about["method"]]
    lines = ["---", f"license: {licence}", "library_name: unbraid", "tags:"]
    return "\n".join([*lines, *(f"- {tag}" for tag in tags), "---"])


def _what(about: dict[str, Any]) -> str:
    c = about["config"]
    label, cls = method_label(about["method"]), find_method(about["method"])
    return (
        f"{label} ({cls.paper}), trained with unbraid {about['unbraid']}. It splits "
        f"{about['spec']['kind']} sequences into a static code s of {c['static_dim']} numbers and "
        f"a dynamic code d of {c['dynamic_dim']} numbers a step."
    )


def _data(about: dict[str, Any]) -> str:
    spec, training = about["spec"], about["training"]
    shape = " x ".join(map(str, (spec["length"], *spec["frame"])))
    stand_in = f" They stand in for {spec['stand_in']}." if spec.get("stand_in") else ""
    rows = [
        f"| data | {_cell(spec['name'])}, {spec['kind']} of {shape}.{stand_in} |",
        f"| training sequences | {spec['size']:,} |",
        f"| labelled factors (evaluation only) | {_factors(spec)} |",
        f"| optimiser steps | {training.get('steps', '-')} |",
        f"| minutes | {training.get('minutes', '-')} |",
    ]
    return "\n".join(["| | |", "| --- | --- |", *rows])


def _factors(spec: dict[str, Any]) -> str:
    names = [
        f"{_cell(factor['name'])} ({role})"
        for role in ("static", "dynamic")
        for factor in spec.get(role, ())
    ]
    return ", ".join(names) or "none"


def _measured(metrics: dict[str, Any]) -> str:
    if not metrics:
        return "Not evaluated: `unbraid evaluate RUN` before `unbraid push` fills this in."
    lines = [
        f"Split `{metrics['split']}`, {metrics['sequences']} sequences.",
        f"Reconstruction: mean squared error {metrics['reconstruction_mse']:.5f}"
        f"{_relative(metrics.get('relative_error'))}.",
        *_separation(metrics.get("separation") or {}),
        *(f"* {_cell(line)}" for line in metrics.get("verdict", ())[:1]),
    ]
    return "\n\n".join([*lines, _leak_table(metrics.get("probes", []))]).strip()


def _relative(share: float | None) -> str:
    return "" if share is None else f", {_percent(share)} of that of the mean sequence"


def _separation(separation: dict[str, Any]) -> list[str]:
    if "separation" not in separation:
        return []
    return [f"Separation: {100 * separation['separation']:.0f} of 100."]


def _leak_table(probes: list[dict[str, Any]]) -> str:
    """Return what each code tells of each factor: a good model has the bold cells high."""
    cells: dict[tuple[str, str], dict[str, float]] = {}
    for row in probes:
        if row.get("classifier") == "svc":
            key = (str(row["factor"]), str(row["role"]))
            cells.setdefault(key, {"chance": row["chance"]})[str(row["code"])] = row["mean"]
    if not cells:
        return ""
    head = ["| factor | role | from s | from d | chance |", "| --- | --- | --- | --- | --- |"]
    return "\n".join(
        [
            "Probe accuracy (SVC). A static factor should be told by s alone, a dynamic one by d.",
            "",
            *head,
            *(
                f"| {_cell(factor)} | {role} | {_percent(row.get('s'))} | "
                f"{_percent(row.get('d'))} | {_percent(row['chance'])} |"
                for (factor, role), row in cells.items()
            ),
        ]
    )


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f} %"


def _cell(text: Any) -> str:
    """Return words from outside as plain text of a Markdown table."""
    return str(text).replace("|", "/").replace("<", "&lt;").replace("\n", " ")
