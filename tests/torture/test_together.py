"""Two or three processes at once, on every command that writes: one result, and it is right."""

from pathlib import Path

import pytest

from tests.torture.harness import Ended, Process, program
from tests.torture.jobs import FIT, JOBS, RUN, Job, furnish

RESUME = Job(["fit", "--resume", RUN, "--set", "training.steps=6"], JOBS["fit"].result, True)
AT_ONCE = {**JOBS, "resume": RESUME}


@pytest.mark.parametrize(
    ("name", "count"), [(name, 2 if name in ("evaluate", "report") else 3) for name in AT_ONCE]
)
def test_several_processes_at_once_make_one_result(
    tmp_path: Path, monkeypatch, report, name: str, count: int
):
    job, folder, trained = AT_ONCE[name], tmp_path / "job", tmp_path / "trained"
    monkeypatch.setenv("UNBRAID_CACHE", str(folder / "cache"))
    trained.mkdir()
    assert program(trained, *FIT).code == 0
    furnish(folder, job, trained)
    assert program(folder, *job.words).code == 0
    wanted = job.result(folder)
    furnish(folder, job, trained)
    processes = [Process(folder, job.words) for _ in range(count)]
    ended = [process.wait() for process in processes]
    assert all(one.code == 0 or _named_the_other(one) for one in ended), ended
    assert any(one.code == 0 for one in ended), ended
    assert job.result(folder) == wanted
    done = sum(one.code == 0 for one in ended)
    report(f"{count} at once, {name}: {done} did it, {count - done} were told who is at work")


def _named_the_other(one: Ended) -> bool:
    words = (
        "in use by",
        "other processes",
        "another process",
        "holds a run already",
        "runs failed",
    )
    return (one.sentence and any(word in one.err for word in words)) or "in use by" in one.out
