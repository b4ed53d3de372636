"""Every measurement that a run allows, in one call."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import unbraid
from unbraid.data.corpus import Split
from unbraid.evaluation import judge as judges
from unbraid.evaluation.manipulate import Embedding, embed
from unbraid.evaluation.predictors import Examples
from unbraid.evaluation.protocols.conclusion import conclusion
from unbraid.evaluation.protocols.diagnosis import Diagnosis, diagnose
from unbraid.evaluation.protocols.probes import MOST_CLASSES, ProbeRow, gaps, probe
from unbraid.evaluation.protocols.separation import (
    as_probe_rows,
    reconstruction_errors,
    separate,
)
from unbraid.evaluation.protocols.series_tasks import code_examples, predict_target, raw_examples
from unbraid.evaluation.protocols.speakers import verify_speakers
from unbraid.files import write_text
from unbraid.methods import count_parameters
from unbraid.methods.base import Method
from unbraid.precision import inference_format
from unbraid.records import Factor
from unbraid.runs.run import OpenedRun, RunLike, opened
from unbraid.safety.names import path_name
from unbraid.settings import closest
from unbraid.workflows.evaluate import judging
from unbraid.workflows.evaluate.diagnose import sentences
from unbraid.workflows.evaluate.sizes import constant_factors, size_warnings
from unbraid.workflows.evaluate.suites import SUITES, Suite

Metrics = dict[str, Any]


class SkippedError(Exception):
    """A measurement cannot be made; the message says why."""


@dataclass(frozen=True)
class Job:
    """What the measurements of one run share; the test split is encoded once."""

    run: OpenedRun
    judge: str = ""
    suite: Suite = SUITES["quick"]
    skipped: dict[str, str] = field(default_factory=dict)
    """What could not be measured, and why; filled on the way."""

    @property
    def method(self) -> Method:
        """The trained model."""
        return self.run.model

    @property
    def test(self) -> Split:
        """The test split."""
        return self.run.corpus.test

    @cached_property
    def codes(self) -> Embedding:
        """The codes of the test split."""
        return embed(self.method, self.test)

    @property
    def judge_folder(self) -> Path | None:
        """Where the judge is: the one asked for, else `judges/<data>` if it is there."""
        if self.judge:
            return Path(self.judge)
        usual = Path("judges") / path_name(self.run.plan.data.name)
        return usual if (usual / "judge.json").is_file() else None


def evaluate(
    run: RunLike,
    *,
    suite: str = "quick",
    judge: str = "",
    device: str = "cpu",
    unfinished: bool = False,
    say: Callable[[str], None] = lambda text: None,
) -> Metrics:
    """Measure a run on its test split and write `metrics.json`.

    Args:
        run: the run, or its folder.
        suite: "quick" or "full".
        judge: folder of a judge; empty: `judges/<data>` if it is there. None is ever trained here.
        device: where to encode and decode.
        unfinished: measure a run that was interrupted, too.
        say: called with a line on what is being measured.
    """
    if suite not in SUITES:
        raise KeyError(f"there is no suite '{suite}'.{closest(suite, SUITES)}")
    run = opened(run, device)
    training = run.about["training"]
    if not training.get("finished") and not unfinished:
        raise ValueError(
            f"{run.path} is unfinished ({training.get('reason', 'untrained')} at step "
            f"{training.get('steps', 0)}). Go on with `unbraid fit --resume {run.path}`, or "
            "measure it as it stands with --unfinished."
        )
    if judge:
        judges.read_judge(Path(judge))  # to be told at once if there is none
    return measure(Job(run, judge, SUITES[suite]), suite, say)


def measure(job: Job, suite: str, say: Callable[[str], None] = lambda text: None) -> Metrics:
    """Make all measurements of a job and write `metrics.json`."""
    say("encoding the test split")
    _ = job.codes
    metrics = _facts(job, suite) | _measure(job, say)
    write_text(job.run.path / "metrics.json", json.dumps(metrics, indent=1))
    return metrics


def add_judge(run: OpenedRun, metrics: Metrics, judge: str) -> Metrics:
    """Return measurements with the scores of a judge added, in `metrics.json`, too."""
    suite = SUITES[metrics["suite"]]
    scoring = judging.Scoring(repeats=suite.judge_repeats, limit=suite.judge_limit)
    scores = judging.score(run, judge, scoring)
    skipped = {name: why for name, why in metrics["skipped"].items() if name != "judge"}
    metrics = metrics | {"judge": scores, "skipped": skipped}
    write_text(run.path / "metrics.json", json.dumps(metrics, indent=1))
    return metrics


def _facts(job: Job, suite: str) -> Metrics:
    plan = job.run.plan
    return {
        "data": plan.data.name,
        "stand_in": job.method.spec.stand_in,
        "method": plan.method,
        "preset": plan.preset,
        "seed": plan.seed,
        "suite": suite,
        "split": "test",
        "sequences": len(job.test),
        "kind": job.method.spec.kind,
        "training": job.run.about["training"],
        "parameters": count_parameters(job.method),
        "precision": inference_format(job.method),
        "unbraid": unbraid.__version__,
    }


def _measure(job: Job, say: Callable[[str], None]) -> Metrics:
    """Make every measurement; what cannot be made is listed under `skipped` with the reason."""
    steps: dict[str, Callable[[Job], Any]] = {
        "separation": _separation,
        "probes": _probes,
        "speakers": _speakers,
        "tasks": _tasks,
        "judge": _judge,
        "diagnosis": _diagnosis,
    }
    say("measuring: reconstruction")
    errors = reconstruction_errors(job.method, job.test, limit=job.suite.decoded)
    metrics: Metrics = {"reconstruction_mse": errors[0], "relative_error": errors[1]}
    for name, step in steps.items():
        say(f"measuring: {name}")
        with _skipping(job, name, unless=name == "judge" and bool(job.judge)):
            metrics[name] = step(job)
    rows = [ProbeRow(**row) for row in metrics.get("probes", [])]
    metrics["gaps"] = gaps(rows) if rows else {}
    separation = metrics.get("separation")
    rows = as_probe_rows(separation) if separation else rows
    sentence = conclusion(separation, metrics["relative_error"])
    metrics["verdict"] = [sentence, *size_warnings(job.test, job.run.plan.data.name)]
    if "diagnosis" in metrics:
        numbers = metrics["diagnosis"]
        metrics["diagnosis"] = asdict(numbers)
        metrics["verdict"] += sentences(job.run, numbers, rows)
    return metrics | {"skipped": job.skipped}


@contextmanager
def _skipping(job: Job, name: str, *, unless: bool = False) -> Iterator[None]:
    """Note why a measurement could not be made: it never stops the others."""
    try:
        yield
    except SkippedError as reason:
        job.skipped[name] = str(reason)
    except Exception as error:
        if unless:
            raise
        job.skipped[name] = f"it failed: {str(error).rstrip('.')}"


def _separation(job: Job) -> Metrics:
    try:
        return asdict(separate(job.codes, job.test, limit=job.suite.separated))
    except ValueError as reason:
        raise SkippedError(str(reason).rstrip(".")) from None


def _probes(job: Job) -> list[Metrics]:
    if not job.test.labels:
        raise SkippedError("the data have no labels")
    c = job.suite
    rows = probe(
        job.codes, job.test, classifiers=c.classifiers, seeds=c.probe_seeds, limit=c.probed
    )
    constant = constant_factors(job.test)
    job.skipped.update((name, "one value in test") for name in constant)
    return [asdict(row) for row in rows if row.factor not in constant]


def _speakers(job: Job) -> Metrics:
    if not {"speaker", "utterance"} <= set(job.test.labels):
        raise SkippedError("speaker verification wants the labels speaker and utterance")
    return asdict(verify_speakers(job.codes, job.test))


def _tasks(job: Job) -> list[Metrics]:
    """Predict every labelled factor of a series from codes, and from the raw values beside."""
    spec = job.method.spec
    if spec.kind != "series":
        raise SkippedError("prediction tasks are for series")
    if not job.test.labels:
        raise SkippedError("the data have no labels")
    corpus = job.run.corpus
    splits = [corpus.train, corpus.validation, corpus.test]
    codes = [*(embed(job.method, split) for split in splits[:2]), job.codes]
    rows: list[Metrics] = []
    for factor in (*spec.static, *spec.dynamic):
        if factor.classes > MOST_CLASSES:  # boosted trees grow one tree a class, many times
            job.skipped[f"task {factor.name}"] = (
                f"{factor.classes} classes are too many for a task, at most {MOST_CLASSES}"
            )
            continue
        with _skipping(job, f"task {factor.name}"):
            coded = [code_examples(z, s, factor) for z, s in zip(codes, splits, strict=True)]
            raw = [raw_examples(split, factor) for split in splits]
            rows += _predict(job, factor, coded, raw)
    if not rows:
        raise SkippedError("there is no factor that could be predicted")
    return rows


def _predict(job: Job, factor: Factor, coded: list[Examples], raw: list[Examples]) -> list[Metrics]:
    """Predict one factor by every predictor; each list is of training, validation and test."""
    kinds = (job.suite.code_predictors, job.suite.raw_predictors)
    rows = []
    for parts, predictors in zip((coded, raw), kinds, strict=True):
        for predictor in predictors:
            row = predict_target(parts, factor, predictor=predictor, seeds=job.suite.task_seeds)
            rows.append(asdict(row))
    return rows


def _diagnosis(job: Job) -> Diagnosis:
    return diagnose(job.method, job.test, limit=job.suite.diagnosed)


def _judge(job: Job) -> Metrics:
    folder, c = job.judge_folder, job.suite
    if folder is None:
        data = job.run.plan.data.name
        raise SkippedError(f"there is no judge. Make one with `unbraid judge fit {data}`")
    scoring = judging.Scoring(repeats=c.judge_repeats, limit=c.judge_limit)
    return judging.score(job.run, folder, scoring)
