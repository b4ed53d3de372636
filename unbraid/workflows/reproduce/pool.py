"""One number over training seeds that were made at different times: mean and deviation of all.

A row of a table keeps the value of every seed. Rows of older tables have mean and deviation alone;
those of their seeds, 0 to n - 1, are kept as they are and later seeds are added to them.
"""

import shlex
from math import sqrt
from statistics import fmean

from unbraid.workflows.reproduce.markdown import Result


def summary(values: dict[str, float], earlier: Result | None = None) -> Result:
    """Return mean, std (of a sample; None for one seed) and number of the seeds.

    Args:
        values: seed -> value.
        earlier: `mean`, `std` and `seeds` of seeds that are not among the values.

    >>> summary({"0": 1.0, "1": 3.0})["std"] == summary({"1": 3.0}, summary({"0": 1.0}))["std"]
    True
    """
    groups = [(1, value, 0.0) for value in values.values()]
    if earlier:
        n = earlier["seeds"]
        groups.append((n, earlier["mean"], (n - 1) * (earlier["std"] or 0.0) ** 2))
    n = sum(count for count, _, _ in groups)
    mean = sum(count * value for count, value, _ in groups) / n
    squares = sum(inner + count * (value - mean) ** 2 for count, value, inner in groups)
    return {"mean": mean, "std": sqrt(squares / (n - 1)) if n > 1 else None, "seeds": n}


def with_earlier_seeds(old: Result, new: Result) -> Result:
    """Return a new row with the seeds of the old one that it lacks.

    A row that begins with seed 0 replaces the old one.

    Raises:
        ValueError: seeds in between are missing, or the budgets differ.
    """
    first = min(map(int, new["values"]), default=0)
    if first == 0 or new["mean"] is None or old["mean"] is None:
        return new
    earlier = old.get("earlier") or _without_values(old)
    known = {seed: value for seed, value in old.get("values", {}).items() if int(seed) < first}
    there = len(known) + (earlier["seeds"] if earlier else 0)
    name = f"{new['method']}, {new['metric']}"
    if there < first or (earlier and earlier["seeds"] > first):
        raise ValueError(
            f"{name}: the table has {old['seeds']} seeds and the new ones begin with seed {first}. "
            f"Make them with --first-seed {old['seeds']}. Nothing was merged."
        )
    if _without_seeds(old) != _without_seeds(new):
        raise ValueError(
            f"{name}: the seeds of the table were made by `{old['command']}`, the new ones by "
            f"`{new['command']}`: a mean over unequal budgets means nothing. Nothing was merged."
        )
    values = known | new["values"]
    minutes = fmean([old["minutes"], new["minutes"]], [there, len(new["values"])])
    versions = {*old["version"].split(", "), *new["version"].split(", ")}
    pooled = summary(values, earlier) | {"values": values, "minutes": round(minutes, 3)}
    pooled |= {"version": ", ".join(sorted(versions))}
    if judges := {*old.get("judge_pct", ()), *new.get("judge_pct", ())}:
        pooled |= {"judge_pct": sorted(judges)}
    return new | pooled | ({"earlier": earlier} if earlier else {})


def _without_seeds(row: Result) -> list[str]:
    """Return the command of a row but for the number of seeds: comparison, row and budget."""
    words = shlex.split(row["command"])
    place = words.index("--seeds")
    return words[:place] + words[place + 2 :]


def _without_values(old: Result) -> Result | None:
    """Return the summary of a row whose single values are not known."""
    return None if "values" in old else {key: old[key] for key in ("mean", "std", "seeds")}
