"""Train a judge on a data set, and let it score the generations of a run."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from rich.table import Table as ScreenTable

import unbraid
from unbraid.data import data_title, load_data
from unbraid.data.corpus import Split
from unbraid.data.labels import where_known
from unbraid.evaluation import judge as judges
from unbraid.evaluation.metrics.classification import chance
from unbraid.evaluation.protocols.generation import (
    Draws,
    judge_controls,
    judge_generations,
    judge_samples,
    leakage_table,
)
from unbraid.files import write_text
from unbraid.runs.run import OpenedRun
from unbraid.safety.names import path_name
from unbraid.settings import at_least, build, closest

Metrics = dict[str, Any]
SECTIONS = ("data", "judge")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoring:
    """How a run is judged."""

    repeats: int = 5  # draws of the other code for every sequence; the papers: 300
    means: bool = False  # let drawn d be the means along a path from the prior, as the authors do
    limit: int = 0  # judge so many test sequences, chosen at random but always the same; 0 = all
    minimum: float = 0.95  # accuracy the judge must have on every factor of its own test split
    sides: tuple[Literal["d", "s"], ...] = ("d", "s")  # which codes are kept in turn
    controls: bool = True  # judge reconstructions, true sequences and pairs of samples, too

    def __post_init__(self) -> None:
        at_least(self, 1, "repeats")
        at_least(self, 0, "limit")

    def some(self, split: Split) -> Split:
        """Return the sequences to judge."""
        return split.some(self.limit or len(split))


def fit_judge(
    data: str,
    *,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    out: str | Path = "judges",
    say: Callable[[str], None] = lambda text: None,
    device: str = "cpu",
) -> Path:
    """Train a judge into `<out>/<data>` and return that folder.

    A training that was stopped goes on where it was, if it is asked for again.

    Args:
        data: a name of the catalogue, or the path of a file or folder.
        settings: what differs from the defaults: tables named data and judge.
        seed: decides weights and order.
        out: folder of judges.
        say: is told how far it is.
        device: where to train.
    """
    settings, folder = settings or {}, Path(out) / path_name(data)
    for section in settings:
        if section not in SECTIONS:
            near = closest(section, SECTIONS)
            raise KeyError(f"--set: there is no section '{section}'.{near}")
    config = build(judges.JudgeConfig, settings.get("judge", {}), where="--set")
    corpus = load_data(data, settings.get("data", {}))
    if (folder / "judge.json").exists():
        raise ValueError(f"{folder} holds a judge already. Choose another --out, or delete it.")
    checkpoint = folder / "judge.checkpoint.safetensors"
    began = time.monotonic() - 60 * judges.minutes_before(checkpoint)
    how: dict[str, Any] = {"say": say, "device": device, "checkpoint": checkpoint}
    judge = judges.fit_judge(corpus, config, seed=seed, **how)
    about = {
        "fingerprint": judges.fingerprint(corpus),
        "accuracy": judges.test_accuracy(judge, corpus.test),
        "chance": _chances(judge, corpus.test),
        "sequences": {name: len(corpus.split(name)) for name in ("train", "validation", "test")},
        "training": {"seed": seed, "minutes": round((time.monotonic() - began) / 60, 2)},
    }
    judges.save_judge(judge, folder, about)
    checkpoint.unlink(missing_ok=True)
    return folder


def _chances(judge: judges.Judge, split: Split) -> dict[str, float]:
    mask = split.existing
    labels = {factor.name: split.label(factor.name) for factor, _ in judge.factors}
    known = {name: label[where_known(label, mask)] for name, label in labels.items()}
    return {name: chance(label) for name, label in known.items() if len(label)}


def score(run: OpenedRun, folder: str | Path, scoring: Scoring | None = None) -> Metrics:
    """Judge a run's generations on its test split and write `judge.json` into the run.

    Args:
        run: the run.
        folder: of the judge.
        scoring: how much to draw.
    """
    folder, c = Path(folder), scoring or Scoring()
    judge, about = judges.load_judge(folder, run.device), judges.read_judge(folder)
    corpus, method, plan = run.corpus, run.model, run.plan
    judges.check_judge(about, corpus, c.minimum)
    split = c.some(corpus.test)
    draws = Draws(repeats=c.repeats, seed=plan.seed, means=c.means, sides=c.sides)
    rows = judge_generations(method, judge, split, draws)
    controls = judge_controls(method, judge, split, seed=plan.seed) if c.controls else []
    controls += judge_samples(method, judge, split, draws) if c.controls else []
    metrics: Metrics = {
        "data": plan.data.name,
        "method": plan.method,
        "preset": plan.preset,
        "seed": plan.seed,
        "split": "test",
        "sequences": len(split),
        "repeats": c.repeats,
        "means": c.means,
        "judge": {"folder": str(folder)} | {k: about[k] for k in ("fingerprint", "accuracy")},
        "leakage": [asdict(row) for row in leakage_table(rows)],
        "rows": [asdict(row) for row in [*rows, *controls]],
        "training": run.about["training"],
        "unbraid": unbraid.__version__,
    }
    text = json.dumps(metrics, indent=1)
    write_text(run.path / "judge.json", text)
    return metrics


def accuracy_table(folder: Path) -> ScreenTable:
    """Return a judge's own test accuracies as a table for the screen."""
    about = judges.read_judge(folder)
    head = f"judge of {about['spec']['name']} ({about['sequences']['test']} test sequences)"
    table = _table(head, "factor", "accuracy", "chance")
    for name, value in about["accuracy"].items():
        table.add_row(name, f"{100 * value:.2f} %", f"{100 * about['chance'][name]:.1f} %")
    return table


def leakage_screen(metrics: Metrics) -> ScreenTable:
    """Return the judged accuracy of every factor with s kept, d kept, both, and of the data."""
    head = (
        f"{metrics['method']} on {data_title(metrics['data'])}, judged: {metrics['sequences']} "
        f"test sequences, {metrics['repeats']} draws each"
    )
    table = _table(head, "factor", "s kept", "d kept", "both", "data", "chance", "wanted")
    by_factor: dict[str, dict[str, Any]] = {}
    for row in metrics["rows"]:
        if row["metric"] == "accuracy":
            by_factor.setdefault(row["factor"], {})[row["kept"]] = row
    for name, by in by_factor.items():
        cells = [f"{100 * by[k]['mean']:.1f} ± {100 * by[k]['std']:.1f} %" for k in ("s", "d")]
        bare = [f"{100 * by[k]['mean']:.1f} %" for k in ("both", "data")]
        own = "s" if by["s"]["role"] == "static" else "d"
        table.add_row(name, *cells, *bare, f"{100 * by['s']['chance']:.1f} %", f"{own} high")
    gaps = [_gap(row) for row in metrics["leakage"] if row["gap"] is not None]
    table.caption = f"gaps: {', '.join(gaps)}" if gaps else None
    return table


def samples_screen(metrics: Metrics) -> ScreenTable:
    """Return how often a drawn code keeps its factors when the other is drawn anew."""
    table = _table(
        "two samples with one drawn code in common", "factor", "code", "agreement", "chance"
    )
    for row in metrics["rows"]:
        if row["metric"] == "agreement":
            value = f"{100 * row['mean']:.1f} ± {100 * row['std']:.1f} %"
            code = "s" if row["role"] == "static" else "d"
            table.add_row(row["factor"], code, value, f"{100 * row['chance']:.1f} %")
    return table


def _gap(row: dict[str, Any]) -> str:
    """Say a gap, and what guessing gives where the two roles differ in their chance levels."""
    guess = row["static_chance"] - row["dynamic_chance"]
    guess = guess if row["kept"] == "s" else -guess
    return f"{row['kept']} kept {100 * row['gap']:.1f} % (chance {100 * guess:.1f} %)"


def scores_screen(metrics: Metrics) -> ScreenTable:
    """Return IS, H(y|x) and H(y) of the factors the kept code is meant to hold."""
    names = ("inception_score", "intra_entropy", "inter_entropy")
    table = _table("classes balanced, nats", "factor", "kept", "IS", "H(y|x)", "H(y)")
    scores: dict[tuple[str, str], dict[str, str]] = {}
    for row in metrics["rows"]:
        if row["kept"] == row["role"][0] and row["metric"] in names:
            text = f"{row['mean']:.3f} ± {row['std']:.3f}"
            scores.setdefault((row["factor"], row["kept"]), {})[row["metric"]] = text
    for (factor, code), cells in scores.items():
        table.add_row(factor, code, *(cells[name] for name in names))
    return table


def _table(head: str, *columns: str) -> ScreenTable:
    table = ScreenTable(
        title=head, title_justify="left", box=None, header_style="bold", min_width=len(head)
    )
    for name in columns:
        left = name in ("factor", "wanted", "kept")
        table.add_column(name, justify="left" if left else "right")
    return table
