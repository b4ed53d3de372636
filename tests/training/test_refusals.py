"""What is refused changes nothing; what was cut short can be started again."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unbraid.files import hold
from unbraid.rows import read_rows
from unbraid.runs.plan import Plan, make_plan
from unbraid.runs.run import Run
from unbraid.training.fit import CHECKPOINT, resume, run_plan

TINY: dict[str, Any] = {"static_dim": 4, "dynamic_dim": 3, "net": {"hidden": 6}}
TRAINING: dict[str, Any] = {"batch_size": 6, "steps": 3, "log_every": 1}


def write_data(path: Path, seed: int = 0) -> str:
    x = np.random.default_rng(seed).normal(size=(30, 4, 5)).astype(np.float32)
    np.savez(path, x=x)
    return str(path)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("trained")
    return run_plan(plan_of(write_data(folder / "d.npz")), folder / "run")


@pytest.fixture
def run(trained: Run, tmp_path: Path) -> Run:
    """A finished run of three steps beside its data, of which a test may do what it likes."""
    shutil.copy(trained.path.parent / "d.npz", tmp_path / "d.npz")
    shutil.copytree(trained.path, tmp_path / "run")
    config = tmp_path / "run" / "config.toml"
    config.write_text(config.read_text().replace(str(trained.path.parent), str(tmp_path)))
    return Run(tmp_path / "run")


def plan_of(data: str, **training: Any) -> Plan:
    settings = {"method": TINY, "training": TRAINING | training, "data": {"kind": "audio"}}
    return make_plan(data, "dsvae", preset="none", settings=settings)


def contents(run: Run) -> dict[str, bytes]:
    files = (path for path in run.path.rglob("*") if path.is_file() and path.name[0] != ".")
    return {str(path.relative_to(run.path)): path.read_bytes() for path in files}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": {"static_dim": 9}}, r"method\.static_dim.*cannot change.*start a new run"),
        ({"method": {"net": {"hidden": 7}}}, r"method\.net\.hidden.*cannot change"),
        ({"training": {"optimizer": "muon"}}, r"training\.optimizer.*cannot change"),
        ({"data": {"split": {"seed": 5}}}, r"data\.split\.seed.*cannot change"),
        ({"training": {"steps": -1}}, "steps must not be negative"),
    ],
)
def test_a_refused_resume_changes_nothing(run: Run, settings: dict[str, Any], message: str):
    before = contents(run)
    with pytest.raises(ValueError, match=message):
        resume(run.path, settings=settings)
    assert contents(run) == before
    assert resume(run.path, settings={"training": {"steps": 5}}).about["training"]["steps"] == 5


def test_a_posterior_cannot_change_even_where_the_weights_fit(tmp_path: Path):
    data = write_data(tmp_path / "d.npz")
    settings = {"method": TINY | {"posterior": "centred"}, "training": TRAINING}
    run = run_plan(make_plan(data, "dsvae", preset="none", settings=settings), tmp_path / "run")
    with pytest.raises(ValueError, match=r"method\.posterior: cannot change.*start a new run"):
        resume(run.path, settings={"method": {"posterior": "pooled"}, "training": {"steps": 5}})


def test_what_does_not_shape_the_network_can_change(run: Run):
    more = {"method": {"w_kl_dynamic": 0.5}, "training": {"steps": 5, "lr": 1e-4}}
    resume(run.path, settings=more)
    assert run.plan.method_config.w_kl_dynamic == 0.5
    assert run.plan.training.lr == 1e-4
    assert len(read_rows(run.path / "log.csv")) == 5


def test_a_checkpoint_of_another_network_is_named_and_nothing_is_written(run: Run, tmp_path: Path):
    wide = {"method": TINY | {"static_dim": 9}, "training": TRAINING, "data": {"kind": "audio"}}
    plan = make_plan(str(tmp_path / "d.npz"), "dsvae", preset="none", settings=wide)
    other = run_plan(plan, tmp_path / "other")
    shutil.copy(other.path / CHECKPOINT, run.path / CHECKPOINT)
    before = contents(run)
    with pytest.raises(ValueError, match=r"last\.safetensors does not belong to .*config\.toml"):
        resume(run.path, settings={"training": {"steps": 5}})
    assert contents(run) == before


@pytest.mark.parametrize("how", ["resume", "fit"])
def test_a_run_killed_before_its_first_checkpoint_can_be_started_again(run: Run, how: str):
    whole = contents(run)
    shutil.rmtree(run.path / "checkpoints")
    for name in ("model.json", "model.safetensors", "splits.csv"):
        (run.path / name).unlink()
    if how == "resume":
        resume(run.path)
    else:
        run_plan(run.plan, run.path)
    assert contents(run)["model.safetensors"] == whole["model.safetensors"]
    assert [row["step"] for row in read_rows(run.path / "log.csv")] == ["1", "2", "3"]


def test_a_model_without_its_checkpoint_is_not_trained_over(run: Run):
    shutil.rmtree(run.path / "checkpoints")
    before = contents(run)
    with pytest.raises(ValueError, match="holds a run already"):
        run_plan(run.plan, run.path)
    with pytest.raises(ValueError, match="there is no checkpoint"):
        resume(run.path)
    assert contents(run) == before


@pytest.mark.parametrize("killed", [False, True])
def test_a_run_does_not_go_on_with_other_data(run: Run, tmp_path: Path, killed: bool):
    """As many sequences of the same shape, under the same name; a killed run has no model.json."""
    if killed:
        (run.path / "model.json").unlink()
    write_data(tmp_path / "d.npz", seed=1)
    before = contents(run)
    with pytest.raises(ValueError, match=r"data have changed .*Restore them, or start a new run"):
        resume(run.path, settings={"training": {"steps": 5}})
    assert contents(run) == before
    write_data(tmp_path / "d.npz", seed=0)
    assert resume(run.path, settings={"training": {"steps": 5}}).about["training"]["steps"] == 5


def test_a_run_of_older_versions_without_facts_about_values_still_goes_on(run: Run):
    about = json.loads((run.path / "model.json").read_text())
    for facts in about["training"]["splits"].values():
        facts.pop("means", None)
        facts.pop("std", None)
    (run.path / "model.json").write_text(json.dumps(about))
    (run.path / "splits.json").unlink()
    assert run.corpus()
    assert resume(run.path, settings={"training": {"steps": 4}}).about["training"]["steps"] == 4


def test_other_values_are_not_measured_either(run: Run, tmp_path: Path):
    write_data(tmp_path / "d.npz", seed=1)
    with pytest.raises(ValueError, match="the data have changed since"):
        run.corpus()


HOLDER = """
import sys, time
from pathlib import Path
from unbraid.files import hold
with hold(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def other(run: Run) -> Iterator[subprocess.Popen[str]]:
    """Another process at work on the run."""
    words = [sys.executable, "-c", HOLDER, str(run.path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_run_folder_has_one_process_at_work(run: Run, other: subprocess.Popen[str]):
    before = contents(run)
    message = rf"is in use by process {other.pid} on .*Wait until it ends, or choose another"
    with pytest.raises(ValueError, match=message):
        resume(run.path, settings={"training": {"steps": 5}})
    (run.path / "model.json").unlink()
    shutil.rmtree(run.path / "checkpoints")
    with pytest.raises(ValueError, match=message):
        run_plan(run.plan, run.path)
    after = contents(run)
    assert all(after[name] == before[name] for name in after)


def test_a_killed_process_leaves_the_run_free(run: Run, other: subprocess.Popen[str]):
    other.kill()
    other.wait()
    assert resume(run.path, settings={"training": {"steps": 4}}).about["training"]["steps"] == 4


def test_a_finished_training_leaves_the_run_free_and_says_nobody(run: Run):
    resume(run.path, settings={"training": {"steps": 4}})
    assert not (run.path / ".holder.json").exists()
    with hold(run.path), hold(run.path):  # one process may hold it twice
        assert json.loads((run.path / ".holder.json").read_text())["pid"] == os.getpid()
