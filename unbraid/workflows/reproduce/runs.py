"""The runs of a comparison: train, measure, keep; one after the other."""

import json
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import lightning
from lightning import Trainer
from rich.console import Console

from unbraid.data import load_data
from unbraid.evaluation.judge import read_judge
from unbraid.files import hold, read_ours, write_text
from unbraid.methods import count_parameters
from unbraid.report.version import code_version
from unbraid.runs.checkpoint import read_checkpoint
from unbraid.runs.folder import CHECKPOINT
from unbraid.runs.plan import Plan, read_plan
from unbraid.runs.run import OpenedRun, Run
from unbraid.settings import Table, as_table, flat
from unbraid.training.fit import resume, run_plan
from unbraid.workflows.evaluate import judging
from unbraid.workflows.reproduce.plan import RAW, Budget, Comparison, Row, Variant
from unbraid.workflows.reproduce.scores import RunMetrics, measured_so, measurement

FORMAT = "unbraid-scores-1"
Outcome = Literal["made", "there", "interrupted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedRun:
    """One row of a comparison with one seed."""

    comparison: Comparison
    variant: Variant
    row: Row
    seed: int
    budget: Budget
    folder: Path  # of the comparison
    judge: Path | None = None
    device: str = "cpu"

    @property
    def path(self) -> Path:
        """The run folder; protocols that train alike share it."""
        prefix = self.comparison.prefix(self.row, self.variant)
        return self.folder / self.row.name / f"{prefix}{self.seed}"

    @property
    def scores(self) -> Path:
        """The file of its numbers."""
        return self.path / ("scores.json" if self.variant == "paper" else "scores-authors.json")

    @property
    def plan(self) -> Plan:
        """What the run will do."""
        return self.comparison.plan(self.row, self.variant, seed=self.seed, budget=self.budget)

    @property
    def measurement(self) -> dict[str, Any]:
        """How it is measured."""
        return measurement(self.comparison, self.variant, self.judge)

    def __str__(self) -> str:
        return f"{self.row.label}, seed {self.seed}"


class CpuMinutes(lightning.Callback):
    """Counts what training costs: the minutes of all cores, over all sessions of a run."""

    def __init__(self) -> None:
        self.before, self.began = 0.0, time.process_time()

    def on_train_start(self, trainer: Trainer, module: Any) -> None:
        self.began = time.process_time()

    def state_dict(self) -> dict[str, Any]:
        return {"minutes": self.before + (time.process_time() - self.began) / 60}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.before = state_dict["minutes"]


def do_job(job: SeedRun, console: Console | None = None) -> Outcome:
    """Train and measure what is not there yet.

    Raises:
        ValueError: the folder holds a run with other settings, or another process works on it.
        NonFiniteLossError: training went wrong; the last good state is kept.
    """
    with hold(job.path):
        if job.row.method == RAW:
            return _score_raw(job)
        trained = _train(job, console)
        if trained == "interrupted":
            return "interrupted"
        if trained == "there" and _scored(job):
            return "there"
        _score(job, OpenedRun(Run(job.path), job.device))
        return "made"


def _score_raw(job: SeedRun) -> Outcome:
    if _scored(job):
        return "there"
    c = job.comparison
    corpus = load_data(c.data, c.data_options(job.variant))
    values = RunMetrics(corpus, None, repeats=c.repeats, seed=job.seed).values(c.metrics)
    _write(job, values, {"cpu_minutes": 0.0, "epochs": 0.0, "steps": 0, "parameters": 0})
    return "made"


def _score(job: SeedRun, run: OpenedRun) -> None:
    """Read the test split, once, and write the numbers."""
    c, method = job.comparison, run.model
    scoring = judging.Scoring(
        repeats=c.repeats, means=c.protocol(job.variant).means, sides=c.sides, controls=False
    )
    judged = partial(judging.score, run, job.judge or "", scoring)
    run_metrics = RunMetrics(run.corpus, method, repeats=c.repeats, seed=job.seed, judged=judged)
    training = run.about["training"]
    cost = {
        "cpu_minutes": round(_cpu_minutes(run.run), 3),
        "epochs": training["epochs"],
        "steps": training["steps"],
        "parameters": count_parameters(method),
    }
    _write(job, run_metrics.values(c.metrics), cost)


def _write(job: SeedRun, values: dict[str, float], cost: dict[str, Any]) -> None:
    facts = {
        "format": FORMAT,
        "comparison": job.comparison.name,
        "protocol": job.variant,
        "row": job.row.name,
        "seed": job.seed,
        "max_epochs": job.budget.epochs,
        "max_minutes": job.budget.minutes,
        "version": code_version(),
        **cost,
        "measured": job.measurement,
        "judge_accuracy": read_judge(job.judge)["accuracy"] if job.judge else {},
        "scores": values,
    }
    write_text(job.scores, json.dumps(facts, indent=1))


def _scored(job: SeedRun) -> bool:
    """Say whether the numbers of the run as it stands are there, measured as wanted now."""
    if not job.scores.is_file():
        return False
    scores = read_ours(job.scores, FORMAT, "file of scores")
    if not measured_so(scores, job.measurement):
        return False
    return job.row.method == RAW or scores["steps"] == Run(job.path).about["training"]["steps"]


def _cpu_minutes(run: Run) -> float:
    """Return what `CpuMinutes` kept; minutes of the clock for a run made without it."""
    state = read_checkpoint(run.path / CHECKPOINT)["callbacks"].get(CpuMinutes.__qualname__, {})
    return float(state.get("minutes", run.about["training"]["minutes"]))


def _train(job: SeedRun, console: Console | None) -> Outcome:
    """Start the run, go on with it, or leave it as it is if it has had its budget."""
    plan, run, config = job.plan, Run(job.path), job.path / "config.toml"
    how: dict[str, Any] = {"console": console, "device": job.device, "callbacks": [CpuMinutes()]}
    if not (job.path / CHECKPOINT).is_file():
        run_plan(plan, job.path, **how)
    else:
        previous = read_plan(config)
        _check_same(previous, plan, job.path)
        if _budget_used(run, previous, plan):
            return "there"
        resume(run.path, settings=job.budget.settings, **how)
    return "made" if run.about["training"]["finished"] else "interrupted"


def _budget_used(run: Run, previous: Plan, plan: Plan) -> bool:
    """Say whether a run was trained to its end, or for as long as is wanted."""
    if not (run.path / "model.json").is_file():
        return False
    end = run.about["training"]
    longer = _limit(plan) > _limit(previous) and end["reason"] == "budget"
    return end["finished"] and not longer


def _limit(plan: Plan) -> float:
    return plan.training.max_minutes or float("inf")


def _check_same(previous: Plan, plan: Plan, path: Path) -> None:
    """Raise `ValueError` if a run was made with other settings; more minutes are none."""
    old, new = _settings(previous), _settings(plan)
    if new["training.precision"] == "auto":  # decided where the run was started
        new["training.precision"] = old["training.precision"]
    if _limit(plan) >= _limit(previous):
        for name in dict(flat(Budget().settings)):
            old.pop(name, None)
            new.pop(name, None)
    other = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    if other:
        differences = ", ".join(f"{k} = {old.get(k)}, now {new.get(k)}" for k in sorted(other)[:4])
        raise ValueError(
            f"{path} holds a run with other settings ({differences}). Choose another "
            "--out, or delete that folder."
        )


def _settings(plan: Plan) -> Table:
    parts = {
        "run": {"data": plan.data.name, "method": plan.method, "seed": plan.seed},
        "data": plan.data.settings,
        "method": as_table(plan.method_config),
        "training": as_table(plan.training),
    }
    return dict(flat(parts))
