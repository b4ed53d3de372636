"""The n-th change of a file fails, for every n of a small job: nothing is lost, nothing is left."""

from pathlib import Path

import pytest

from tests.torture.harness import Fault, inject, program, snapshot
from tests.torture.jobs import FIT, JOBS, furnish

MOST = 400  # changes of a small job
STEPS = {
    ("fit", "full"): 3,
    ("prepare", "full"): 5,
    ("encode", "full"): 3,
    ("report", "kill"): 40,
    ("report", "full"): 80,
    ("tune", "kill"): 15,
    ("tune", "full"): 25,
    ("reproduce", "kill"): 9,
    ("reproduce", "full"): 15,
}  # they take long: not every change, but every so many


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    assert program(folder, *FIT).code == 0
    return folder


def _was_hit(folder: Path) -> bool:
    """Say whether the disk was full on the way."""
    mark = folder.with_name(f"{folder.name}.hit")
    there = mark.exists()
    mark.unlink(missing_ok=True)
    return there


@pytest.mark.parametrize("fault", ["kill", "full"])
@pytest.mark.parametrize("name", list(JOBS))
def test_a_job_goes_on_after_every_fault(
    trained: Path, tmp_path: Path, monkeypatch, report, name: str, fault: Fault
):
    job, folder = JOBS[name], tmp_path / "job"
    monkeypatch.setenv("UNBRAID_CACHE", str(folder / "cache"))
    furnish(folder, job, trained)
    assert program(folder, *job.words).code == 0
    wanted = job.result(folder)
    faults = 0
    for number in range(1, MOST, STEPS.get((name, fault), 1)):
        furnish(folder, job, trained)
        ended = program(folder, *job.words, prepare=inject(fault, number, folder))
        if ended.code == 0 and not _was_hit(folder):
            break
        faults += 1
        if fault == "full":
            assert ended.sentence or ended.code == 0, (number, ended)
        again = job.recover(folder)
        assert again.code == 0, (number, ended, again)
        assert job.result(folder) == wanted, number
        left = [path for path in snapshot(folder) if Path(path).name.startswith(".")]
        assert not [path for path in left if not path.endswith(".holder.json")], (number, left)
    else:
        raise AssertionError("a small job should make fewer changes")
    report(f"faults, {fault}, {name}: {faults}")
