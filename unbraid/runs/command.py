"""The command that makes a run again, from its plan alone."""

import json
import shlex
from typing import Any

from unbraid.runs.plan import Plan, preset_plan
from unbraid.runs.run import Run, run_folder
from unbraid.settings import flat, parse_sets


def fit_command(run: Run) -> str:
    """Return `unbraid fit ...` with the preset of a run and every setting that differs from it.

    Nothing if the data were in memory: no command can make that run again.
    """
    if run.plan.data.in_memory:
        return ""
    plan, root = run.plan, run.path.parents[2] if len(run.path.parents) > 2 else run.path
    base, preset = _base(plan)
    words = ["unbraid", "fit", plan.data.name, "--method", plan.method, "--preset", preset]
    words += ["--seed", str(plan.seed)]
    before, now = dict(flat(base.tables())), dict(flat(plan.tables()))
    for name in [*now, *(name for name in before if name not in now)]:
        value = now.get(name, "none")  # a setting that is None has no leaf
        if value == before.get(name, "none"):
            continue
        if name == "training.max_minutes":
            words += ["--max-minutes", str(value)]
        else:
            words += ["--set", f"{name}={_text(value)}"]
    if run_folder(root, plan) == run.path:
        words += ["--out", str(root)]
    return shlex.join(words)


def _base(plan: Plan) -> tuple[Plan, str]:
    """Return the plan without settings of the user's own, and the preset it is made from."""
    for preset in (plan.preset, "none"):
        try:
            return preset_plan(plan, preset), preset
        except (ValueError, KeyError):  # a file that is gone, a preset that was renamed
            continue
    return plan, plan.preset


def _text(value: Any) -> str:
    """Return a value as `--set` reads it back: plain text, or TOML in the form of JSON."""
    plain = isinstance(value, str) and parse_sets([f"x={value}"])["x"] == value
    return value if plain else json.dumps(value)
