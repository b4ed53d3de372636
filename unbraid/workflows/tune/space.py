"""What a search may change: a small grammar in TOML, read from `spaces/<method>.toml` or a file.

    [method]
    w_nce = { choices = [0.1, 1.0, 5.0] }                   # one of these
    w_kl_static = { low = 1e-4, high = 1.0, log = true }    # a number; `step` makes it a grid
    w_kl_dynamic = { same = "method.w_kl_static" }          # always like another setting

Tables under `all`, `video`, `audio` and `series` hold for data of that kind.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import unbraid
from unbraid.methods import find_method
from unbraid.runs.config import TrainingConfig
from unbraid.runs.plan import Plan
from unbraid.settings import Table, as_table, build, closest, flat, merge, read_toml

SPACES = Path(unbraid.__file__).parent / "spaces"
KINDS = ("all", "video", "audio", "series")
WORDS = ("choices", "low", "high", "log", "step", "same")
Draws = dict[str, Table]
"""Dotted name of a setting -> how it is drawn, in the words of the grammar."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRange:
    """One setting of a space: one of `choices`, a number from `low` to `high`, or tied."""

    choices: tuple[Any, ...] = ()
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    step: float | None = None
    whole: bool = False
    same: str = ""

    def holds(self, value: Any) -> bool:
        """Say whether a value can be drawn."""
        if value is None or self.choices:
            return value in self.choices
        return self.low <= value <= self.high

    @property
    def ends(self) -> tuple[Any, ...]:
        """The values that a setting must allow: all choices, or both ends."""
        return self.choices or tuple(int(x) if x == int(x) else x for x in (self.low, self.high))

    def word(self, value: Any) -> Any:
        """Return a choice as a study keeps it: lists become text."""
        return json.dumps(value) if isinstance(value, list) else value


Space = dict[str, SearchRange]


def read_space(method: str, kind: str, path: str = "") -> Draws:
    """Return what a file lets vary for data of a kind; without a file, the method's own space.

    That is `spaces/<method>.toml`, the search of its paper, or else `default_space`.
    """
    source = Path(path) if path else SPACES / f"{method}.toml"
    if not path and not source.is_file():
        return default_space(find_method(method).Config())
    table, where = read_toml(source), source.name
    common = {key: value for key, value in table.items() if key not in KINDS}
    ranges: Draws = {}
    for part in (common, table.get("all", {}), table.get(kind, {})):
        ranges |= dict(_draws(part, where))
    return ranges


def default_space(config: Any) -> Draws:
    """Return the space of a method whose paper prints none, from the defaults of its settings.

    A decade to either side of every weight (`w_...`) that is not 0, code sizes of half and once
    the default, and the learning rates that C-DSVAE was searched over.
    """
    draws: Draws = {"training.lr": {"choices": [0.0005, 0.001, 0.0015, 0.002]}}
    for name, value in flat(as_table(config)):
        if name.startswith("w_") and name != "w_reconstruction" and value > 0:
            draws[f"method.{name}"] = {"low": value / 10, "high": value * 10, "log": True}
        elif name in ("static_dim", "dynamic_dim") and value > 1:
            draws[f"method.{name}"] = {"choices": [value // 2, value]}
    return draws


def _draws(table: Mapping[str, Any], where: str, prefix: str = "") -> Iterator[tuple[str, Table]]:
    """Yield the settings of a nested table by their dotted names."""
    for key, value in table.items():
        name = f"{prefix}{key}"
        if not isinstance(value, Mapping):
            raise ValueError(
                f"{where}: {name} must be a table such as {{ low = 0.1, high = 1.0 }} or "
                f"{{ choices = [1, 2] }}, got {value!r}. A fixed value goes to --set {name}=..."
            )
        if not value or set(value) & set(WORDS):
            yield name, dict(value)
        else:
            yield from _draws(value, where, f"{name}.")


def check_space(draws: Draws, plan: Plan, where: str) -> Space:
    """Return a space whose every name and end value the settings of a plan allow.

    Args:
        draws: from `read_space`, without what is pinned.
        plan: the run the search starts from.
        where: the space's file, the first words of an error.
    """
    known, space = plan_table(plan), {}
    for name, table in draws.items():
        _check_name(name, known, where)
        entry = _entry(name, table, look_up(known, name), where)
        if not entry.same:
            for value in entry.ends:
                _check_value(plan.method, merge(known, nested(name, value)), name, where)
        space[name] = entry
    for name, entry in space.items():
        if entry.same:
            _check_tie(name, entry.same, space, known, where)
    if not any(not entry.same for entry in space.values()):
        raise ValueError(f"{where}: nothing is left to search.")
    return space


def _check_name(name: str, known: Table, where: str) -> None:
    section, dot, _ = name.partition(".")
    if section not in known or not dot:
        if section == "data":
            raise ValueError(f"{where}: a search compares settings on the same data, got '{name}'.")
        near = closest(name, [*(key for key, _ in flat(known)), *KINDS])
        raise KeyError(f"{where}: there is no setting '{name}' to search.{near}")


def _check_value(method: str, table: Table, name: str, where: str) -> None:
    section = name.partition(".")[0]
    config = find_method(method).Config if section == "method" else TrainingConfig
    build(config, table[section], where=where)


def _check_tie(name: str, target: str, space: Space, known: Table, where: str) -> None:
    free = [key for key, entry in space.items() if not entry.same]
    if target not in free and look_up(known, target) is None:
        raise KeyError(f"{where}: {name}: there is no setting '{target}'.{closest(target, free)}")
    if target not in free and target in space:
        raise ValueError(f"{where}: {name} is tied to {target}, which is tied itself.")


def _entry(name: str, table: Table, present: Any, where: str) -> SearchRange:
    """Return an entry of the grammar, or say what is wrong with it."""
    for word in table:
        if word not in WORDS:
            raise KeyError(f"{where}: {name}: there is no word '{word}'.{closest(word, WORDS)}")
    forms = [form for form in (("choices",), ("low", "high"), ("same",)) if set(form) & set(table)]
    if len(forms) != 1 or not set(forms[0]) <= set(table):
        raise ValueError(
            f"{where}: {name} wants choices, or low and high, or same; got {', '.join(table)}."
        )
    if "choices" in table and not (isinstance(table["choices"], list) and table["choices"]):
        raise ValueError(f"{where}: {name}: choices must be a list, got {table['choices']!r}.")
    if "low" in table:
        _check_range(name, table, where)
    whole = isinstance(present, int) and not isinstance(present, bool)
    read = {"choices": tuple, "low": float, "high": float, "step": float}
    return SearchRange(**{word: read.get(word, _as_is)(table[word]) for word in table}, whole=whole)


def _as_is(value: Any) -> Any:
    return value


def _check_range(name: str, table: Table, where: str) -> None:
    numbers = [table[word] for word in ("low", "high", "step") if word in table]
    if not all(isinstance(x, int | float) and not isinstance(x, bool) for x in numbers):
        raise ValueError(f"{where}: {name}: low, high and step must be numbers, got {numbers}.")
    if not table["low"] < table["high"]:
        raise ValueError(
            f"{where}: {name}: low must be below high, got {table['low']} and {table['high']}."
        )
    if table.get("log") and (table["low"] <= 0 or "step" in table):
        raise ValueError(f"{where}: {name}: log wants low above zero and no step.")


def without(draws: Draws, settings: Mapping[str, Any]) -> Draws:
    """Return the settings that are not pinned."""
    pinned = {name for name, _ in flat(settings)}
    return {name: table for name, table in draws.items() if name not in pinned}


def outside(space: Space, known: Table) -> list[str]:
    """Return the names whose present value the space does not hold; a broken tie counts, too."""
    return [
        name
        for name, entry in space.items()
        if (
            look_up(known, name) != look_up(known, entry.same)
            if entry.same
            else not entry.holds(look_up(known, name))
        )
    ]


def as_settings(space: Space, params: Mapping[str, Any], known: Table) -> Table:
    """Return drawn values as tables of settings, ties resolved.

    Args:
        space: where they were drawn from.
        params: dotted name -> value, as a study keeps it.
        known: the settings of the plan, for ties to what is pinned.
    """
    table: Table = {}
    for name, value in params.items():
        by_word = {entry_word: choice for choice, entry_word in _words(space[name])}
        table = merge(table, nested(name, by_word.get(value, value)))
    for name, entry in space.items():
        if entry.same:
            table = merge(table, nested(name, look_up(merge(known, table), entry.same)))
    return table


def _words(entry: SearchRange) -> list[tuple[Any, Any]]:
    return [(choice, entry.word(choice)) for choice in entry.choices]


def plan_table(plan: Plan) -> Table:
    """Return what can be searched: the settings of the method and of training."""
    return {"method": as_table(plan.method_config), "training": as_table(plan.training)}


def nested(name: str, value: Any) -> Table:
    """Return the table of one dotted name.

    >>> nested("method.net.hidden", 8)
    {'method': {'net': {'hidden': 8}}}
    """
    *outer, last = name.split(".")
    table: Table = {last: value}
    for key in reversed(outer):
        table = {key: table}
    return table


def look_up(table: Mapping[str, Any], name: str) -> Any:
    """Return the value at a dotted name, or None."""
    value: Any = table
    for key in name.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
