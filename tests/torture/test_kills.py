"""Kills at random moments, over every command that writes: the result is that of a quiet run."""

import time
from pathlib import Path

import pytest

from tests.torture.harness import Process, draws, program
from tests.torture.jobs import FIT, JOBS, furnish

KILLS = {
    "fit": 14,
    "prepare": 10,
    "encode": 10,
    "reproduce": 8,
    "tune": 6,
    "evaluate": 6,
    "report": 3,
}


@pytest.mark.parametrize("name", list(JOBS))
def test_a_killed_job_gives_what_a_quiet_one_gives(tmp_path: Path, monkeypatch, report, name: str):
    job, folder, trained = JOBS[name], tmp_path / "job", tmp_path / "trained"
    monkeypatch.setenv("UNBRAID_CACHE", str(folder / "cache"))
    trained.mkdir()
    assert program(trained, *FIT).code == 0
    furnish(folder, job, trained)
    began = time.monotonic()
    assert program(folder, *job.words).code == 0
    seconds, wanted = time.monotonic() - began, job.result(folder)
    furnish(folder, job, trained)
    random, killed = draws(0), 0
    for number in range(4 * KILLS[name]):
        if killed == KILLS[name]:
            break
        if number % 2 == 0:  # every other kill hits the job that goes on
            furnish(folder, job, trained)
        words = job.words if number % 2 == 0 or job.again is None else job.again(folder)
        process = Process(folder, words)
        time.sleep(random.uniform(0.1, 1.0) * seconds)
        process.kill()
        killed += process.wait().code < 0
        again = job.recover(folder)
        assert again.code == 0, again
        assert job.result(folder) == wanted
    assert killed == KILLS[name]
    report(f"random kills, {name}: {killed}")
