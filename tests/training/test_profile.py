import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from unbraid.data.corpus import Corpus
from unbraid.data.readers.arrays import from_arrays
from unbraid.methods import cdsvae
from unbraid.methods.cdsvae import CDSVAE
from unbraid.records import Terms
from unbraid.rows import read_rows
from unbraid.runs.plan import make_plan
from unbraid.runs.run import Run
from unbraid.training import stages
from unbraid.training.fit import run_plan
from unbraid.training.module import NonFiniteLossError
from unbraid.training.profile import Profile
from unbraid.training.stages import StageTimer

TINY: dict[str, Any] = {
    "static_dim": 4,
    "dynamic_dim": 3,
    "net": {"channels": [4, 4], "features": 6, "hidden": 6},
}
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    x = np.random.default_rng(0).integers(0, 255, (30, 4, 3, 8, 8), dtype=np.uint8)
    return from_arrays(x)


def run_tiny(corpus: Corpus, path: Path, *, profiled: bool, method: str, steps: int) -> Run:
    training = {"batch_size": 6, "steps": steps}
    plan = make_plan(
        "arrays",
        method,
        kind="video",
        preset="none",
        settings={"method": TINY, "training": training},
    )
    return run_plan(plan, path, corpus=corpus, callbacks=[Profile(path)] if profiled else [])


@pytest.fixture(scope="module")
def profiled(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Run:
    path = tmp_path_factory.mktemp("runs") / "profiled"
    return run_tiny(corpus, path, profiled=True, method="cdsvae", steps=12)


def test_a_profile_names_every_stage_and_its_shares_sum_to_one(profiled):
    rows = {row["stage"]: row for row in read_rows(profiled.path / "profile.csv")}
    assert set(rows) == {
        "data",
        "encoder",
        "posterior",
        "prior",
        "decoder",
        "views",
        "backward",
        "optimizer",
        "loss/reconstruction_error",
        "loss/negative_elbo",
        "loss/info_nce",
        "loss/densities",
        "loss/static_dynamic",
        "other",
    }
    shares = {stage: float(row["share"]) for stage, row in rows.items()}
    assert min(shares.values()) >= 0
    assert sum(shares.values()) == pytest.approx(1, abs=1e-4)
    # C-DSVAE encodes the batch and its dynamic view, reads three posteriors, decodes once.
    calls = {stage: float(row["calls"]) for stage, row in rows.items()}
    assert (calls["encoder"], calls["posterior"], calls["decoder"]) == (2, 3, 1)


def test_the_backward_pass_is_shared_out_to_the_stages_it_undoes(profiled):
    rows = {row["stage"]: row for row in read_rows(profiled.path / "profile.csv")}
    shares = {stage: float(row["backward_share"]) for stage, row in rows.items()}
    assert sum(shares.values()) == pytest.approx(1, abs=1e-4)
    assert min(shares[s] for s in ("encoder", "posterior", "prior", "decoder")) > 0
    assert shares["data"] == shares["optimizer"] == shares["backward"] == 0
    assert shares["views"] == pytest.approx(0, abs=0.05)  # no gradient; shuffled features have one


def test_the_trace_names_the_stages(profiled):
    events = json.loads((profiled.path / "trace.json").read_text())["traceEvents"]
    names = {event["name"] for event in events}
    assert {"encoder", "decoder", "loss/info_nce", "views", "backward", "optimizer"} <= names


def test_the_page_is_a_table_of_the_same_stages(profiled):
    page = (profiled.path / "profile.md").read_text()
    assert "CDSVAE, mean of 5 steps" in page  # 12: 4 to get warm, 5, and 3 for the trace
    for row in read_rows(profiled.path / "profile.csv"):
        assert f"| {row['stage']} |" in page


def test_profiling_does_not_change_the_run(corpus, profiled, tmp_path):
    plain = run_tiny(corpus, tmp_path / "plain", profiled=False, method="cdsvae", steps=12)
    weights, others = (load_file(run.path / "model.safetensors") for run in (plain, profiled))
    assert all(torch.equal(weights[name], others[name]) for name in weights)
    assert not (plain.path / "profile.csv").exists()


@pytest.mark.parametrize("method", ["dsvae", "spyl", "dbse"])
def test_every_method_can_be_profiled_even_for_two_steps(corpus, tmp_path, method):
    run = run_tiny(corpus, tmp_path / method, profiled=True, method=method, steps=2)
    rows = read_rows(run.path / "profile.csv")
    assert sum(float(row["share"]) for row in rows) == pytest.approx(1, abs=1e-4)
    calls = {row["stage"]: float(row["calls"]) for row in rows}
    assert calls["decoder"] == (2 if method == "spyl" else 1)  # SPYL decodes its bank, too
    kl = "loss/kl_dynamic" if method == "dbse" else "loss/negative_elbo"
    assert {"loss/reconstruction_error", kl} <= set(calls)


def test_nothing_is_left_behind_when_training_fails(corpus, tmp_path, monkeypatch):
    plain, seen = CDSVAE.loss, []

    def failing(self: CDSVAE, batch: Any, step: int) -> Terms:
        seen.append(self)
        terms = plain(self, batch, step)
        return terms if step < 5 else terms | {"bad": (1.0, torch.tensor(torch.nan))}

    estimate = cdsvae.info_nce
    monkeypatch.setattr(CDSVAE, "loss", failing)
    with pytest.raises(NonFiniteLossError):
        run_tiny(corpus, tmp_path / "run", profiled=True, method="cdsvae", steps=12)
    assert cdsvae.info_nce is estimate
    parts = seen[-1].named_children()
    assert not any(part._forward_hooks or part._forward_pre_hooks for _, part in parts)
    assert "static" not in vars(seen[-1].posterior)


def test_the_time_of_an_inner_stage_is_not_the_outer_ones(monkeypatch):
    clock = iter([0.0, 1.0, 4.0, 6.0])
    monkeypatch.setattr(stages.time, "perf_counter", lambda: next(clock))
    timer = StageTimer(CPU)
    timer.start("outer")
    timer.start("inner")
    timer.stop()
    timer.stop()
    assert timer.seconds == {"outer": 3.0, "inner": 3.0}


def test_an_autograd_node_belongs_to_the_stage_that_made_it():
    timer, x = StageTimer(CPU), torch.ones(2, requires_grad=True)
    made = {}
    made["other"] = x * 1  # before any stage
    timer.start("first")
    made["first"] = x * 2
    timer.start("second")
    made["second"] = x * 3
    timer.stop()
    last = x * 4
    timer.stop()
    for stage, y in made.items():
        assert timer.maker(y.grad_fn._sequence_nr()) == stage
    assert timer.maker(last.grad_fn._sequence_nr()) == "first"
    assert timer.maker(-1) == "other"  # nodes without a number
