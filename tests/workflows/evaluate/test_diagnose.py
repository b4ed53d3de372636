"""`unbraid diagnose` on tiny runs: what it prints and what it writes."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from unbraid.cli import main
from unbraid.runs.plan import make_plan
from unbraid.settings import parse_sets
from unbraid.training.fit import fit
from unbraid.workflows.evaluate.diagnose import (
    advice_for,
    diagnose,
    diagnosis_rows,
    judged_sentences,
)

SETTINGS = [
    "method.static_dim=4",
    "method.dynamic_dim=4",
    "method.net.hidden=8",
    "training.steps=2",
    "training.batch_size=4",
]
SERIES = ["data.train=12", "data.validation=4", "data.test=30"]


@pytest.fixture(scope="module")
def series(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("diagnosed")
    return fit("toy-series", "dbse", settings=parse_sets(SETTINGS + SERIES), out=out).path


def test_a_diagnosis_is_printed_and_kept(series: Path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["unbraid", "diagnose", str(series)])
    with pytest.raises(SystemExit) as ended:
        main()
    out = " ".join(capsys.readouterr().out.split())
    assert not ended.value.code
    assert "dbse on toy-series (30 test sequences)" in out
    kept = json.loads((series / "diagnosis.json").read_text())
    assert kept["verdict"]
    assert all(f"- {sentence}" in out for sentence in kept["verdict"])
    assert {row["factor"] for row in kept["probes"]} == {"machine", "load", "regime", "state"}
    assert kept["diagnosis"]["static_units"]["total"] == 4


def test_nobody_is_told_to_try_what_a_run_has():
    plan = make_plan("toy-sprites")
    recipe = advice_for(plan)
    assert "recommended recipe" not in recipe.d
    assert f"--set method.w_kl_dynamic={3 * plan.method_config.w_kl_dynamic:g}" in recipe.d
    assert recipe.s.startswith("train longer")
    assert "recommended recipe" in advice_for(make_plan("toy-sprites", preset="paper")).d


def test_advice_against_motion_in_s_is_settings_that_the_method_has():
    plan = make_plan("toy-sprites", "dsvae", preset="sprites/fast")
    said = advice_for(plan).s
    assert said == "try --set method.static_steps=2 --set method.kl_static_rise=8.0"
    words = [word for word in said.split() if "=" in word]
    changed = make_plan("toy-sprites", "dsvae", preset="sprites/fast", settings=parse_sets(words))
    assert advice_for(changed).s.startswith("train longer")
    assert "--method dsvae" in advice_for(make_plan("toy-sprites", "dbse")).s  # dbse has none


def test_another_split_can_be_diagnosed(series: Path):
    found = diagnose(series, split="train", seeds=1)
    assert found["diagnosis"]["sequences"] == 12
    assert all(len(row) == 4 for row in diagnosis_rows(found["diagnosis"]))


def test_data_without_labels_are_diagnosed_by_the_codes_alone(tmp_path: Path):
    mine = tmp_path / "mine.npz"
    np.savez(mine, x=np.random.default_rng(0).random((30, 5, 3), dtype=np.float32))
    run = fit(str(mine), "dsvae", settings=parse_sets(SETTINGS), out=tmp_path)
    found = diagnose(run.path)
    assert found["probes"] == []
    assert found["verdict"]


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
