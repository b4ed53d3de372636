"""What a study searches, kept in `study.toml` so that everybody who joins searches the same."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, get_args

import tomli_w

import unbraid
from unbraid.data import data_kind
from unbraid.files import write_text
from unbraid.runs.plan import Plan, make_plan, read_preset
from unbraid.safety.names import path_name
from unbraid.settings import Table, all_finite, as_table, closest, flat, merge, read_toml
from unbraid.workflows.tune.space import (
    Draws,
    Space,
    as_settings,
    check_space,
    look_up,
    outside,
    plan_table,
    read_space,
    without,
)
from unbraid.workflows.tune.study import Objective, Pruner, Study, open_study


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A question to be answered by trials; two searches are one study if all of it is equal."""

    data: str
    method: str
    preset: str
    objective: Objective = "leakage"
    pruner: Pruner = "median"
    seed: int = 0
    max_minutes: float = 0.0
    """Budget of one trial; 0: what the preset says."""
    settings: Table
    """Pinned: what differs from the preset in every trial."""
    draws: Draws
    """What is searched, in the words of the grammar."""
    bound_of: str = "random sequences"
    """What `elbo` is measured on; studies begun in older versions: first sequences."""

    def __post_init__(self) -> None:
        all_finite(self)

    @property
    def space(self) -> Space:
        """What is searched, checked against the settings there are."""
        return check_space(self.draws, self.plan({}), "the search space")

    def plan(self, params: Mapping[str, Any]) -> Plan:
        """Return the run of a trial.

        Args:
            params: dotted name -> value as the study keeps it; empty: the preset and what is
                pinned.
        """
        settings = merge(self.settings, self.drawn(params) if params else {})
        if self.max_minutes:
            settings = merge(settings, {"training": {"max_minutes": self.max_minutes}})
        return make_plan(
            self.data, self.method, preset=self.preset, settings=settings, seed=self.seed
        )

    def drawn(self, params: Mapping[str, Any]) -> Table:
        """Return the values of a trial as tables of settings."""
        return self.reader()(params)

    def reader(self) -> Callable[[Mapping[str, Any]], Table]:
        """Return what `drawn` does, for many trials."""
        return partial(as_settings, self.space, known=plan_table(self.plan({})))

    def preset_table(self, params: Mapping[str, Any]) -> Table:
        """Return a trial's settings as a preset: without the budget of a trial."""
        base = read_preset(self.preset, self.method)
        return merge(merge(base, self.settings), self.drawn(params))

    def folder(self, out: str | Path) -> Path:
        """Return `<out>/<data>/<method>`."""
        return Path(out) / path_name(self.data) / self.method

    def outside(self) -> list[str]:
        """Return the settings whose preset value cannot be drawn; none: trial 0 is the preset."""
        return outside(self.space, plan_table(self.plan({})))


def make_search(
    data: str,
    method: str | None = None,
    *,
    preset: str | None = None,
    space: str = "",
    settings: Mapping[str, Any] | None = None,
    **rest: Any,
) -> Search:
    """Return a search whose names and values have all been checked.

    Args:
        data: a name of the catalogue, or the path of a file or folder.
        method: a name of the catalogue of methods; without one, the recommended method.
        preset: where every trial starts from; see `make_plan`.
        space: a file of the grammar; empty: the method's own space.
        settings: what is pinned: tables named data, method and training.
        rest: objective, pruner, seed and max_minutes of `Search`.
    """
    settings = settings or {}
    for name, allowed in (("objective", Objective), ("pruner", Pruner)):
        words = get_args(allowed)
        if rest.get(name, words[0]) not in words:
            raise KeyError(f"there is no {name} '{rest[name]}'.{closest(rest[name], words)}")
    if rest.get("max_minutes", 0.0) < 0:
        raise ValueError(f"--max-minutes must not be negative, got {rest['max_minutes']}.")
    seed = rest.get("seed", 0)
    # The papers' search spaces are around the papers' values.
    plan = make_plan(data, method, preset=preset or "paper", settings=settings, seed=seed)
    method = plan.method
    kind = data_kind(data, settings.get("data"))
    draws = without(read_space(method, kind, space), settings)
    check_space(draws, plan, Path(space).name if space else f"spaces/{method}.toml")
    return Search(
        data=data, method=method, preset=plan.preset, settings=dict(settings), draws=draws, **rest
    )


def enter(search: Search, folder: Path) -> Study:
    """Open the study of a search; refuse a folder that holds another one.

    Args:
        search: what is searched.
        folder: of the study, made if there is none.
    """
    path = folder / "study.toml"
    if path.is_file():
        _check_same(search, read_search(folder), folder)
    else:
        write_text(path, tomli_w.dumps({"unbraid": unbraid.__version__} | as_table(search)))
    plan = plan_table(search.plan({}))
    free = [name for name, entry in search.space.items() if not entry.same]
    first = None if search.outside() else {name: look_up(plan, name) for name in free}
    return open_study(
        folder,
        search.space,
        objective=search.objective,
        pruner=search.pruner,
        seed=search.seed,
        first=first,
    )


def read_search(folder: Path) -> Search:
    """Return the search of a study's folder."""
    table = read_toml(folder / "study.toml")
    table.pop("unbraid", None)
    if table.get("objective") in ("elbo", "both"):
        table.setdefault("bound_of", "first sequences")
    try:
        return Search(**table)
    except TypeError as error:
        raise ValueError(f"{folder / 'study.toml'} is not a study of ours: {error}.") from None


def _check_same(asked: Search, there: Search, folder: Path) -> None:
    new, old = (dict(flat(as_table(search))) for search in (asked, there))
    differs = sorted(name for name in new.keys() | old.keys() if new.get(name) != old.get(name))
    if differs:
        name = differs[0]
        raise ValueError(
            f"{folder} holds another study: its {name} is {old.get(name)}, not {new.get(name)}. "
            "Ask for the same, choose another --out, or delete the folder."
        )
