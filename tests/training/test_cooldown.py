from pathlib import Path

import numpy as np
import pytest

from tests.training.test_fit import assert_same_run, data, interrupt_at, tiny_plan, validated
from unbraid.runs.config import TrainingConfig
from unbraid.training.cooldown import CoolDown
from unbraid.training.fit import resume, run_plan
from unbraid.training.module import learning_rate_factor

__all__ = ["data"]  # the fixture
FALLING = {"steps": 0, "epochs": 60, "lr": 0.3, "patience": 2, "schedule": "plateau"}


def test_the_rate_is_constant_until_the_cool_down_and_ends_at_lr_end():
    config = TrainingConfig(schedule="plateau", patience=3, lr_end=0.1, warmup_steps=10)
    cooling = CoolDown(share=0.5, steps=1000)
    factor = learning_rate_factor(config, 1000, lambda: 0.0, cooling)
    assert [factor(step) for step in (4, 10, 200)] == [0.5, 1.0, 1.0]
    cooling.start(200, 0.0, "plateau")
    assert cooling.end == 300
    assert [factor(step) for step in (200, 250, 300)] == pytest.approx([1.0, 0.55, 0.1])


@pytest.mark.parametrize("steps", [7, 100, 1001])
def test_a_cool_down_that_begins_for_the_budget_ends_with_it(steps: int):
    cooling = CoolDown(share=0.25, steps=steps)
    begin = next(step for step in range(steps + 1) if cooling.due(step, 0.0))
    cooling.start(begin, 0.0, "budget")
    assert cooling.end == steps
    assert cooling.progress(steps, 0.0) == 1.0


def test_minutes_that_run_out_shorten_the_cool_down():
    cooling = CoolDown(share=0.25, steps=10_000)
    assert not cooling.due(100, 0.79)
    assert cooling.due(100, 0.8)
    cooling.start(100, 0.8, "budget")
    assert cooling.progress(110, 0.9) == pytest.approx(0.5)


def test_a_finished_cool_down_is_undone_when_a_run_goes_on():
    cooling = CoolDown(share=0.25, steps=1000, begin=400, reason="plateau")
    cooling.go_on(450, 0.0)
    assert cooling.begin == 400  # interrupted in the middle: it goes on falling
    cooling.go_on(500, 0.0)
    assert cooling.begin == 0


def test_a_larger_budget_undoes_a_cool_down_that_the_smaller_one_began():
    cooling = CoolDown(share=0.25, steps=2000, begin=800, reason="budget")  # of 1000 steps before
    cooling.go_on(900, 0.0)
    assert cooling.begin == 0


def test_a_plateau_schedule_cools_down_and_ends_the_run(data: str, tmp_path: Path):
    run = run_plan(tiny_plan(data, **FALLING), tmp_path / "run")
    about = run.about["training"]
    assert (about["reason"], about["finished"]) == ("plateau", True)
    losses = [loss for _, loss in validated(run)]
    begin = next(  # two epochs without a lower loss
        n for n in range(2, len(losses)) if min(losses[n - 1 : n + 1]) >= min(losses[: n - 1])
    )
    begin_step = 4 * (begin + 1)
    assert about["steps"] == begin_step + round(0.25 * begin_step)


@pytest.mark.parametrize("stop", [3, 9, 15])
def test_a_run_with_a_plateau_schedule_resumes_exactly(
    stop: int, data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    whole = run_plan(tiny_plan(data, **FALLING), tmp_path / "whole")
    assert whole.about["training"]["steps"] > stop
    with monkeypatch.context() as patch:
        interrupt_at(stop, patch)
        part = run_plan(tiny_plan(data, **FALLING), tmp_path / "part")
    assert_same_run(resume(part.path), whole)


def test_without_validation_sequences_a_plateau_schedule_ends_with_its_budget(
    data: str, tmp_path: Path
):
    plan = tiny_plan(data, **FALLING | {"epochs": 3}, validation_sequences=0)
    about = run_plan(plan, tmp_path / "run").about["training"]
    assert (about["reason"], about["epochs"]) == ("finished", 3)


def test_small_gains_do_not_count_against_patience(data: str, tmp_path: Path):
    slow = {**FALLING, "lr": 1e-4, "schedule": "constant", "epochs": 30}
    every = run_plan(tiny_plan(data, **slow), tmp_path / "every").about["training"]
    large = run_plan(tiny_plan(data, **slow, min_gain=0.9), tmp_path / "large")
    assert every["reason"] == "finished"
    assert large.about["training"]["reason"] == "plateau"
    assert large.about["training"]["kept_step"] == int(
        4 * (1 + np.argmin([loss for _, loss in validated(large)]))
    )
