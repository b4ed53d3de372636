import math
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from tests.stops import interrupt_at
from unbraid import precision
from unbraid.data.readers.arrays import from_arrays
from unbraid.methods import METHODS
from unbraid.methods.base import Method
from unbraid.methods.dsvae import DSVAE
from unbraid.records import Batch, Terms
from unbraid.rows import read_rows
from unbraid.runs.checkpoint import read_checkpoint
from unbraid.runs.config import TrainingConfig
from unbraid.runs.plan import Plan, make_plan
from unbraid.runs.run import Run, open_run, opened
from unbraid.training import callbacks, validation
from unbraid.training.callbacks import Clock, CollapseMonitor
from unbraid.training.fit import CHECKPOINT, fit, resume, run_plan
from unbraid.training.module import NonFiniteLossError
from unbraid.training.validation import Validation
from unbraid.workflows.evaluate.measure import evaluate

TINY: dict[str, Any] = {
    "static_dim": 4,
    "dynamic_dim": 3,
    "net": {"channels": [4, 4], "features": 6, "hidden": 6},
}
# 24 training sequences in batches of 6: four steps are an epoch.
TRAINING: dict[str, Any] = {
    "batch_size": 6,
    "lr": 3e-3,
    "steps": 10,
    "log_every": 3,
    "validate_every": 4,
    "checkpoint_every": 5,
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Thirty videos: a bright row moves down, from a place and in a grey of its own."""
    rng = np.random.default_rng(0)
    start, grey = rng.integers(8, size=30), rng.integers(80, 255, size=30)
    x = np.zeros((30, 4, 1, 8, 8), np.uint8)
    for i in range(30):
        for t in range(4):
            x[i, t, 0, (start[i] + t) % 8] = grey[i]
    path = tmp_path_factory.mktemp("data") / "toy.npz"
    np.savez(path, x=x, grey=(grey > 160).astype(np.int64))
    return str(path)


def tiny_plan(data: str, method: str = "dsvae", **training: Any) -> Plan:
    settings = {"method": TINY, "training": TRAINING | training}
    return make_plan(data, method, preset="none", settings=settings)


def act_at(
    step: int, act: Any, monkeypatch: pytest.MonkeyPatch, method: type[Method] = DSVAE
) -> None:
    """Let `act(terms)` change the loss table of one training step."""
    plain = method.loss

    def acting(self: Method, batch: Batch, now: int) -> Terms:
        terms = plain(self, batch, now)
        return act(terms) if now == step and self.training else terms

    monkeypatch.setattr(method, "loss", acting)


def rows(run: Run, name: str) -> list[dict[str, str]]:
    table = read_rows(run.path / name)
    return [{k: v for k, v in row.items() if k != "minutes"} for row in table]


def assert_same_run(a: Run, b: Run) -> None:
    weights, others = (load_file(run.path / "model.safetensors") for run in (a, b))
    assert weights.keys() == others.keys()
    for name in weights:
        assert torch.equal(weights[name], others[name]), name
    for name in ("log.csv", "validation.csv"):
        assert rows(a, name) == rows(b, name)
    first, second = (run.about["training"] | {"minutes": 0, "waiting": 0} for run in (a, b))
    assert first == second
    states = [read_checkpoint(run.path / CHECKPOINT)["optimizer_states"][0] for run in (a, b)]
    for key, state in states[0]["state"].items():
        for part, value in state.items():
            assert torch.equal(value, states[1]["state"][key][part])


@pytest.fixture(scope="module")
def uninterrupted(data: str, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run_plan(tiny_plan(data), tmp_path_factory.mktemp("run") / "whole")


def test_a_run_folder_holds_what_the_next_stage_reads(uninterrupted: Run, data: str):
    names = {path.name for path in uninterrupted.path.iterdir()}
    wanted = {"config.toml", "log.csv", "validation.csv", "checkpoints"}
    assert wanted | {"model.safetensors", "model.json"} <= names
    assert uninterrupted.plan == tiny_plan(data).on("cpu", "video")
    about = uninterrupted.about["training"]
    assert (about["reason"], about["finished"], about["steps"]) == ("finished", True, 10)
    assert about["epochs"] == 2.5
    assert [row["step"] for row in rows(uninterrupted, "log.csv")] == ["3", "6", "9"]
    assert [row["step"] for row in rows(uninterrupted, "validation.csv")] == ["4", "8"]
    model = uninterrupted.model()
    batch = uninterrupted.corpus().test.take(slice(None))
    assert model.encode(batch).s.shape == (len(batch), 4)


def test_one_seed_gives_one_run(uninterrupted: Run, data: str, tmp_path: Path):
    assert_same_run(run_plan(tiny_plan(data), tmp_path / "again"), uninterrupted)


def test_another_seed_gives_another_run(uninterrupted: Run, data: str, tmp_path: Path):
    settings = {"method": TINY, "training": TRAINING}
    other = run_plan(make_plan(data, "dsvae", preset="none", settings=settings, seed=1), tmp_path)
    weights = [load_file(run.path / "model.safetensors") for run in (other, uninterrupted)]
    assert not torch.equal(*(w["prior.head.linear.weight"] for w in weights))


@pytest.mark.parametrize("stop", [1, 4, 9])
def test_a_resumed_run_equals_an_uninterrupted_one(
    stop: int, uninterrupted: Run, data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as patch:
        interrupt_at(stop, patch)
        run = run_plan(tiny_plan(data), tmp_path / "run")
    about = run.about["training"]
    assert (about["reason"], about["finished"], about["steps"]) == ("interrupted", False, stop)
    resume(run.path)
    assert_same_run(run, uninterrupted)


def test_a_run_in_bf16_says_so_and_resumes_exactly(data: str, tmp_path: Path):
    plan = tiny_plan(data, "cdsvae", precision="bf16")
    whole = run_plan(plan, tmp_path / "whole")
    half = run_plan(tiny_plan(data, "cdsvae", precision="bf16", steps=6), tmp_path / "half")
    settings = {"training": {"steps": plan.training.steps}}
    assert_same_run(resume(half.path, settings=settings), whole)
    assert whole.about["training"]["precision"] == "bf16"
    plain = run_plan(tiny_plan(data, "cdsvae", precision="fp32"), tmp_path / "plain")
    assert any(
        not torch.equal(a, b)
        for a, b in zip(whole.model().parameters(), plain.model().parameters(), strict=True)
    )


def test_auto_precision_is_decided_when_a_run_starts_and_kept_when_it_goes_on(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    run = run_plan(tiny_plan(data, steps=2), tmp_path / "run")
    assert run.plan.training.precision == "fp32"
    monkeypatch.setattr(precision, "native_bf16", lambda device: True)
    resume(run.path, settings={"training": {"steps": 4}})
    assert run.plan.training.precision == "fp32"


def test_a_run_made_before_there_was_a_precision_goes_on_in_fp32(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    run = run_plan(tiny_plan(data, steps=2), tmp_path / "run")
    config = run.path / "config.toml"
    config.write_text(config.read_text().replace('precision = "fp32"\n', ""))
    monkeypatch.setattr(precision, "native_bf16", lambda device: True)
    assert run.plan.training.precision == "fp32"


def test_a_run_can_be_interrupted_again_and_again(
    uninterrupted: Run, data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as patch:
        interrupt_at(2, patch)
        run = run_plan(tiny_plan(data), tmp_path / "run")
    for stop in (4, 5, 7):
        with monkeypatch.context() as patch:
            interrupt_at(stop, patch)
            resume(run.path)
        assert run.about["training"]["steps"] == stop
    assert_same_run(resume(run.path), uninterrupted)


def test_a_killed_run_goes_on_from_its_last_checkpoint(
    uninterrupted: Run, data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def die(terms: Terms) -> Terms:
        raise MemoryError("killed")

    with monkeypatch.context() as patch, pytest.raises(MemoryError):
        act_at(9, die, patch)
        run_plan(tiny_plan(data), tmp_path / "run")
    run = open_run(tmp_path / "run")
    assert [row["step"] for row in rows(run, "log.csv")] == ["3", "6", "9"]  # beyond step 5
    assert_same_run(resume(run.path), uninterrupted)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_after_the_present_step_and_saves(
    number: int, uninterrupted: Run, data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    before = signal.getsignal(number)

    def press(terms: Terms) -> Terms:
        os.kill(os.getpid(), number)
        return terms

    with monkeypatch.context() as patch:
        act_at(6, press, patch)
        run = run_plan(tiny_plan(data), tmp_path / "run")
    assert signal.getsignal(number) == before
    about = run.about["training"]
    assert (about["reason"], about["finished"], about["steps"]) == ("interrupted", False, 7)
    assert_same_run(resume(run.path), uninterrupted)


RESUMED: dict[str, dict[str, Any]] = {
    "diffsda": {"width": 8},
    "glr": {"w_kl_static": 1.0, "w_counterfactual": 1.0},
    "placed": {"patches": 2, "patch_side": 4, "dynamic_dim": 4},
    "rwae": {"static_penalty": "gan", "dynamic_penalty": "gan", "critic_width": 8},
}
"""What the methods of the catalogue need to be small, or to have all their parts."""


@pytest.mark.parametrize("method", METHODS)
def test_every_method_resumes_exactly(method: str, data: str, tmp_path: Path, monkeypatch):
    optimizer, more = "muon" if method == "rwae" else "adam", RESUMED.get(method, {})
    training = TRAINING | {"optimizer": optimizer, "beta1": 0.5, "critic_lr": 1e-4, "steps": 6}
    sizes = {k: v for k, v in TINY.items() if k in ("static_dim", "dynamic_dim", "net")}
    settings = {"method": sizes | more, "training": training}
    plan = make_plan(data, method, preset="none", settings=settings)
    whole = run_plan(plan, tmp_path / "whole")
    with monkeypatch.context() as patch:
        interrupt_at(3, patch)
        run = run_plan(plan, tmp_path / "run")
    assert_same_run(resume(run.path), whole)


def test_a_method_with_batch_statistics_of_a_bank_resumes_exactly(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    method = TINY | {"warmup_steps": 5}
    settings = {"method": method, "training": TRAINING | {"schedule": "cosine", "clip": 5.0}}
    plan = make_plan(data, "spyl", preset="none", settings=settings)
    whole = run_plan(plan, tmp_path / "whole")
    with monkeypatch.context() as patch:
        interrupt_at(7, patch)
        run = run_plan(plan, tmp_path / "run")
    assert_same_run(resume(run.path), whole)
    assert rows(whole, "log.csv")[0]["mi_static"] == ""
    assert float(rows(whole, "log.csv")[-1]["mi_static"]) < 0


def test_resuming_a_finished_run_changes_nothing(data: str, tmp_path: Path, uninterrupted: Run):
    run = run_plan(tiny_plan(data), tmp_path / "run")
    assert_same_run(resume(run.path), uninterrupted)


def test_a_finished_run_can_be_made_longer(data: str, tmp_path: Path, uninterrupted: Run):
    run = run_plan(tiny_plan(data, steps=6), tmp_path / "run")
    assert run.about["training"]["steps"] == 6
    resume(run.path, settings={"training": {"steps": 10}})
    assert_same_run(run, uninterrupted)
    assert run.plan.training.steps == 10


def test_the_log_is_the_mean_over_its_steps(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    seen: list[Terms] = []
    plain = DSVAE.loss

    def spying(self: DSVAE, batch: Batch, step: int) -> Terms:
        terms = plain(self, batch, step)
        if self.training:
            seen.append({k: (w, v.detach()) for k, (w, v) in terms.items()})
        return terms

    monkeypatch.setattr(DSVAE, "loss", spying)
    run = run_plan(tiny_plan(data), tmp_path / "run")
    for i, row in enumerate(rows(run, "log.csv")):
        part = seen[3 * i : 3 * i + 3]
        for name in ("reconstruction", "kl_static", "kl_dynamic"):
            wanted = sum(terms[name][1].item() for terms in part) / 3
            assert float(row[name]) == pytest.approx(wanted, rel=1e-5)
        loss = sum(w * v.item() for terms in part for w, v in terms.values()) / 3
        assert float(row["loss"]) == pytest.approx(loss, rel=1e-5)


def test_the_loss_falls_over_training(data: str, tmp_path: Path):
    run = run_plan(tiny_plan(data, steps=60, log_every=10), tmp_path / "run")
    losses = [float(row["loss"]) for row in rows(run, "log.csv")]
    assert losses[-1] < 0.7 * losses[0]


def nan_in_kl_dynamic(terms: Terms) -> Terms:
    weight, value = terms["kl_dynamic"]
    return terms | {"kl_dynamic": (weight, value * math.nan)}


def test_a_loss_that_is_not_finite_goes_back_to_the_last_checkpoint(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uninterrupted: Run
):
    with monkeypatch.context() as patch:
        act_at(7, nan_in_kl_dynamic, patch)
        with pytest.raises(NonFiniteLossError) as error:
            run_plan(tiny_plan(data), tmp_path / "run")
    sentence = str(error.value)
    assert sentence.startswith(
        "Loss is not finite at step 7: kl_dynamic. The run is back at step 5"
    )
    assert f"--resume {tmp_path / 'run'} --set training.lr=0.001" in sentence
    run = open_run(tmp_path / "run")
    about = run.about["training"]
    assert (about["reason"], about["finished"], about["steps"]) == ("not finite", False, 5)
    saved = load_file(run.path / "model.safetensors")
    weights = read_checkpoint(run.path / CHECKPOINT)["state_dict"]
    for name, value in saved.items():
        assert torch.equal(value, weights[f"method.{name}"])
        assert torch.isfinite(value.float()).all()
    assert_same_run(resume(run.path), uninterrupted)


def test_a_gradient_that_is_not_finite_never_reaches_the_weights(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def poison(terms: Terms) -> Terms:
        terms["kl_static"][1].register_hook(lambda gradient: gradient * math.nan)
        return terms

    act_at(7, poison, monkeypatch)
    with pytest.raises(NonFiniteLossError, match="Gradient is not finite at step 7"):
        run_plan(tiny_plan(data), tmp_path / "run")
    saved = load_file(tmp_path / "run" / "model.safetensors")
    assert all(torch.isfinite(value.float()).all() for value in saved.values())


def test_a_loss_that_is_not_finite_early_goes_back_to_the_start(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    act_at(2, nan_in_kl_dynamic, monkeypatch)
    with pytest.raises(NonFiniteLossError, match=r"step 2: kl_dynamic\. The run is back at step 0"):
        run_plan(tiny_plan(data), tmp_path / "run")
    assert read_checkpoint(tmp_path / "run" / CHECKPOINT)["global_step"] == 0


def test_an_existing_run_is_not_overwritten(data: str, tmp_path: Path):
    run = run_plan(tiny_plan(data, steps=2), tmp_path / "run")
    before = (run.path / "model.safetensors").read_bytes()
    with pytest.raises(ValueError, match=r"holds a run already\. Go on with it \(--resume"):
        run_plan(tiny_plan(data, steps=3), tmp_path / "run")
    assert (run.path / "model.safetensors").read_bytes() == before


def test_a_budget_of_minutes_stops_and_saves(data: str, tmp_path: Path):
    run = run_plan(tiny_plan(data, steps=10_000, max_minutes=0.01), tmp_path / "run")
    about = run.about["training"]
    assert (about["reason"], about["finished"]) == ("budget", True)
    assert 1 <= about["steps"] < 10_000
    assert read_checkpoint(run.path / CHECKPOINT)["global_step"] == about["steps"]


def test_a_budget_of_work_is_not_used_up_by_waiting(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def steps(name: str, minutes_of: str) -> int:
        plan = tiny_plan(data, steps=5, max_minutes=1e-6, minutes_of=minutes_of)
        return run_plan(plan, tmp_path / name).about["training"]["steps"]

    assert steps("busy", "work") == 1
    monkeypatch.setattr("time.process_time", lambda: 100.0)
    assert steps("idle", "work") == 5
    assert steps("clock", "clock") == 1


def test_minutes_of_earlier_sessions_count(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as patch:
        patch.setattr(Clock, "minutes", property(lambda self: self.before + 2.5))
        run = run_plan(tiny_plan(data, steps=3), tmp_path / "run")
        resume(run.path, settings={"training": {"steps": 6}})
    minutes = [float(row["minutes"]) for row in read_rows(run.path / "log.csv")]
    assert minutes == [2.5, 5.0]


def test_a_collapse_is_noted_once_over_all_sessions(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("unbraid.training.callbacks.COLLAPSED", 1e9)
    monkeypatch.setattr(callbacks, "CollapseMonitor", lambda: CollapseMonitor(after=0))
    whole = run_plan(tiny_plan(data), tmp_path / "whole")
    with monkeypatch.context() as patch:
        interrupt_at(4, patch)
        run = run_plan(tiny_plan(data), tmp_path / "run")
    notes = resume(run.path).about["training"]["notes"]
    assert [note[:20] for note in notes] == ["s has collapsed at s", "d has collapsed at s"]
    assert notes == whole.about["training"]["notes"]


def test_a_stopped_rise_is_noted_once_and_survives_a_resume(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("unbraid.methods.base.KL_GROWTH", -1.0)  # any KL(d) counts as grown
    rise = {"kl_warmup_steps": 1, "kl_static_rise": 32.0, "kl_static_safe": 2.0}
    settings = {"method": TINY | rise, "training": TRAINING}
    plan = make_plan(data, "dsvae", preset="none", settings=settings)
    whole = run_plan(plan, tmp_path / "whole")
    with monkeypatch.context() as patch:
        interrupt_at(4, patch)
        run = run_plan(plan, tmp_path / "run")
    again = resume(run.path)
    assert_same_run(again, whole)
    notes = again.about["training"]["notes"]
    assert [note for note in notes if "KL weight of s" in note] == [
        note for note in notes if note.startswith("KL(d) grew by step")
    ]
    assert len([note for note in notes if "stays at 2." in note]) == 1
    assert again.model().kl_static_weight(10_000) == 2.0


def test_losses_from_before_a_stopped_rise_or_of_other_sequences_do_not_compare(
    data: str, tmp_path: Path
):
    rise = {"kl_warmup_steps": 1, "kl_static_rise": 32.0, "kl_static_safe": 2.0}
    settings = {"method": TINY | rise, "training": TRAINING | {"steps": 1}}
    run = run_plan(make_plan(data, "dsvae", preset="none", settings=settings), tmp_path / "run")
    method, split = run.model(), run.corpus().validation
    watch = Validation(split, TrainingConfig(), tmp_path / "validation.csv", 0)
    watch.best = {"loss": -1e9, "objective": repr(method.config)}
    watch._forget_if_changed(method)
    assert not watch.best  # of a run begun when the first sequences were taken
    watch.best = {"loss": -1e9, "objective": validation._objective(method)}
    watch._forget_if_changed(method)
    assert watch.best
    method.rise_limit.stopped.fill_(True)
    watch._forget_if_changed(method)
    assert not watch.best


PLATEAU: dict[str, Any] = {"steps": 0, "epochs": 40, "lr": 0.3, "patience": 2}


def validated(run: Run) -> list[tuple[int, float]]:
    return [(int(row["step"]), float(row["loss"])) for row in rows(run, "validation.csv")]


def test_a_plateau_ends_a_run_which_keeps_its_best_weights(data: str, tmp_path: Path):
    run = run_plan(tiny_plan(data, **PLATEAU, keep_every=4), tmp_path / "run")
    about, table = run.about["training"], validated(run)
    assert (about["reason"], about["finished"]) == ("plateau", True)
    assert [step for step, _ in table] == list(range(4, about["steps"] + 1, 4))  # every epoch
    best = min(table, key=lambda row: row[1])
    assert about["kept_step"] == best[0] == about["steps"] - 2 * 4
    assert about["kept_validation_loss"] == pytest.approx(best[1], rel=1e-5)
    then = read_checkpoint(run.path / "checkpoints" / f"step-{best[0]}.safetensors")
    for name, value in run.model().state_dict().items():
        assert torch.equal(value, then["state_dict"][f"method.{name}"]), name


@pytest.fixture(scope="module")
def patient(data: str, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run that a plateau ended."""
    return run_plan(tiny_plan(data, **PLATEAU), tmp_path_factory.mktemp("patient") / "run")


def test_no_plateau_ends_a_run_before_its_least_epochs(data: str, patient: Run, tmp_path: Path):
    least = int(patient.about["training"]["epochs"]) + 1
    late = run_plan(tiny_plan(data, **PLATEAU, min_epochs=least), tmp_path / "late")
    assert late.about["training"]["epochs"] >= least


@pytest.mark.parametrize("stop", [3, 14])
def test_a_run_with_patience_resumes_exactly(
    stop: int, data: str, patient: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    assert patient.about["training"]["steps"] > stop
    with monkeypatch.context() as patch:
        interrupt_at(stop, patch)
        part = run_plan(tiny_plan(data, **PLATEAU), tmp_path / "part")
    assert part.about["training"]["reason"] == "interrupted"
    assert_same_run(resume(part.path), patient)


def test_patience_without_validation_sequences_is_told(data: str, tmp_path: Path):
    with pytest.raises(ValueError, match="patience needs validation sequences"):
        run_plan(tiny_plan(data, **PLATEAU, validation_sequences=0), tmp_path / "run")


def test_a_folder_that_is_no_run_is_named(tmp_path: Path):
    with pytest.raises(ValueError, match=r"is not a run folder: it has no config\.toml"):
        resume(tmp_path)


def test_a_damaged_checkpoint_is_named(data: str, tmp_path: Path):
    run = run_plan(tiny_plan(data, steps=2), tmp_path / "run")
    path = run.path / CHECKPOINT
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(ValueError, match="is damaged or not a checkpoint of ours"):
        resume(run.path)


def test_a_misspelt_setting_of_a_resumed_run_is_told_the_right_one(data: str, tmp_path: Path):
    run = run_plan(tiny_plan(data, steps=2), tmp_path / "run")
    with pytest.raises(KeyError, match=r"has no setting 'step'. Did you mean 'steps'\?"):
        resume(run.path, settings={"training": {"step": 4}})


def test_checkpoints_that_were_kept_are_the_history_of_a_run(data: str, tmp_path: Path):
    run = run_plan(tiny_plan(data, steps=5, keep_every=2), tmp_path / "run")
    history = dict(opened(run).history())
    assert list(history) == [2, 4, 5]
    short = run_plan(tiny_plan(data, steps=2), tmp_path / "short").model().state_dict()
    for name, value in history[2].state_dict().items():
        assert torch.equal(value, short[name]), name


@pytest.mark.parametrize("name", ["data", "toy-series"])
def test_arrays_are_not_taken_for_a_folder_or_data_set_of_their_name(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    np.savez(tmp_path / "data" / "other.npz", x=np.zeros((9, 4, 2)))
    x = np.random.default_rng(0).normal(size=(30, 8, 2)).astype(np.float32)
    corpus = from_arrays(x, name=name, options={"window": 2})
    settings = {"method": TINY, "training": TRAINING | {"steps": 2}}
    run = fit(corpus, "dsvae", preset="none", settings=settings, out=tmp_path / "runs")
    assert resume(run.path, corpus=corpus).about["training"]["steps"] == 2
    with pytest.raises(ValueError, match="arrays in memory"):
        open_run(run.path).corpus()


def test_a_run_of_data_in_memory_keeps_them_while_python_runs(tmp_path: Path):
    x = np.random.default_rng(0).normal(size=(30, 8, 2)).astype(np.float32)
    corpus = from_arrays(x, options={"window": 2})
    settings = {"method": TINY, "training": TRAINING | {"steps": 2}}
    run = fit(corpus, "dsvae", preset="none", settings=settings, out=tmp_path)
    assert run.corpus() is corpus
    again = open_run(run.path, corpus=corpus)
    assert evaluate(run)["relative_error"] == evaluate(again)["relative_error"]
    other = from_arrays(x[:25], options={"window": 2})
    with pytest.raises(ValueError, match="changed"):
        open_run(run.path, corpus=other).corpus()
