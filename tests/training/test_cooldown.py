import shutil
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch
from lightning import Trainer

from tests.training.test_fit import assert_same_run, data, interrupt_at, tiny_plan, validated
from unbraid.runs.config import TrainingConfig
from unbraid.runs.run import Run
from unbraid.training.cooldown import CoolDown
from unbraid.training.fit import resume, run_plan
from unbraid.training.module import learning_rate_factor
from unbraid.training.validation import Validation

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


@pytest.fixture(scope="module")
def whole(data: str, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run_plan(tiny_plan(data, **FALLING), tmp_path_factory.mktemp("whole") / "run")


def test_a_plateau_schedule_cools_down_and_ends_the_run(whole: Run):
    run, about = whole, whole.about["training"]
    assert (about["reason"], about["finished"]) == ("plateau", True)
    losses = [loss for _, loss in validated(run)]
    begin = next(  # two epochs without a lower loss
        n for n in range(2, len(losses)) if min(losses[n - 1 : n + 1]) >= min(losses[: n - 1])
    )
    begin_step = 4 * (begin + 1)
    assert about["steps"] == begin_step + round(0.25 * begin_step)


@pytest.mark.parametrize("left", [0, 2], ids=["before the cool-down", "in it"])
def test_a_run_with_a_plateau_schedule_resumes_exactly(
    left: int, data: str, whole: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    stop = whole.about["training"]["steps"] - left if left else 9
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


@pytest.mark.parametrize(("min_gain", "plateaus"), [(0.0, 0), (0.3, 1)])
def test_small_gains_do_not_count_against_patience(
    min_gain: float, plateaus: int, data: str, tmp_path: Path
):
    """Losses fall from 10 to 5 at once, then by 0.5 a time: two of them less than 0.3 of 5."""
    messages: list[object] = []
    config = TrainingConfig(patience=2, min_gain=min_gain)
    validation = Validation(
        tiny_plan(data).data.load().validation,
        config,
        tmp_path / "v.csv",
        0,
        steps=(1, 10),
        plateau=messages.append,
    )
    for step, loss in enumerate((10.0, 5.0, 4.5, 4.0)):
        validation.row = {"loss": loss}
        validation._compare(Mock(spec=Trainer), torch.nn.Linear(1, 1), step + 1)
    assert len(messages) == plateaus
    assert (validation.best["step"], validation.best["loss"]) == (4, 4.0)


def test_of_few_sequences_an_epoch_counts_as_more_steps(data: str, tmp_path: Path):
    plan = tiny_plan(data, steps=0, epochs=2, epoch_steps=7, patience=5)
    run = run_plan(plan, tmp_path / "run")
    assert run.about["training"]["steps"] == 14
    assert [step for step, _ in validated(run)] == [7, 14]


def test_a_run_that_goes_on_with_other_weights_keeps_what_it_learns_then(
    whole: Run, tmp_path: Path
):
    ended = whole.about["training"]["steps"]
    weight = 30 * whole.plan.method_config.w_kl_static  # every loss from here on is larger
    run = shutil.copytree(whole.path, tmp_path / "run")
    again = resume(run, settings={"method": {"w_kl_static": weight}})
    assert again.plan.method_config.w_kl_static == weight
    assert again.about["training"]["kept_step"] > ended
