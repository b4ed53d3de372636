"""Numbers are read from the protocols by code, factor and role, each protocol run once."""

from typing import Any

import numpy as np
import pytest

from unbraid.data import load_data
from unbraid.data.corpus import Corpus
from unbraid.evaluation.judge import JudgeConfig
from unbraid.evaluation.manipulate import Embedding
from unbraid.methods.dsvae import DSVAE, DSVAEConfig
from unbraid.settings import as_table, build, parse_sets
from unbraid.workflows.reproduce import scores as reproduce_scores
from unbraid.workflows.reproduce.plan import Metric, find_comparison
from unbraid.workflows.reproduce.scores import RunMetrics, trained_otherwise


def judged_row(code: str, factor: str, role: str, metric: str, mean: float) -> dict[str, Any]:
    return {"kept": code, "factor": factor, "role": role, "metric": metric, "mean": mean}


JUDGED = {
    "rows": [
        judged_row("d", "action", "dynamic", "accuracy", 0.9),
        judged_row("d", "action", "dynamic", "inception_score", 8.5),
        judged_row("d", "hair", "static", "accuracy", 0.2),
        judged_row("d", "body", "static", "accuracy", 0.4),
        judged_row("s", "hair", "static", "accuracy", 0.7),
    ]
}


@pytest.fixture(scope="module")
def series() -> Corpus:
    return load_data("toy-series", {"train": 40, "validation": 12, "test": 30, "windows": 4})


def metric(name: str, by: Any, **facts: Any) -> Metric:
    return Metric(name=name, better="up", by=by, **facts)


def test_a_judge_is_asked_once_and_read_by_code_factor_and_role(series: Corpus):
    asked = []

    def judged() -> dict[str, Any]:
        asked.append(1)
        return JUDGED

    run_metrics = RunMetrics(series, None, repeats=1, seed=0, judged=judged)
    values = run_metrics.values(
        (
            metric("gap_pct", "difference", of=("accuracy_pct", "fix_d_static_pct")),
            metric("accuracy_pct", "judge", code="d", factor="action"),
            metric("score", "judge", code="d", factor="action", score="inception_score"),
            metric("fix_d_static_pct", "judge", code="d", role="static"),
            metric("fix_s_static_pct", "judge", code="s", role="static"),
        )
    )
    wanted = {
        "gap_pct": 60.0,
        "accuracy_pct": 90.0,
        "score": 8.5,
        "fix_d_static_pct": 30.0,
        "fix_s_static_pct": 70.0,
    }
    assert list(values) == list(wanted)
    assert values == pytest.approx(wanted)
    assert len(asked) == 1


class Codes(RunMetrics):
    """The true labels as codes: s holds the machine, d the state."""

    def _codes(self, split: str) -> Embedding:
        part = self.corpus.split(split)
        s = np.eye(4, dtype=np.float32)[part.label("machine")]
        state = part.label("state")
        mask = state >= 0
        d = np.eye(5, dtype=np.float32)[state.clip(0)] * mask[..., None].astype(np.float32)
        return Embedding(s, d, mask)


def test_probes_and_tasks_find_what_the_codes_hold(series: Corpus):
    method = DSVAE(series.spec, DSVAEConfig(static_dim=4, dynamic_dim=5))  # never asked
    run_metrics = Codes(series, method, repeats=2, seed=0)
    values = run_metrics.values(
        (
            metric("machine_pct", "probe", code="s", factor="machine", tool="knn"),
            metric("state_pct", "probe", code="d", role="dynamic", tool="knn"),
            metric("task_pct", "task", code="s", factor="machine", tool="linear"),
        )
    )
    assert values["state_pct"] == 100
    assert values["machine_pct"] > 80
    assert values["task_pct"] == 100


def test_separation_is_measured_once_and_read_part_by_part(
    series: Corpus, monkeypatch: pytest.MonkeyPatch
):
    seen = []
    plain = reproduce_scores.separate

    def separate(*parts: Any) -> Any:
        seen.append(1)
        return plain(*parts)

    monkeypatch.setattr(reproduce_scores, "separate", separate)
    method = DSVAE(series.spec, DSVAEConfig(static_dim=4, dynamic_dim=5))  # never asked
    values = Codes(series, method, repeats=1, seed=0).values(
        (
            metric("separation_pct", "separation", score="separation"),
            metric("dynamic_from_d_pct", "separation", score="dynamic_from_d"),
        )
    )
    assert values["dynamic_from_d_pct"] == 100
    assert 0 < values["separation_pct"] < 100
    assert len(seen) == 1
    with pytest.raises(KeyError, match="Did you mean 'static_from_s'"):
        Codes(series, method, repeats=1, seed=0).values(
            (metric("m", "separation", score="static"),)
        )


def test_the_reconstruction_error_is_that_of_the_model(series: Corpus):
    method = DSVAE(series.spec, DSVAEConfig(static_dim=4, dynamic_dim=5)).eval()
    values = RunMetrics(series, method, repeats=1, seed=0).values(
        (metric("error", "reconstruction"),)
    )
    assert 0.5 < values["error"] < 5.0  # untrained, so about as bad as the mean
    with pytest.raises(ValueError, match="raw values have no codes"):
        RunMetrics(series, None, repeats=1, seed=0).values((metric("error", "reconstruction"),))


def test_raw_values_have_other_predictors_for_every_seed(
    series: Corpus, monkeypatch: pytest.MonkeyPatch
):
    seen = []
    plain = reproduce_scores.predict_target

    def predict(*parts: Any, seeds: Any, **named: Any) -> Any:
        seen.append(list(seeds))
        return plain(*parts, seeds=1, **named)

    monkeypatch.setattr(reproduce_scores, "predict_target", predict)
    task = metric("machine_pct", "task", factor="machine", tool="linear")
    for seed in (0, 1):
        RunMetrics(series, None, repeats=3, seed=seed).values((task,))
    assert seen == [[0, 1, 2], [3, 4, 5]]


def test_what_the_data_do_not_have_is_said(series: Corpus):
    run_metrics = RunMetrics(series, None, repeats=1, seed=0, judged=lambda: JUDGED)
    with pytest.raises(KeyError, match=r"toy-series: there is no 'machin'\. Did you mean 'machine"):
        run_metrics.values((metric("m", "task", factor="machin"),))
    with pytest.raises(ValueError, match="the data have no factor speaker"):
        run_metrics.values((metric("m", "judge", code="s", factor="speaker"),))
    with pytest.raises(ValueError, match="raw values have no codes"):
        run_metrics.values((metric("m", "probe", code="s", role="static", tool="knn"),))


def test_a_judge_as_asked_for_is_not_spoken_of():
    comparison = find_comparison("sm-mnist")
    asked = parse_sets(comparison.judge)
    has = as_table(build(JudgeConfig, asked["judge"], where="judge"))
    assert trained_otherwise({"config": has}, asked) == []
    old = {"config": {**has, "channels": [16, 32], "max_steps": 500}}
    assert trained_otherwise(old, asked) == [
        "channels [16, 32] instead of [24, 64, 128]",
        f"max_steps 500 instead of {has['max_steps']}",
    ]
    before = {key: value for key, value in has.items() if key != "members"}  # had one net
    assert trained_otherwise({"config": before}, {"judge": {"members": 1}}) == []
    two = {"judge": {"members": 2}}
    assert trained_otherwise({"config": before}, two) == ["members 1 instead of 2"]
