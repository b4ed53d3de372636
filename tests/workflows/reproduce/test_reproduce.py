"""A comparison is planned, run, stopped, gone on with; its numbers are read once and kept."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from filelock import FileLock
from matplotlib.figure import Figure
from safetensors.torch import load_file

from tests.stops import interrupt_at
from unbraid.files import read_json
from unbraid.rows import read_rows
from unbraid.workflows.reproduce import runs as reproduce_runs
from unbraid.workflows.reproduce import workers as reproduce_workers
from unbraid.workflows.reproduce.comparison import Request, plan_jobs, reproduce
from unbraid.workflows.reproduce.plan import find_comparison
from unbraid.workflows.reproduce.runs import SeedRun
from unbraid.workflows.reproduce.table import results

TOY = """
title = "Machines and their states"
data = "toy-series"
published = "nowhere"
where = "nowhere"
seeds = 2
minutes = 5.0
repeats = 1
preset = "series"
sets = [
    "data.train=40", "data.validation=12", "data.test=40", "data.windows=4",
    "method.static_dim=4", "method.dynamic_dim=4", "method.net.hidden=8",
    "training.batch_size=8", "training.steps=6", "training.log_every=2",
]
rows = [
    { name = "raw", label = "raw features", method = "raw" },
    { name = "dsvae", label = "DSVAE", method = "dsvae" },
    { name = "dbse", label = "DBSE", method = "dbse", authors = ["method.anchor=last"] },
]
metrics = [
    { name = "machine_accuracy_pct", better = "up", by = "task", factor = "machine", code = "s", tool = "linear", target = 101.0 },
]
[paper]
text = "a toy"
[authors]
text = "another toy"
"""  # noqa: E501


@pytest.fixture
def toy(tmp_path: Path) -> str:
    path = tmp_path / "toy.toml"
    path.write_text(TOY)
    return str(path)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def never(*args: Any, **named: Any) -> None:
    raise AssertionError("this was to be left alone")


def weights(run: Path) -> dict[str, torch.Tensor]:
    return load_file(run / "model.safetensors")


def same(a: Path, b: Path) -> bool:
    one, other = weights(a), weights(b)
    return all(torch.equal(one[name], other[name]) for name in one)


def test_every_row_of_a_seed_comes_before_the_next_seed(toy: str, out: Path):
    jobs = plan_jobs(Request(name=toy, out=out), find_comparison(toy))
    names = [(job.row.name, job.seed) for job in jobs]
    assert names == [(row, seed) for seed in (0, 1) for row in ("raw", "dsvae", "dbse")]
    assert jobs[2].path == out / "toy" / "dbse" / "0"
    assert jobs[2].plan.method_config.anchor == "first"
    assert jobs[2].plan.training.max_minutes == 5.0
    assert jobs[2].plan.data.settings["train"] == 40


def test_later_seeds_begin_where_they_are_told(toy: str, out: Path):
    comparison = find_comparison(toy)
    jobs = plan_jobs(Request(name=toy, out=out, first_seed=1, seeds=2, rows=("dbse",)), comparison)
    assert [job.seed for job in jobs] == [1, 2]
    jobs = plan_jobs(Request(name=toy, out=out, first_seed=1, rows=("dbse",)), comparison)
    assert [job.seed for job in jobs] == [1]  # the comparison has two


def test_a_row_may_have_epochs_of_its_own(toy: str, out: Path):
    Path(toy).write_text(TOY.replace('name = "dbse",', 'name = "dbse", epochs = 4,'))
    request = Request(name=toy, out=out, seeds=1, rows=("dsvae", "dbse"))
    assert [job.budget.epochs for job in plan_jobs(request, find_comparison(toy))] == [0, 4]
    shorter = replace(request, epochs=2)
    assert [job.budget.epochs for job in plan_jobs(shorter, find_comparison(toy))] == [2, 2]


def test_a_budget_of_epochs_is_the_same_for_every_row(toy: str, out: Path):
    text = TOY.replace("minutes = 5.0", "epochs = 2").replace(', "training.steps=6"', "")
    Path(toy).write_text(text.replace('"method.anchor=last"', '"training.epochs=9"'))
    request = Request(name=toy, out=out, seeds=1, protocol="authors", rows=("dsvae", "dbse"))
    results = reproduce(request)
    assert [row["epochs"] for row in results.rows] == [2.0, 2.0]
    end = "--rows dbse --seeds 1 --epochs 2 --protocol authors"
    assert results.rows[1]["command"] == f"unbraid reproduce {toy} {end}"
    more = reproduce(Request(name=toy, out=out, seeds=1, rows=("dsvae",), epochs=3))
    assert "training.epochs = 2, now 3" in more.failed["DSVAE, seed 0"]  # another schedule


def test_a_comparison_without_a_budget_is_refused(toy: str):
    Path(toy).write_text(TOY.replace("minutes = 5.0", ""))
    with pytest.raises(ValueError, match="give it epochs or minutes"):
        find_comparison(toy)


def test_the_authors_protocol_keeps_apart_what_it_trains_otherwise(toy: str, out: Path):
    request = Request(name=toy, out=out, protocol="authors", rows=("dsvae", "dbse"), seeds=1)
    alike, otherwise = plan_jobs(request, find_comparison(toy))
    assert alike.path == out / "toy" / "dsvae" / "0"
    assert alike.scores.name == "scores-authors.json"
    assert otherwise.path == out / "toy" / "dbse" / "authors-0"
    assert otherwise.plan.method_config.anchor == "last"


def test_a_row_with_a_preset_of_its_own_is_trained_once_for_both_protocols(toy: str, out: Path):
    own = TOY.replace('name = "dsvae",', 'name = "dsvae", preset = "series",')
    Path(toy).write_text(own.replace('text = "another toy"', 'text = "x"\npreset = "none"'))
    comparison = find_comparison(toy)
    request = Request(name=toy, out=out, protocol="authors", rows=("dsvae", "dbse"), seeds=1)
    alike, otherwise = plan_jobs(request, comparison)
    assert alike.plan == replace(alike, variant="paper").plan
    assert alike.path == out / "toy" / "dsvae" / "0"
    assert otherwise.path == out / "toy" / "dbse" / "authors-0"
    reproduce(replace(request, rows=("dsvae",)))
    # What an older version trained a second time does not count a second time.
    older = out / "toy" / "dsvae" / "authors-0"
    older.mkdir()
    scores = read_json(alike.scores) | {"cpu_minutes": 1e6}
    (older / "scores-authors.json").write_text(json.dumps(scores))
    (row,) = results(comparison, out / "toy")
    assert row["minutes"] < 1
    assert row["seeds"] == 1


def test_a_comparison_ends_in_rows_a_page_and_a_verdict(toy: str, out: Path):
    lines: list[str] = []
    results = reproduce(Request(name=toy, out=out, seeds=1), say=lines.append)
    for name in ("paper.png", "paper-training.png"):
        assert (out / "toy" / name).read_bytes().startswith(b"\x89PNG")
    logs = json.loads((out / "toy" / "paper-training.json").read_text())
    assert "raw features" not in logs
    assert all(rows[-1]["reconstruction"] > 0 for seeds in logs.values() for rows in seeds.values())
    table = json.loads((out / "toy" / "results.json").read_text())
    assert table == json.loads(json.dumps(results.rows))
    assert [row["method"] for row in table] == ["raw features", "DSVAE", "DBSE"]
    wanted = {
        "dataset",
        "protocol",
        "method",
        "metric",
        "better",
        "mean",
        "std",
        "seeds",
        "values",
        "minutes",
        "epochs",
        "parameters",
        "published",
        "version",
        "command",
    }
    assert all(set(row) == wanted for row in table)
    raw, trained = table[0], table[2]
    assert (raw["parameters"], raw["epochs"], raw["std"]) == (0, 0.0, None)
    assert (trained["epochs"], trained["seeds"]) == (1.2, 1)  # 6 steps of 8 of 40 sequences
    assert 0 < trained["minutes"] < 1
    assert trained["command"] == f"unbraid reproduce {toy} --rows dbse --seeds 1 --max-minutes 5"
    assert "| DBSE | `machine_accuracy_pct` |" in results.page.read_text()
    assert "0 of 1 targets met" in results.verdict
    assert lines[-1].startswith("[3/3] DBSE, seed 0: machine_accuracy_pct")


def test_what_is_there_is_neither_trained_nor_measured_again(
    toy: str, out: Path, monkeypatch: pytest.MonkeyPatch
):
    request = Request(name=toy, out=out, seeds=1)
    first = reproduce(request)
    for name in ("run_plan", "resume", "RunMetrics"):
        monkeypatch.setattr(reproduce_runs, name, never)
    lines: list[str] = []
    assert reproduce(request, say=lines.append).rows == first.rows
    assert sum("(was there)" in line for line in lines) == 3


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("repeats = 1", "repeats = 2"),
        ('code = "s"', 'code = "both"'),
        ('tool = "linear"', 'tool = "boosted"'),
        ('text = "a toy"', 'text = "a toy"\nmeans = true'),
    ],
)
def test_what_is_measured_otherwise_is_measured_again_not_trained(
    toy: str, out: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str
):
    request = Request(name=toy, out=out, seeds=1, rows=("raw", "dsvae"))
    reproduce(request)
    assert old in TOY
    Path(toy).write_text(TOY.replace(old, new))
    for name in ("run_plan", "resume"):
        monkeypatch.setattr(reproduce_runs, name, never)
    lines: list[str] = []
    results = reproduce(request, say=lines.append)
    assert not results.failed
    assert not any("(was there)" in line for line in lines)
    reproduce(request, say=lines.append)
    assert sum("(was there)" in line for line in lines) == 2


def test_another_target_is_no_other_measurement(toy: str, out: Path, monkeypatch):
    request = Request(name=toy, out=out, seeds=1, rows=("raw", "dsvae"))
    first = reproduce(request)
    Path(toy).write_text(TOY.replace("target = 101.0", "target = 50.0"))
    monkeypatch.setattr(reproduce_runs, "RunMetrics", never)
    assert reproduce(request).rows == first.rows


def test_scores_that_do_not_tell_how_they_were_measured_are_measured_again(toy: str, out: Path):
    request = Request(name=toy, out=out, seeds=1, rows=("raw", "dsvae"))
    first = reproduce(request)
    for row in ("raw", "dsvae"):
        path = out / "toy" / row / "0" / "scores.json"
        about = json.loads(path.read_text())
        del about["measured"]
        path.write_text(json.dumps(about | {"scores": {"machine_accuracy_pct": -1.0}}))
    lines: list[str] = []
    assert reproduce(request, say=lines.append).rows == first.rows
    assert not any("(was there)" in line for line in lines)


def test_a_stopped_run_goes_on_and_ends_as_if_it_had_not_been_stopped(
    toy: str, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    whole = Request(name=toy, out=tmp_path / "whole", rows=("dsvae", "dbse"), seeds=1)
    wanted = reproduce(whole)
    with monkeypatch.context() as patch:
        interrupt_at(4, patch)
        with pytest.raises(KeyboardInterrupt):
            reproduce(Request(name=toy, out=out, rows=("dsvae", "dbse"), seeds=1))
    run = out / "toy" / "dsvae" / "0"
    assert json.loads((run / "model.json").read_text())["training"]["steps"] == 4
    assert not (run / "scores.json").exists()
    assert not (out / "toy" / "dbse").exists()
    monkeypatch.setattr(reproduce_runs, "run_plan", _only("dbse", reproduce_runs.run_plan))
    results = reproduce(Request(name=toy, out=out, rows=("dsvae", "dbse"), seeds=1))
    assert [row["mean"] for row in results.rows] == [row["mean"] for row in wanted.rows]
    assert same(run, tmp_path / "whole" / "toy" / "dsvae" / "0")
    assert [row["step"] for row in read_rows(run / "log.csv")] == ["2", "4", "6"]


def _only(method: str, plain: Any) -> Any:
    def start(plan: Any, *args: Any, **named: Any) -> Any:
        assert plan.method == method, "a run that was begun must be gone on with"
        return plain(plan, *args, **named)

    return start


def test_a_killed_run_goes_on_from_its_checkpoint(
    toy: str, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    request = Request(name=toy, out=out, rows=("dsvae",), seeds=1)
    with monkeypatch.context() as patch:
        interrupt_at(4, patch)
        with pytest.raises(KeyboardInterrupt):
            reproduce(request)
    run = out / "toy" / "dsvae" / "0"
    for name in ("model.json", "model.safetensors"):  # a kill leaves the checkpoint alone
        (run / name).unlink()
    with monkeypatch.context() as patch:
        patch.setattr(reproduce_runs, "run_plan", never)
        reproduce(request)
    reproduce(Request(name=toy, out=tmp_path / "whole", rows=("dsvae",), seeds=1))
    assert same(run, tmp_path / "whole" / "toy" / "dsvae" / "0")


def test_a_run_with_other_settings_is_said_not_mixed_in(toy: str, out: Path):
    request = Request(name=toy, out=out, rows=("dsvae",), seeds=1)
    reproduce(request)
    Path(toy).write_text(TOY.replace("method.static_dim=4", "method.static_dim=5"))
    results = reproduce(request)
    assert "method.static_dim = 4, now 5" in results.failed["DSVAE, seed 0"]


def test_a_longer_budget_goes_on_and_measures_again(toy: str, out: Path):
    endless = TOY.replace("training.steps=6", "training.steps=1000000")
    Path(toy).write_text(endless)
    name = out / "toy" / "dsvae" / "0" / "scores.json"
    steps = []
    for minutes in (0.0005, 0.005, 0.005):
        reproduce(Request(name=toy, out=out, rows=("dsvae",), seeds=1, max_minutes=minutes))
        steps.append(json.loads(name.read_text())["steps"])
    assert steps[0] < steps[1] == steps[2]
    shorter = reproduce(Request(name=toy, out=out, rows=("dsvae",), seeds=1, max_minutes=0.001))
    assert "max_minutes = 0.005, now 0.001" in shorter.failed["DSVAE, seed 0"]


def test_a_row_that_fails_does_not_stop_the_others(
    toy: str, out: Path, monkeypatch: pytest.MonkeyPatch
):
    plain = reproduce_workers.do_job

    def failing(job: SeedRun, console: Any = None) -> Any:
        if job.row.name == "dsvae":
            raise ArithmeticError("Loss is not finite at step 3: kl_static.")
        return plain(job, console)

    monkeypatch.setattr(reproduce_workers, "do_job", failing)
    results = reproduce(Request(name=toy, out=out, rows=("dsvae", "dbse"), seeds=1))
    assert results.failed == {"DSVAE, seed 0": "Loss is not finite at step 3: kl_static."}
    assert [row["method"] for row in results.rows] == ["DBSE"]


def test_two_at_work_on_one_run_do_not_happen(toy: str, out: Path):
    request = Request(name=toy, out=out, rows=("dsvae",), seeds=1)
    (job,) = plan_jobs(request, find_comparison(toy))
    job.path.mkdir(parents=True)
    with FileLock(job.path / ".lock"):  # not the one of this process: it may hold its own twice
        results = reproduce(request)
    assert "is in use by another process" in results.failed["DSVAE, seed 0"]


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
def test_runs_side_by_side_are_those_made_one_by_one(toy: str, out: Path, tmp_path: Path):
    rows = ("dsvae", "dbse")
    beside = reproduce(Request(name=toy, out=out, rows=rows, seeds=1, workers=2))
    single = reproduce(Request(name=toy, out=tmp_path / "single", rows=rows, seeds=1))
    assert [row["mean"] for row in beside.rows] == [row["mean"] for row in single.rows]
    assert same(out / "toy" / "dbse" / "0", tmp_path / "single" / "toy" / "dbse" / "0")


def test_a_run_killed_before_its_first_checkpoint_is_made_again(toy: str, out: Path):
    request = Request(name=toy, out=out, rows=("dsvae",), seeds=1)
    wanted = reproduce(request)
    run = out / "toy" / "dsvae" / "0"
    for path in [*run.glob("model.*"), *run.glob("checkpoints/*"), run / "scores.json"]:
        path.unlink()
    again = reproduce(request)
    assert not again.failed
    assert [row["mean"] for row in again.rows] == [row["mean"] for row in wanted.rows]


def test_merging_draws_the_picture_of_the_page_from_all_rows(toy: str, out: Path, monkeypatch):
    table, picture = out / "results" / "results.json", out / "docs" / "images" / "results-toy.png"
    drawn = []

    def dots(rows: list[dict[str, Any]], targets: dict[str, float]) -> Figure:
        drawn.append([row["method"] for row in rows])
        return Figure()

    monkeypatch.setattr("unbraid.workflows.reproduce.comparison.result_dots", dots)
    reproduce(Request(name=toy, out=out / "a", rows=("dbse",), seeds=1, merge=table))
    assert not picture.exists()  # no page of this one has a picture
    picture.parent.mkdir(parents=True)
    picture.touch()
    later = reproduce(Request(name=toy, out=out / "b", rows=("raw",), seeds=1, merge=table))
    assert drawn[-2:] == [["raw features", "DBSE"], ["raw features"]]
    assert picture.stat().st_size > 0
    assert "(DBSE; wanted" in later.verdict  # of the table, not of this call alone


def test_only_the_rows_that_were_asked_for_are_merged(toy: str, out: Path):
    table = out / "results.json"
    reproduce(Request(name=toy, out=out, rows=("dbse",), seeds=1))
    reproduce(Request(name=toy, out=out, rows=("raw",), seeds=1, merge=table))
    assert {row["method"] for row in read_json(table)} == {"raw features"}
    reproduce(Request(name=toy, out=out, seeds=1, rows=("dbse",), merge=table))
    assert {row["method"] for row in read_json(table)} == {"raw features", "DBSE"}
