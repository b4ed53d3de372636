"""A report measures with the judge it is given, and says how to make the run again."""

import html
import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from unbraid.cli.app import app
from unbraid.data import load_data
from unbraid.data.generated import sprites
from unbraid.evaluation.judge import JudgeConfig, fingerprint, fit_judge, save_judge
from unbraid.methods import store
from unbraid.report.parts import Picture
from unbraid.runs.command import fit_command
from unbraid.runs.plan import make_plan
from unbraid.runs.run import Run, opened, run_folder
from unbraid.settings import parse_sets
from unbraid.training.fit import run_plan
from unbraid.workflows.evaluate.measure import Job
from unbraid.workflows.evaluate.page import at_a_glance, compare, fitting, measured

SIZES = {"train": 24, "validation": 8, "test": 20}
TINY = JudgeConfig(channels=(4, 8, 8, 8), features=16, hidden=8, batch_size=12, max_epochs=1)
SETTINGS = {
    "data": SIZES,
    "method": {"static_dim": 4, "dynamic_dim": 3, "net": {"channels": [4, 4], "hidden": 8}},
    "training": {"steps": 3, "batch_size": 4, "max_minutes": 7.5},
}


@pytest.fixture(scope="module")
def judge(tmp_path_factory) -> str:
    corpus = load_data("toy-sprites", SIZES)
    trained = fit_judge(corpus, TINY)
    names = [factor.name for factor, _ in trained.factors]
    folder = tmp_path_factory.mktemp("judge") / "toy"
    about = {"fingerprint": fingerprint(corpus), "accuracy": dict.fromkeys(names, 1.0)}
    save_judge(trained, folder, about)
    return str(folder)


def _trained(folder: Path) -> Run:
    plan = make_plan("toy-sprites", "dsvae", settings=SETTINGS, seed=3)
    return run_plan(plan, run_folder(folder / "my runs", plan))


@pytest.fixture
def fresh(tmp_path) -> Run:
    return _trained(tmp_path)


@dataclass(frozen=True)
class Reported:
    run: Run
    page: str
    loads: dict[str, int]


@pytest.fixture(scope="module")
def reported(tmp_path_factory, judge: str) -> Reported:
    """A run nobody has measured, after `unbraid report RUN --judge JUDGE`."""
    run, loads = _trained(tmp_path_factory.mktemp("reported")), {"model": 0, "data": 0}

    def counting(what: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any) -> Any:
            loads[what] += 1
            return function(*args)

        return wrapped

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "load_file", counting("model", store.load_file))
        patch.setattr(sprites, "load", counting("data", sprites.load))
        ended = CliRunner().invoke(app, ["report", str(run.path), "--judge", judge])
    assert ended.exit_code == 0, ended.output
    return Reported(run, html.unescape((run.path / "report.html").read_text()), loads)


def test_a_report_of_a_fresh_run_measures_with_the_judge(reported: Reported, judge: str):
    measurements = _metrics(reported.run)["judge"]
    assert measurements["judge"]["folder"] == judge
    assert measurements["rows"]
    assert fit_command(reported.run) in reported.page


def test_a_report_with_a_judge_loads_model_and_data_once(reported: Reported):
    assert reported.loads == {"model": 1, "data": 1}


def test_a_judge_given_later_is_added_to_what_was_measured(fresh: Run, judge: str):
    before = measured(Job(opened(fresh)))
    after = measured(Job(opened(fresh), judge))
    assert after == _metrics(fresh)
    assert "judge" in before["skipped"]
    assert "judge" not in after["skipped"]
    assert after["judge"]["judge"]["folder"] == judge
    assert after["probes"] == before["probes"]


def test_a_comparison_measures_with_the_judge(fresh: Run, judge: str, tmp_path: Path):
    page = compare([fresh.path, fresh.path], tmp_path / "both", judge=judge).read_text()
    assert "static, s kept" in page


def test_measurements_of_an_earlier_state_are_made_again(fresh: Run):
    stale = measured(Job(opened(fresh)))
    stale["training"]["steps"] = 1
    (fresh.path / "metrics.json").write_text(json.dumps(stale))
    assert measured(Job(opened(fresh)))["training"]["steps"] == 3


def test_the_command_of_a_page_makes_the_same_plan_again(fresh: Run):
    words = shlex.split(fit_command(fresh))
    assert words[:3] == ["unbraid", "fit", "toy-sprites"]
    options = [(words[i], words[i + 1]) for i in range(3, len(words), 2)]
    named = dict(options)
    sets = parse_sets(value for key, value in options if key == "--set")
    sets.setdefault("training", {})["max_minutes"] = float(named["--max-minutes"])
    plan = make_plan(
        words[2],
        named["--method"],
        preset=named["--preset"],
        settings=sets,
        seed=int(named["--seed"]),
    )
    assert plan == fresh.plan
    assert run_folder(named["--out"], plan) == fresh.path


def test_a_run_of_a_preset_file_that_is_gone_can_be_made_again(tmp_path: Path):
    preset = tmp_path / "mine.toml"
    preset.write_text("[method]\nstatic_dim = 5\n")
    plan = make_plan("toy-sprites", "dsvae", preset=str(preset), settings=SETTINGS)
    run = run_plan(plan, run_folder(tmp_path, plan))
    preset.unlink()
    assert "--preset none" in fit_command(run)
    assert "--set method.static_dim=4" in fit_command(run)


def _picture(title: str, kind: str = "image/png", size: int = 10) -> Picture:
    return Picture(title, "", kind, b"x" * size, title)


def test_a_page_opens_with_the_moving_swap_and_the_leaks():
    shown = [
        _picture("swap (x)", "image/gif"),
        _picture("swap (x)"),
        _picture("loss (x)"),
        _picture("leaks (x)"),
        _picture("cross", "image/gif"),
    ]
    first, rest = at_a_glance(shown)
    assert first == [shown[0], shown[3]]
    assert rest == [shown[1], shown[2], shown[4]]


def test_pictures_that_would_make_a_page_too_large_are_named_instead():
    shown = [_picture("a", size=60), _picture("b", size=50), _picture("c", size=40)]
    fits, left_out = fitting(shown, 100)
    assert [picture.title for picture in fits] == ["a", "c"]
    assert left_out == ["picture b"]


def test_the_first_sentence_of_a_page_is_the_conclusion(reported: Reported):
    page = reported.page
    first = page.partition('<div class="verdict">')[2]
    assert first.strip().startswith("<p>s and d are ")
    assert page.index("At a glance") < page.index("What was trained")


def _metrics(run: Run) -> dict:
    return json.loads((run.path / "metrics.json").read_text())
