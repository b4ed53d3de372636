"""The published comparisons: which methods, on which data, by which numbers.

One comparison is one file `comparisons/<name>.toml`. Settings in it are written as on the command
line (`method.anchor=last`), so that every run can be made by hand, too. `rows` and `metrics` may be
the name of another comparison of ours, whose rows or metrics are then used.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import unbraid
from unbraid.data import data_title
from unbraid.runs.plan import Plan, make_plan
from unbraid.safety.names import check_path_name, path_name
from unbraid.settings import Table, at_least, build, closest, merge, parse_sets, read_toml

FOLDER = Path(unbraid.__file__).parent / "comparisons"
TUNED = ", tuned here"  # behind the label of a row whose weights are not those of its paper
RAW = "raw"  # the row that is trained on nothing: predictors on the values themselves
Variant = Literal["paper", "authors"]
VARIANTS: tuple[Variant, ...] = ("paper", "authors")


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How long every run is trained: epochs, minutes at work, or what ends first."""

    epochs: int = 0  # 0: those of the row's preset
    minutes: float = 0.0  # 0: no limit

    @property
    def settings(self) -> Table:
        """The settings that make it so, whatever else the machine does."""
        limits = {"max_minutes": float(self.minutes), "minutes_of": "work"}
        return {"training": limits | ({"epochs": self.epochs} if self.epochs else {})}

    def __str__(self) -> str:
        epochs = f"{self.epochs} epochs" if self.epochs else ""
        minutes = f"{self.minutes:g} min" if self.minutes else ""
        return " or ".join(filter(None, (epochs, minutes)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the comparison: a method with its settings."""

    name: str  # of its folder, and for --rows
    label: str  # as in published.csv
    method: str  # of the catalogue, or "raw"
    preset: str = ""  # empty: that of the protocol, of the comparison, or "paper"
    sets: tuple[str, ...] = ()  # what differs from the preset
    epochs: int = 0  # of training, where a row has its own number; 0: the comparison's
    authors: tuple[str, ...] = ()  # what differs further in the authors' code

    def __post_init__(self) -> None:
        check_path_name(self.name, "name")


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One number and how it is read; a name that ends in `_pct` is in percent.

    `tool` is the classifier of a probe or the predictor of a task. A probe or a judge without
    `factor` takes the mean over all factors of `role`. `separation` reads the field `score` of a
    `Separation`, `reconstruction` the error relative to that of the mean sequence. `difference` is
    the first of `of` less the second.
    """

    name: str  # as in published.csv
    better: Literal["up", "down"]
    by: Literal[
        "judge",
        "probe",
        "speakers",
        "content",
        "task",
        "separation",
        "reconstruction",
        "difference",
    ]
    code: Literal["s", "d", "both"] = "both"  # kept (judge), read (probe) or given (task)
    factor: str = ""
    role: Literal["", "static", "dynamic"] = ""
    tool: Literal["net", "linear", "boosted", "svc", "forest", "knn"] = "net"
    score: str = "accuracy"
    of: tuple[str, ...] = ()
    split: Literal["test", "validation"] = "test"  # separation and reconstruction
    target: float | None = None  # for the best method
    comparable: bool = True  # with the published number of this name


def improvement(value: float | int, other: float | int, better: str) -> float | int:
    """Return by how much a value is better than another; `better` is "up" or "down".

    >>> improvement(7.0, 7.5, "down")
    0.5
    """
    return value - other if better == "up" else other - value


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperFinding:
    """What a paper found: `row` is better than `than` by a metric, or alike `within` so much."""

    says: str
    metric: str
    row: str
    than: str
    within: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """How it is trained and measured."""

    name: str = ""  # in tables; empty: paper or authors
    text: str  # one sentence
    note: str = ""  # what a reader has to know to compare with the published numbers
    preset: str = ""
    sets: tuple[str, ...] = ()
    means: bool = False  # judge: decode the means along a drawn path, not the draws


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A published comparison."""

    name: str  # the stem of its file
    given: str  # what it was asked for by: its name, or the path of a file of one's own
    title: str
    data: str
    published: str  # name of the data set in published.csv
    where: str  # it was printed
    seeds: int
    epochs: int = 0  # of training, for every run; 0: those of the presets
    minutes: float = 0.0  # of training, for every run; 0: no limit
    repeats: int = 3  # predictors, random splits of probes, or draws of a judge, for every run
    preset: str = ""
    sets: tuple[str, ...] = ()
    judge: tuple[str, ...] = ()  # settings of the judge
    paper: Protocol
    authors: Protocol | None = None
    rows: tuple[Row, ...]
    metrics: tuple[Metric, ...]
    findings: tuple[PaperFinding, ...] = ()

    def __post_init__(self) -> None:
        at_least(self, 1, "seeds", "repeats")
        at_least(self, 0, "epochs", "minutes")
        if not self.epochs and not self.minutes:
            raise ValueError(f"{self.name} has no budget: give it epochs or minutes.")
        rows, metrics = ([part.name for part in parts] for parts in (self.rows, self.metrics))
        for metric in self.metrics:
            _known(metric.of, metrics, f"metric {metric.name}")
        for finding in self.findings:
            _known((finding.row, finding.than), rows, "a finding")
            _known((finding.metric,), metrics, "a finding")

    @property
    def budget(self) -> Budget:
        """How long every run is trained."""
        return Budget(epochs=self.epochs, minutes=self.minutes)

    @property
    def main_metrics(self) -> tuple[Metric, ...]:
        """What it is about: the metrics with a target; without any, the first one."""
        return tuple(m for m in self.metrics if m.target is not None) or self.metrics[:1]

    @property
    def targets(self) -> dict[str, float]:
        """Metric -> what the best method should reach."""
        return {m.name: m.target for m in self.metrics if m.target is not None}

    @property
    def judged(self) -> bool:
        """Whether a judge is needed."""
        return any(metric.by == "judge" for metric in self.metrics)

    @property
    def sides(self) -> tuple[Literal["d", "s"], ...]:
        """The codes that a judge must see kept."""
        codes = {metric.code for metric in self.metrics if metric.by == "judge"}
        return tuple(code for code in ("d", "s") if code in codes)

    def protocol(self, variant: Variant) -> Protocol:
        """Return a protocol, or say that there is one only."""
        protocol = self.paper if variant == "paper" else self.authors
        if protocol is None:
            raise ValueError(
                f"{self.name} has the protocol of the paper only: where the authors' code differs "
                "is not known, or there is no setting for it. Leave --protocol out."
            )
        return protocol

    def choose(self, names: tuple[str, ...]) -> tuple[Row, ...]:
        """Return the rows of these names, all if there are none."""
        _known(names, [row.name for row in self.rows], f"--rows of {self.name}")
        return tuple(row for row in self.rows if not names or row.name in names)

    def words(self, row: Row, variant: Variant) -> tuple[str, ...]:
        """Return all settings of a row, as after --set."""
        own = row.authors if variant == "authors" else ()
        return (*self.sets, *self.protocol(variant).sets, *row.sets, *own)

    def plan(self, row: Row, variant: Variant, *, seed: int, budget: Budget) -> Plan:
        """Return what a run of a row will do."""
        settings = merge(parse_sets(self.words(row, variant)), budget.settings)
        preset = self._preset(row, variant)
        return make_plan(self.data, row.method, preset=preset, settings=settings, seed=seed)

    def _preset(self, row: Row, variant: Variant) -> str:
        return row.preset or self.protocol(variant).preset or self.preset or "paper"

    def trained_alike(self, row: Row, variant: Variant) -> bool:
        """Say whether a protocol trains a row as the paper's does; it may measure otherwise."""
        same = self.words(row, variant) == self.words(row, "paper")
        return same and self._preset(row, variant) == self._preset(row, "paper")

    def prefix(self, row: Row, variant: Variant) -> str:
        """Return what the names of a row's run folders begin with, before the seed."""
        return "" if self.trained_alike(row, variant) else "authors-"

    def data_options(self, variant: Variant) -> Table:
        """Return the settings of the data, which all rows share."""
        return parse_sets((*self.sets, *self.protocol(variant).sets)).get("data", {})


def _known(names: tuple[str, ...], there: list[str], where: str) -> None:
    for name in names:
        if name not in there:
            raise KeyError(f"{where}: there is no '{name}'.{closest(name, there)}")


def comparison_names() -> list[str]:
    """Return the comparisons there are."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def find_comparison(name: str) -> Comparison:
    """Return a comparison by name, or that of a TOML file of one's own."""
    return _read(Path(name), name) if name.endswith(".toml") else _ours(name)


@cache
def _ours(name: str) -> Comparison:
    path = FOLDER / f"{name}.toml"
    if not path.is_file():
        raise KeyError(f"there is no comparison '{name}'.{closest(name, comparison_names())}")
    return _read(path, name)


def _read(path: Path, name: str) -> Comparison:
    table: dict[str, Any] = read_toml(path) | {"name": path_name(path.name), "given": name}
    for part in ("rows", "metrics"):
        if isinstance(other := table.get(part), str):
            try:
                table[part] = getattr(_ours(other), part)
            except KeyError as error:
                raise KeyError(f"{path.name}: {part}: {error.args[0]}") from None
    try:
        return build(Comparison, table, where=path.name)
    except TypeError as error:  # a required setting is not there
        raise ValueError(f"{path.name} is not complete: {error}.") from None


def list_comparisons() -> list[dict[str, Any]]:
    """Return what there is to be re-made."""
    comparisons = [find_comparison(name) for name in comparison_names()]
    return [
        {
            "name": c.name,
            "title": c.title,
            "data": data_title(c.data),
            "rows": {row.name: row.label for row in c.rows},
            "seeds": c.seeds,
            "epochs": c.epochs,
            "minutes": c.minutes,
            "protocols": ["paper", *(["authors"] if c.authors else [])],
            "published": c.where,
            "targets": c.targets,
        }
        for c in comparisons
    ]
