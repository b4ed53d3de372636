"""`unbraid diagnose` on tiny runs: what it prints and what it writes."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from unbraid.cli import main
from unbraid.records import Spec
from unbraid.runs.plan import make_plan
from unbraid.settings import parse_sets
from unbraid.training.fit import fit, resume
from unbraid.workflows.evaluate.diagnose import (
    advice_for,
    diagnose,
    diagnosis_rows,
    judged_sentences,
    resume_command,
)

SETTINGS = [
    "method.static_dim=4",
    "method.dynamic_dim=4",
    "method.net.hidden=8",
    "training.steps=2",
    "training.batch_size=4",
]
SMALL = ["data.train=12", "data.validation=4", "data.test=30"]
VIDEO = Spec(name="v", kind="video", frame=(3, 64, 64), length=8)
AUDIO = Spec(name="a", kind="audio", frame=(80,), length=20)
SERIES = Spec(name="t", kind="series", frame=(12, 6), length=20)


@pytest.fixture(scope="module")
def series(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("diagnosed")
    return fit("toy-series", "dbse", settings=parse_sets(SETTINGS + SMALL), out=out).path


def test_a_diagnosis_is_printed_and_kept(series: Path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["unbraid", "diagnose", str(series)])
    with pytest.raises(SystemExit) as ended:
        main()
    out = " ".join(capsys.readouterr().out.split())
    assert not ended.value.code
    assert "dbse on toy-series (30 test sequences)" in out
    saved = json.loads((series / "diagnosis.json").read_text())
    assert saved["verdict"]
    assert all(f"- {sentence}" in out for sentence in saved["verdict"])
    assert {row["factor"] for row in saved["probes"]} == {"machine", "load", "regime", "state"}
    assert saved["diagnosis"]["static_units"]["total"] == 4


def _settings(advice: str) -> list[str]:
    return [word.strip(",`") for word in advice.split() if "=" in word]


def test_nobody_is_told_to_try_what_a_run_has():
    plan = make_plan("toy-sprites")
    recipe = advice_for(plan, VIDEO)
    assert "recommended recipe" not in recipe.d
    assert f"--set method.w_kl_dynamic={3 * plan.method_config.w_kl_dynamic:g}" in recipe.d
    assert "recommended recipe" not in recipe.s
    assert "recommended recipe" in advice_for(make_plan("toy-sprites", preset="paper"), VIDEO).d


def test_advice_against_motion_in_s_is_the_recipe_then_another_method():
    fast = make_plan("toy-sprites", "dsvae", preset="sprites/fast")
    pooled = make_plan("toy-sprites", settings={"method": {"posterior": "pooled"}})
    before = make_plan("toy-sprites", settings={"method": {"kl_static_rise": 8.0}})
    for plan in (fast, pooled, before):
        assert "the recommended recipe" in advice_for(plan, VIDEO).s
    assert "--method dbse" in advice_for(make_plan("toy-sprites", "cdsvae"), VIDEO).s
    auto = make_plan("toy-sprites", settings={"method": {"posterior": "auto"}})
    assert "--method dbse" in advice_for(auto, VIDEO).s
    advice = advice_for(make_plan("toy-sprites", "dbse"), VIDEO).s
    assert "--method dsvae" in advice  # dbse has no `static_steps`


def test_a_posterior_that_takes_the_mean_out_is_advised_where_d_keeps_it():
    plan = make_plan("toy-sprites", settings={"method": {"posterior": "pooled"}})
    assert advice_for(plan, VIDEO).d == "try a new run with --set method.posterior=centred"


def test_advice_against_a_voice_in_d_is_a_run_that_can_be_made():
    advice = advice_for(make_plan("toy-voices"), AUDIO).d
    assert advice.startswith("try a new run with --set method.posterior=centred")
    centred = make_plan("toy-voices", settings=parse_sets(_settings(advice)))
    assert centred.method_config.w_kl_dynamic == 3
    assert "--set method.w_kl_dynamic=9" in advice_for(centred, AUDIO).d


def test_what_helps_videos_but_not_series_is_advised_for_videos_only():
    plan = make_plan("toy-series", settings={"method": {"posterior": "pooled"}})
    advice = advice_for(plan, SERIES)
    assert advice.d == "try a new run with --set method.posterior=centred"
    assert "static_steps" not in advice.s
    centred = make_plan("toy-series", settings=parse_sets(_settings(advice.d)))
    assert "method.w_kl_dynamic=" in advice_for(centred, SERIES).d
    lasting = advice_for(centred, SERIES).s
    assert parse_sets(_settings(lasting)) == {"method": {"posterior": "pooled"}}


def test_the_recipe_for_series_is_advised_against_by_what_it_stands_for():
    plan = make_plan("toy-series")
    assert "method.w_kl_dynamic=" in advice_for(plan, SERIES).d
    pieces = advice_for(plan, replace(SERIES, pieces=True))
    assert pieces.d == "try a new run with --set method.posterior=centred"
    assert "pooled" not in pieces.s


def test_a_run_goes_on_with_the_weight_that_is_advised(tmp_path: Path):
    settings = parse_sets([*SETTINGS, *SMALL, "method.posterior=centred"])
    run = fit("toy-series", settings=settings, out=tmp_path)
    weight = 3 * run.plan.method_config.w_kl_dynamic
    words = _settings(advice_for(run.plan, SERIES).d)
    again = resume(run.path, settings=parse_sets([*words, "training.steps=4"]))
    assert again.plan.method_config.w_kl_dynamic == pytest.approx(weight)
    assert again.about["training"]["steps"] == 4


def test_the_command_that_goes_on_names_the_run_and_gives_it_a_larger_budget(tmp_path: Path):
    plan = make_plan("toy-series", settings={"training": {"max_minutes": 5.0}})
    run = tmp_path / "my runs"
    over, early = {"reason": "budget", "minutes": 4.9}, {"reason": "plateau", "minutes": 1.0}
    start = f"unbraid fit --resume '{run}'"
    assert resume_command(run, plan, over) == f"{start} --max-minutes 10"
    assert resume_command(run, plan, early) == start
    epochs = make_plan("toy-series", settings={"training": {"epochs": 30}})
    ended = {"reason": "finished", "minutes": 4.9}
    assert resume_command(run, epochs, ended) == f"{start} --set training.epochs=60"
    advice = advice_for(plan, SERIES, resume_command(run, plan, over)).d
    assert advice.startswith(f"try `{start} --max-minutes 10 --set method.w_kl_dynamic=")
    assert advice.count("`") == 2


def test_a_run_that_its_minutes_ended_is_told_to_train_longer_first(tmp_path: Path):
    settings = parse_sets([*SETTINGS, *SMALL, "training.steps=9999", "training.max_minutes=1e-6"])
    run = fit("toy-series", settings=settings, out=tmp_path)
    assert run.about["training"]["reason"] == "budget"
    sentences = diagnose(run.path, seeds=1)["verdict"]
    assert sentences[0].startswith("Training was stopped by --max-minutes before")
    assert f"`unbraid fit --resume {run.path} --max-minutes 2e-06`" in sentences[0]
    assert not any("try " in sentence for sentence in sentences)
    with pytest.raises(ValueError, match=r"the budget of 1e-06 min is used up .* larger --max"):
        resume(run.path)
    more = {"training": {"max_minutes": 1.0, "steps": 4}}
    assert resume(run.path, settings=more).about["training"]["steps"] == 4


def test_another_split_can_be_diagnosed(series: Path):
    diagnosis = diagnose(series, split="train", seeds=1)
    assert diagnosis["diagnosis"]["sequences"] == 12
    assert all(len(row) == 4 for row in diagnosis_rows(diagnosis["diagnosis"]))


def test_data_without_labels_are_diagnosed_by_the_codes_alone(tmp_path: Path):
    mine = tmp_path / "mine.npz"
    np.savez(mine, x=np.random.default_rng(0).random((30, 5, 3), dtype=np.float32))
    run = fit(str(mine), "dsvae", settings=parse_sets(SETTINGS), out=tmp_path)
    diagnosis = diagnose(run.path)
    assert diagnosis["probes"] == []
    assert diagnosis["verdict"]


def test_a_judge_s_leaks_are_said_in_sentences():
    row = {"metric": "accuracy", "factor": "action", "role": "dynamic", "chance": 0.1}
    leak = judged_sentences({"rows": [row | {"kept": "s", "mean": 0.6}]})
    assert leak == [
        "with s kept and the other code drawn, a judge still sees action: 60 % against 10 % chance."
    ]
    clean = [row | {"kept": "s", "mean": 0.12}, row | {"kept": "d", "mean": 1.0}]
    assert judged_sentences({"rows": clean}) == [
        "a judge sees no factor that the kept code should not hold."
    ]
    assert judged_sentences(None) == []
