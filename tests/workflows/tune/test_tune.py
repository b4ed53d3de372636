"""A study: what it writes, what it gives up, what it never reads."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from tests.workflows.tune.studies import rows, tiny_search
from unbraid.runs.plan import make_plan
from unbraid.runs.run import open_run
from unbraid.runs.source import DataSource
from unbraid.training.module import NonFiniteLossError
from unbraid.workflows.tune import study as tune_study
from unbraid.workflows.tune import trial as tune_trial
from unbraid.workflows.tune.report import in_order
from unbraid.workflows.tune.search import enter
from unbraid.workflows.tune.tuning import tune


@pytest.fixture(scope="module")
def three(tmp_path_factory) -> Path:
    """A study of three trials that was never stopped."""
    folder = tmp_path_factory.mktemp("three")
    tune(tiny_search(), folder, trials=3)
    return folder


def test_a_study_writes_its_trials_and_the_best_as_a_preset(three: Path):
    trials = rows(three)
    assert [row["trial"] for row in trials] == ["0", "1", "2"]
    assert {row["state"] for row in trials} == {"finished"}
    best = min(trials, key=lambda row: float(row["leakage"]))
    plan = make_plan("toy-series", "dbse", preset=str(three / "best.toml"))
    trained = open_run(three / "trials" / best["trial"]).plan
    assert plan.method_config == trained.method_config
    assert plan.on("cpu", "series").training == trained.training  # a run keeps the precision it had
    assert plan.data == trained.data


def test_the_first_trial_is_the_preset_where_the_space_holds_it(three: Path):
    plan = make_plan("toy-series", "dbse", preset="paper")
    assert float(rows(three)[0]["method.w_kl_static"]) == plan.method_config.w_kl_static
    assert float(rows(three)[0]["training.lr"]) == plan.training.lr


def test_tied_weights_are_equal_in_every_trial(three: Path):
    for row in rows(three):
        assert row["method.w_kl_static"] == row["method.w_kl_dynamic"]


def test_trials_worse_than_the_median_are_given_up(tmp_path: Path, monkeypatch):
    worse = iter(range(100))
    monkeypatch.setattr(tune_study, "STARTUP", 1)
    monkeypatch.setattr(tune_trial, "leakage_of", lambda *_: float(next(worse)))
    study = tune(tiny_search(), tmp_path, trials=2)
    assert [row["state"] for row in rows(tmp_path)] == ["finished", "pruned"]
    looks = study.trials[1].intermediate_values
    assert list(looks) == [1, 2]  # at two fifths of its budget
    assert not (tmp_path / "trials" / "1" / "model.safetensors").exists()


def test_nothing_is_given_up_without_a_pruner(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(tune_trial, "leakage_of", lambda *_: pytest.fail("nobody asked"))
    study = tune(tiny_search(pruner="none"), tmp_path, trials=1)
    assert len(study.finished) == 1


def test_what_is_pinned_is_not_searched(tmp_path: Path):
    pinned = tiny_search("training.lr=0.0015", "method.w_kl_static=0.25")
    assert set(pinned.space) == {"method.w_static", "method.w_kl_dynamic"}
    tune(pinned, tmp_path, trials=2)
    for number in (0, 1):
        plan = open_run(tmp_path / "trials" / str(number)).plan
        assert plan.training.lr == 0.0015
        assert plan.method_config.w_kl_dynamic == plan.method_config.w_kl_static == 0.25


def test_a_trial_whose_loss_is_not_finite_does_not_end_the_study(tmp_path: Path, monkeypatch):
    train = tune_trial.run_plan

    def fail(*args, **rest):
        monkeypatch.setattr(tune_trial, "run_plan", train)
        raise NonFiniteLossError("Loss is not finite at step 3: kl_static.")

    monkeypatch.setattr(tune_trial, "run_plan", fail)
    tune(tiny_search(), tmp_path, trials=2)
    assert [row["state"] for row in rows(tmp_path)] == ["failed", "finished"]
    assert "not finite at step 3" in rows(tmp_path)[0]["note"]


def test_a_study_without_any_finished_trial_says_why(tmp_path: Path, monkeypatch):
    def fail(*args, **rest):
        raise NonFiniteLossError("Loss is not finite at step 3: kl_static.")

    monkeypatch.setattr(tune_trial, "run_plan", fail)
    with pytest.raises(ValueError, match=r"none of 1 trials .* has finished.*not finite at step 3"):
        tune(tiny_search(), tmp_path, trials=1)


def test_tuning_never_reads_the_test_split(tmp_path: Path, monkeypatch):
    class Sealed:
        shape, dtype, ndim = (3, 4, 4, 6), np.dtype("f4"), 4

        def __len__(self) -> int:
            return 3

        def __getitem__(self, rows):
            pytest.fail("the test split was read")

    load = DataSource.load

    def sealed(source):
        corpus = load(source)
        return dataclasses.replace(corpus, test=dataclasses.replace(corpus.test, x=Sealed()))

    monkeypatch.setattr(DataSource, "load", sealed)
    assert tune(tiny_search(), tmp_path, trials=1).finished


def test_two_objectives_are_balanced_by_ranks(tmp_path: Path):
    both = tiny_search(objective="both")
    study = tune(both, tmp_path, trials=3)
    best = in_order(study, both)[0]
    better = [
        trial
        for trial in study.finished
        if all(a < b for a, b in zip(trial.values, best.values, strict=True))
    ]
    assert not better
    assert len(best.values) == 2


def test_another_question_in_the_same_folder_is_refused(three: Path):
    with pytest.raises(ValueError, match="holds another study: its objective is leakage, not elbo"):
        enter(tiny_search(objective="elbo"), three)


def test_a_study_whose_bounds_are_of_the_first_sequences_is_not_gone_on_with(tmp_path: Path):
    for objective, older in (("elbo", True), ("elbo", False), ("leakage", True)):
        search, folder = tiny_search(objective=objective), tmp_path / f"{objective}-{older}"
        enter(search, folder)
        path = folder / "study.toml"
        if older:
            path.write_text(path.read_text().replace('bound_of = "random sequences"\n', ""))
        if older and objective == "elbo":
            with pytest.raises(ValueError, match="its bound_of is first sequences, not random"):
                enter(search, folder)
        else:
            enter(search, folder)


def test_a_damaged_journal_is_told_in_words(tmp_path: Path):
    enter(tiny_search(), tmp_path)
    log = tmp_path / "study.log"
    log.write_text("{broken\n" + log.read_text())
    with pytest.raises(ValueError, match=r"study\.log is damaged"):
        enter(tiny_search(), tmp_path)
