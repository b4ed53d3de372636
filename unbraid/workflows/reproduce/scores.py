"""Exactly the numbers a comparison needs of one run, by the protocols of `evaluation/`."""

from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any, cast

from unbraid.data.cache import file_hash
from unbraid.data.corpus import Corpus
from unbraid.evaluation.judge import JudgeConfig
from unbraid.evaluation.manipulate import Embedding, embed
from unbraid.evaluation.predictors import Examples
from unbraid.evaluation.protocols.content import ContentResult, probe_content
from unbraid.evaluation.protocols.probes import probe
from unbraid.evaluation.protocols.separation import relative_error, separate
from unbraid.evaluation.protocols.series_tasks import (
    code_examples,
    predict_target,
    raw_examples,
)
from unbraid.evaluation.protocols.speakers import verify_speakers
from unbraid.files import json_values
from unbraid.methods.base import Method
from unbraid.safety.names import path_name
from unbraid.settings import as_table, closest
from unbraid.workflows.evaluate import judging
from unbraid.workflows.reproduce.plan import Comparison, Metric, Variant

SPLITS = ("train", "validation", "test")
NOT_MEASURED = ("name", "better", "target", "comparable")  # of a metric: how it is shown


class RunMetrics:
    """Measures one run; what several metrics share is made once, when it is first asked for."""

    def __init__(
        self,
        corpus: Corpus,
        method: Method | None,
        *,
        repeats: int,
        seed: int,
        judged: Callable[[], dict[str, Any]] = dict,
    ) -> None:
        """Take the data, the model (None for raw values) and what a judge says of the run."""
        self.corpus, self.method = corpus, method
        self.repeats, self.seed = repeats, seed
        self.codes, self.judged = cache(self._codes), cache(judged)
        self.probes, self.tasks = cache(self._probes), cache(self._tasks)
        self.speakers = cache(lambda: verify_speakers(self.codes("test"), corpus.test))
        self.content = cache(self._content)
        self.separation = cache(lambda split: separate(self.codes(split), corpus.split(split)))

    def values(self, metrics: tuple[Metric, ...]) -> dict[str, float]:
        """Return the value of every metric; percent where its name says so."""
        values: dict[str, float] = {}
        for metric in sorted(metrics, key=lambda metric: metric.by == "difference"):
            if metric.by == "difference":
                values[metric.name] = values[metric.of[0]] - values[metric.of[1]]
            else:
                scale = 100 if metric.name.endswith("_pct") else 1
                values[metric.name] = scale * self._read(metric)
        return {metric.name: values[metric.name] for metric in metrics}

    def _read(self, metric: Metric) -> float:
        if metric.by == "task":
            scores = self.tasks(metric.factor, metric.code, metric.tool)
            return scores[_one_of(metric.score, scores, metric)]
        if metric.by == "speakers":
            return float(getattr(self.speakers(), metric.score))
        if metric.by == "content":
            return float(getattr(self.content(), metric.score))
        if metric.by == "separation":
            shares = asdict(self.separation(metric.split))
            return float(shares[_one_of(metric.score, shares, metric)])
        if metric.by == "reconstruction":
            return relative_error(self._model(), self.corpus.split(metric.split))
        rows = self.judged()["rows"] if metric.by == "judge" else self.probes(metric.tool)
        code = "kept" if metric.by == "judge" else "code"
        means = [
            row["mean"]
            for row in rows
            if (row[code], row.get("metric", "accuracy")) == (metric.code, metric.score)
            and row["factor" if metric.factor else "role"] == (metric.factor or metric.role)
        ]
        if not means:
            raise ValueError(
                f"{metric.name}: the data have no factor {metric.factor or metric.role}."
            )
        return fmean(means)

    def _codes(self, split: str) -> Embedding:
        return embed(self._model(), self.corpus.split(split))

    def _model(self) -> Method:
        if self.method is None:
            raise ValueError("raw values have no codes: such a row can have tasks only.")
        return self.method

    def _content(self) -> ContentResult:
        codes = self.codes("test")  # first: it says so if there is no model
        return probe_content(cast(Method, self.method), codes, self.corpus.test)

    def _probes(self, classifier: Any) -> list[dict[str, Any]]:
        rows = probe(
            self.codes("test"), self.corpus.test, classifiers=(classifier,), seeds=self.repeats
        )
        return [{"code": r.code, "factor": r.factor, "role": r.role, "mean": r.mean} for r in rows]

    def _tasks(self, name: str, code: Any, predictor: Any) -> dict[str, float]:
        """Return the scores of a target; raw values have other predictors for every seed."""
        spec = self.corpus.spec
        factors = {factor.name: factor for factor in (*spec.static, *spec.dynamic)}
        factor = factors[_one_of(name, factors, spec.name)]
        first = self.repeats * self.seed if self.method is None else 0
        parts = [self._examples(split, factor, code) for split in SPLITS]
        seeds = range(first, first + self.repeats)
        row = predict_target(parts, factor, predictor=predictor, seeds=seeds)
        return {score.metric: score.mean for score in row.scores}

    def _examples(self, split: str, factor: Any, code: Any) -> Examples:
        rows = self.corpus.split(split)
        if self.method is None:
            return raw_examples(rows, factor, flags=False)  # as the published rows
        return code_examples(self.codes(split), rows, factor, use=code)


def _one_of(name: str, there: dict[str, Any], where: object) -> str:
    if name not in there:
        where = where.name if isinstance(where, Metric) else where
        raise KeyError(f"{where}: there is no '{name}'.{closest(name, there)}")
    return name


def measurement(comparison: Comparison, variant: Variant, judge: Path | None) -> dict[str, Any]:
    """Return what the numbers of a run rest on beside the run, as `scores.json` keeps it.

    Args:
        comparison: what is measured.
        variant: its protocol.
        judge: folder of the judge, if there is one.
    """
    weights = judge / "judge.safetensors" if judge and comparison.judged else None
    metrics = {metric.name: asdict(metric) for metric in comparison.metrics}
    about: dict[str, Any] = json_values(
        {
            "data": {"name": comparison.data, "settings": comparison.data_options(variant)},
            "repeats": comparison.repeats,
            "means": comparison.protocol(variant).means,
            "judge": file_hash(weights) if weights else None,
            "metrics": {
                name: {k: v for k, v in fields.items() if k not in NOT_MEASURED}
                for name, fields in metrics.items()
            },
        }
    )
    return about


def measured_so(scores: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Say whether a file of scores has all metrics of a `measurement`, each measured so.

    Files of older versions do not tell.
    """
    there: dict[str, Any] = scores.get("measured", {})
    metrics = there.get("metrics", {})
    names = [name for name in wanted if name != "metrics"]
    return all(there.get(name) == wanted[name] for name in names) and all(
        metrics.get(name) == metric for name, metric in wanted["metrics"].items()
    )


def judge_of(
    data: str, options: dict[str, Any], settings: dict[str, Any], out: Path, **how: Any
) -> Path:
    """Return the folder of the judge of a data set, trained now if it is not there.

    Args:
        data: name or path.
        options: settings of the data.
        settings: of the judge, a table `judge`.
        out: folder of judges.
        how: `say` and `device`, as for `judging.fit_judge`.
    """
    folder = out / path_name(data)
    if not (folder / "judge.json").is_file():
        judging.fit_judge(data, settings={"data": options, **settings}, out=out, **how)
    return folder


def trained_otherwise(about: dict[str, Any], settings: dict[str, Any]) -> list[str]:
    """Return which settings a judge that was there has otherwise than asked for, each as a clause.

    >>> trained_otherwise({"config": {"max_steps": 100, "lr": 0.1}}, {"judge": {"max_steps": 200}})
    ['max_steps 100 instead of 200']
    """
    wanted, has = settings.get("judge", {}), as_table(JudgeConfig()) | about["config"]
    return [f"{k} {has[k]} instead of {v}" for k, v in wanted.items() if has[k] != v]
