"""What a run will do, resolved once: defaults < preset < command line."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import tomli_w

import unbraid
from unbraid.data import DATASETS, data_kind
from unbraid.data.corpus import Corpus
from unbraid.methods import find_method
from unbraid.methods.former import convert_settings, preset_successor, successor
from unbraid.precision import number_format
from unbraid.runs.config import TrainingConfig
from unbraid.runs.recipes import RECOMMENDED, recommended_method
from unbraid.runs.source import DataSource, find_source
from unbraid.settings import Table, as_table, build, closest, merge, read_toml

PRESETS = Path(unbraid.__file__).parent / "presets"
SECTIONS = ("data", "method", "training")


class Names(NamedTuple):
    """What a run is about; its settings follow from these."""

    data: DataSource
    method: str
    preset: str
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A run before it starts: names, seed and every setting."""

    data: DataSource
    method: str
    preset: str
    seed: int
    method_config: Any
    training: TrainingConfig

    def on(self, device: str, kind: str) -> "Plan":
        """Return the plan with `training.precision` decided for a device and a kind of data."""
        chosen = number_format(self.training.precision, device, kind)
        return replace(self, training=replace(self.training, precision=chosen))

    def as_toml(self) -> str:
        """Return the text of `config.toml`, from which `read_plan` makes the same plan."""
        table = {
            "run": {
                "data": self.data.name,
                "reader": self.data.reader,
                "method": self.method,
                "preset": self.preset,
                "seed": self.seed,
                "unbraid": unbraid.__version__,
            },
        }
        return tomli_w.dumps(table | self.tables())

    def tables(self) -> dict[str, Table]:
        """Return the settings as plain nested values, a table per section."""
        return {
            "data": self.data.settings,
            "method": as_table(self.method_config),
            "training": as_table(self.training),
        }


def make_plan(
    data: str | Corpus,
    method: str | None = None,
    *,
    preset: str | None = None,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    kind: str | None = None,
) -> Plan:
    """Resolve the settings of a run.

    Args:
        data: a name of the catalogue, the path of a file or folder, or a corpus in memory.
        method: a name of the catalogue of methods; without one, the recommended method for the kind
            of the data.
        preset: a folder of presets such as `sprites` or `sprites/fast`, a TOML file, or "none";
            "paper" for the values printed for the data set, "authors" for those of the authors'
            code; without one, "recommended", the recipe for the kind of the data.
        settings: what differs from the preset: tables named data, method and training.
        seed: of the run.
        kind: of the data, if it is known already: a file of arrays is then not opened to tell.
    """
    if method is not None:
        find_method(method)
    settings = settings or {}
    check_sections(settings, "--set")
    source = find_source(data, kind_known=kind is not None)
    if isinstance(data, Corpus):
        kind = data.spec.kind
    kind = kind or data_kind(source.name, settings.get("data"))
    method = method or recommended_method(kind)
    name = _preset_name(preset or RECOMMENDED, source.name, kind, method)
    method = preset_successor(method, {path.stem for path in (PRESETS / name).glob("*.toml")})
    if seed < 0:
        raise ValueError(f"seed must be 0 or more, got {seed}.")
    where = name if name.endswith(".toml") else f"{name}/{method}.toml"
    names = Names(source, method, name, seed)
    return _build(names, read_preset(name, method), where=where, settings=settings)


def preset_plan(plan: Plan, preset: str) -> Plan:
    """Return the plan a preset alone makes for the data, method and seed of a plan."""
    names = Names(plan.data, plan.method, preset, plan.seed)
    return _build(names, read_preset(preset, plan.method), where=preset, settings={})


def read_plan(path: Path, settings: Mapping[str, Any] | None = None) -> Plan:
    """Return the plan of a `config.toml`, with some settings changed if asked."""
    table = read_toml(path)
    names = _names(table.pop("run", None), path)
    check_sections(table, str(path))
    # Runs made before there was a choice computed in fp32.
    table["training"] = {"precision": "fp32"} | table.get("training", {})
    return _build(names, table, where=str(path), settings=settings or {})


def _names(run: Any, path: Path) -> Names:
    """Return what the section [run] of a `config.toml` says, or that it is not one."""
    kinds = {"data": str, "method": str, "preset": str, "seed": int}
    for key, kind in kinds.items():
        value = run.get(key) if isinstance(run, dict) else None
        if not isinstance(value, kind) or isinstance(value, bool):
            raise ValueError(
                f"{path} is not the config.toml of a run: [run] must have {key}, "
                f"{'a whole number' if kind is int else 'a text'}, got {value!r}."
            )
    source = (
        DataSource(run["data"], str(run["reader"]))
        if run.get("reader")
        else find_source(run["data"], kind_known=True)  # older runs do not name their reader
    )
    return Names(source, run["method"], run["preset"], run["seed"])


def _build(names: Names, base: Table, *, where: str, settings: Mapping[str, Any]) -> Plan:
    """Build every section from the base and what differs; each is blamed for its own mistakes."""
    check_sections(base, where)
    check_sections(settings, "--set")
    method = successor(names.method, merge(base, settings).get("method", {}))
    base, settings = (
        {**table, "method": convert_settings(table.get("method", {}), names.method, method)}
        for table in (base, settings)
    )
    names = names._replace(method=method)
    _sections(base, where, names)
    _sections(settings, "--set", names)
    built = _sections(merge(base, settings), where, names)
    return Plan(
        **names._replace(data=built["data"])._asdict(),
        method_config=built["method"],
        training=built["training"],
    )


def check_sections(table: Mapping[str, Any], where: str) -> None:
    """Raise unless a table of settings has the sections there are, each a table itself."""
    for section in table:
        if section not in SECTIONS:
            near = closest(section, SECTIONS)
            raise KeyError(f"{where}: there is no section '{section}'.{near}")
        if not isinstance(table[section], Mapping):
            raise ValueError(
                f"{where}: {section} is a section of settings, got {table[section]!r}. Give one of "
                f"them, e.g. --set {section}.NAME=VALUE."
            )


def _sections(table: Mapping[str, Any], where: str, names: Names) -> dict[str, Any]:
    config = find_method(names.method).Config
    return {
        "data": names.data.configure(table.get("data", {}), where),
        "method": build(config, table.get("method", {}), where=where),
        "training": build(TrainingConfig, table.get("training", {}), where=where),
    }


def preset_names(method: str) -> list[str]:
    """Return the presets there are for a method, e.g. `sprites` and `sprites/fast`."""
    files = PRESETS.rglob(f"{method}.toml")
    return sorted(path.parent.relative_to(PRESETS).as_posix() for path in files)


def preset_settings(name: str, method: str) -> Table:
    """Return all settings of method and training under a preset, those it does not name too."""
    table = read_preset(name, method)
    configs = {"method": find_method(method).Config, "training": TrainingConfig}
    return {
        section: as_table(build(config, table.get(section, {}), where=f"{name}/{method}"))
        for section, config in configs.items()
    }


def read_preset(name: str, method: str) -> Table:
    """Return the table of a preset: a name, a TOML file, or "none" for an empty one."""
    if name == "none":
        return {}
    if name.endswith(".toml"):
        return read_toml(Path(name))
    path = PRESETS / name / f"{method}.toml"
    if not path.is_file() and name.startswith(f"{RECOMMENDED}/"):  # a method from elsewhere
        recipe = read_preset(name, recommended_method(name.partition("/")[2]))
        return {"training": recipe["training"]}
    if not path.is_file():
        known = preset_names(method)
        raise KeyError(f"there is no preset '{name}' for {method}.{closest(name, known)}")
    return read_toml(path)


def _preset_name(preset: str, data: str, kind: str, method: str) -> str:
    """Return the folder of a preset; three names depend on the data and their kind."""
    known = preset_names(method)
    owners = [data, DATASETS[data].stand_in] if data in DATASETS else []
    if preset == RECOMMENDED:
        return f"{RECOMMENDED}/{kind}"
    if preset == "paper":  # the data set's own, that of what it stands in for, or the kind's
        return next((name for name in (*owners, kind) if name in known), "none")
    if preset == "authors":
        names = [f"{owner}/authors" for owner in owners]
        there = [name for name in known if name.endswith("/authors")]
        if not any(name in known for name in names):
            raise KeyError(
                f"there are no values of the authors' code for {method} on {data}, only "
                f"{', '.join(there) or 'none at all'}. Take --preset paper."
            )
        return next(name for name in names if name in known)
    return preset
