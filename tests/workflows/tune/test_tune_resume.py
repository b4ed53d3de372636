"""A study ends the same however often it was stopped, and processes share it."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import optuna
import pytest
from filelock import FileLock

from tests.workflows.tune.studies import TINY, rows, tiny_search
from unbraid.workflows.tune import trial as tune_trial
from unbraid.workflows.tune.search import enter
from unbraid.workflows.tune.tuning import tune


@pytest.fixture(scope="module")
def three(tmp_path_factory) -> Path:
    """A study of three trials that was never stopped."""
    folder = tmp_path_factory.mktemp("three")
    tune(tiny_search(), folder, trials=3)
    return folder


def test_more_trials_continue_the_same_study(three: Path, tmp_path: Path):
    for trials in (1, 3):
        tune(tiny_search(), tmp_path, trials=trials)
    assert rows(tmp_path) == rows(three)


def test_a_study_has_enough_trials_once(three: Path):
    lines: list[str] = []
    tune(tiny_search(), three, trials=3, say=lines.append)
    assert lines == []


def test_a_study_stopped_by_the_user_ends_as_one_that_was_not(three, tmp_path, monkeypatch):
    look = tune_trial.leakage_of

    def interrupt(method, plan, corpus):
        monkeypatch.setattr(tune_trial, "leakage_of", look)
        os.kill(os.getpid(), signal.SIGINT)
        return look(method, plan, corpus)

    monkeypatch.setattr(tune_trial, "leakage_of", interrupt)
    with pytest.raises(KeyboardInterrupt):
        tune(tiny_search(), tmp_path, trials=3)
    assert rows(tmp_path)[0]["state"] == "running"
    tune(tiny_search(), tmp_path, trials=3)
    assert rows(tmp_path) == rows(three)


def test_a_killed_study_goes_on_with_the_trial_it_was_at(three: Path, tmp_path: Path):
    words = [word for name in TINY for word in ("--set", name)]
    command = ["-m", "unbraid", "tune", "toy-series", "-m", "dbse", "--trials", "3"]
    process = subprocess.Popen(
        [sys.executable, *command, "--out", str(tmp_path), *words], stdout=subprocess.DEVNULL
    )
    folder = tmp_path / "toy-series" / "dbse"
    while not list(folder.glob("trials/*/checkpoints/last.safetensors")):
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()
    tune(tiny_search(), folder, trials=3)
    assert rows(folder) == rows(three)


def test_a_trial_belongs_to_one_process_until_that_process_is_gone(tmp_path: Path):
    mine, other = (enter(tiny_search(), tmp_path) for _ in range(2))
    first, second = mine.claim(3), other.claim(3)
    assert (first.trial.number, second.trial.number) == (0, 1)
    first.lock.release()  # as the system does when a process is killed
    again = other.claim(3)
    assert again.trial.number == 0
    assert again.trial.params == first.trial.params
    last = mine.claim(3)
    assert last.trial.number == 2
    assert other.claim(3) is None
    for claim in (second, again, last):
        claim.done()


def test_two_processes_share_a_study(tmp_path: Path):
    study = tune(tiny_search(), tmp_path, trials=4, workers=2)
    assert [trial.number for trial in study.finished] == [0, 1, 2, 3]
    assert len({str(trial.params) for trial in study.finished}) == 4
    assert {"worker-0.log", "worker-1.log"} <= {path.name for path in tmp_path.iterdir()}


def test_a_torn_journal_goes_on_after_its_last_whole_line(three: Path, tmp_path: Path):
    folder = tmp_path / "study"
    shutil.copytree(three, folder)
    with (folder / "study.log").open("a") as file:
        file.write('{"op_code": 4, "worker')
    tune(tiny_search(), folder, trials=3)
    assert rows(folder) == rows(three)


def test_workers_end_with_the_process_that_started_them(tmp_path: Path):
    long = ["training.steps=100000" if "steps=10" in word else word for word in TINY]
    words = [word for name in long for word in ("--set", name)]
    command = ["-m", "unbraid", "tune", "toy-series", "-m", "dbse", "--trials", "4"]
    process = subprocess.Popen(
        [sys.executable, *command, "--workers", "2", "--out", str(tmp_path), *words],
        stdout=subprocess.DEVNULL,
    )
    folder = tmp_path / "toy-series" / "dbse"
    while len(list(folder.glob("trials/*/checkpoints/last.safetensors"))) < 2:
        assert process.poll() is None
        time.sleep(0.05)
    process.kill()
    process.wait()
    locks = [FileLock(path) for path in folder.glob("trials/*.lock")]
    assert len(locks) == 2
    for lock in locks:  # the system takes them back when a worker ends
        assert lock.acquire()
        lock.release()


def test_who_comes_when_all_trials_are_taken_is_told_so(tmp_path: Path):
    claim = enter(tiny_search(), tmp_path).claim(1)
    with pytest.raises(ValueError, match="at work in other processes"):
        tune(tiny_search(), tmp_path, trials=1)
    claim.lock.release()


def test_a_trial_stopped_between_two_draws_draws_what_it_would_have(tmp_path: Path, monkeypatch):
    quiet, stopped = (enter(tiny_search(), tmp_path / name) for name in ("quiet", "stopped"))
    for study in (quiet, stopped):
        study.claim(2).lock.release()
        study.study.tell(0, 1.0)
    first = quiet.claim(2)
    wanted = first.trial.params
    assert len(wanted) > 1
    plain, calls = optuna.Trial.suggest_float, []

    def failing(self, *args, **rest):
        calls.append(args)
        if len(calls) == 2:
            raise OSError("the disk is full")
        return plain(self, *args, **rest)

    with monkeypatch.context() as patch:
        patch.setattr(optuna.Trial, "suggest_float", failing)
        with pytest.raises(OSError, match="full"):
            stopped.claim(2)
    second = stopped.claim(2)
    assert second.trial.params == wanted
    for claim in (first, second):
        claim.done()
