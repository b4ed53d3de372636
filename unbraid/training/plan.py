"""What a run will do, resolved once: defaults < preset < command line."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tomli_w

import unbraid
from unbraid.data import DATASETS, data_kind, data_options
from unbraid.data.own import is_path
from unbraid.methods import find_method
from unbraid.precision import number_format
from unbraid.settings import Table, as_table, build, closest, merge, read_toml
from unbraid.training.config import TrainingConfig

PRESETS = Path(unbraid.__file__).parent / "presets"
SECTIONS = ("data", "method", "training")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A run before it starts: names, seed and every setting."""

    data: str
    method: str
    preset: str
    seed: int
    data_options: Table
    method_config: Any
    training: TrainingConfig

    def on(self, device: str) -> "Plan":
        """Return the plan with `training.precision` decided for a device."""
        chosen = number_format(self.training.precision, device)
        return replace(self, training=replace(self.training, precision=chosen))

    def as_toml(self) -> str:
        """Return the text of `config.toml`, from which `read_plan` makes the same plan."""
        table = {
            "run": {
                "data": self.data, "method": self.method, "preset": self.preset,
                "seed": self.seed, "unbraid": unbraid.__version__,
            },
            "data": self.data_options,
            "method": as_table(self.method_config),
            "training": as_table(self.training),
        }  # fmt: skip
        return tomli_w.dumps(table)


def make_plan(
    data: str, method: str, *, preset: str | None = None, settings: Mapping[str, Any] | None = None,
    seed: int = 0, kind: str | None = None,
) -> Plan:  # fmt: skip
    """Resolve the settings of a run.

    Args:
        data: a name of the catalogue, or the path of a file or folder.
        method: a name of the catalogue of methods.
        preset: a folder of presets such as `sprites` or `sprites/fast`, a TOML file, or "none";
            without one, the data set's own preset is taken, else that of its kind.
        settings: what differs from the preset: tables named data, method and training.
        seed: of the run.
        kind: of data in memory, which are in no catalogue.
    """
    find_method(method)
    settings = settings or {}
    kind = kind or data_kind(data, settings.get("data"))
    name = preset if preset is not None else _default_preset(data, kind, method)
    if seed < 0:
        raise ValueError(f"seed must be 0 or more, got {seed}.")
    where = name if name.endswith(".toml") else f"{name}/{method}.toml"
    return _build(
        (data, method, name, seed), read_preset(name, method), where=where, settings=settings
    )


def read_plan(path: Path, settings: Mapping[str, Any] | None = None) -> Plan:
    """Return the plan of a `config.toml`, with some settings changed if asked."""
    table = read_toml(path)
    try:
        run = table.pop("run")
        names = (run["data"], run["method"], run["preset"], run["seed"])
    except (KeyError, TypeError):
        raise ValueError(f"{path} is not the config.toml of a run: [run] is incomplete.") from None
    # Runs made before there was a choice computed in fp32.
    table["training"] = {"precision": "fp32"} | table.get("training", {})
    return _build(names, table, where=str(path), settings=settings or {})


def _build(
    names: tuple[str, str, str, int], base: Table, *, where: str, settings: Mapping[str, Any]
) -> Plan:
    """Build every section from the base and what differs; each is blamed for its own mistakes."""
    data, method, preset, seed = names
    _sections(base, where, data, method)
    _sections(settings, "--set", data, method)
    built = _sections(merge(base, settings), where, data, method)
    return Plan(
        data=data, method=method, preset=preset, seed=seed, data_options=built["data"],
        method_config=built["method"], training=built["training"],
    )  # fmt: skip


def _sections(table: Mapping[str, Any], where: str, data: str, method: str) -> dict[str, Any]:
    for section in table:
        if section not in SECTIONS:
            near = closest(section, SECTIONS)
            raise KeyError(f"{where}: there is no section '{section}'.{near}")
    config = find_method(method).Config
    return {
        "data": _data_options(data, table.get("data", {}), where),
        "method": build(config, table.get("method", {}), where=where),
        "training": build(TrainingConfig, table.get("training", {}), where=where),
    }


def _data_options(data: str, table: Table, where: str) -> Table:
    if data in DATASETS or is_path(data):
        return as_table(data_options(data, table, where=where))
    if table:
        raise KeyError(f"{where}: {data} has no settings of its own, got {', '.join(table)}.")
    return {}  # a corpus in memory


def preset_names(method: str) -> list[str]:
    """Return the presets there are for a method, e.g. `sprites` and `sprites/fast`."""
    found = PRESETS.rglob(f"{method}.toml")
    return sorted(path.parent.relative_to(PRESETS).as_posix() for path in found)


def read_preset(name: str, method: str) -> Table:
    """Return the table of a preset: a name, a TOML file, or "none" for an empty one."""
    if name == "none":
        return {}
    if name.endswith(".toml"):
        return read_toml(Path(name))
    path = PRESETS / name / f"{method}.toml"
    if not path.is_file():
        known = preset_names(method)
        raise KeyError(f"there is no preset '{name}' for {method}.{closest(name, known)}")
    return read_toml(path)


def _default_preset(data: str, kind: str, method: str) -> str:
    """Return the data set's own preset, that of the benchmark it stands in for, or the kind's."""
    stand_in = DATASETS[data].stand_in if data in DATASETS else ""
    return next((n for n in (data, stand_in, kind) if n in preset_names(method)), "none")
