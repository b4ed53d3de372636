"""Runs side by side: each in a process of its own with one thread, so that small ones pay off."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from unbraid.files import write_text
from unbraid.parallel.pool import INTERRUPTED, run_jobs
from unbraid.safety.errors import EXPECTED
from unbraid.workflows.reproduce.runs import Outcome, SeedRun, do_job

SECONDS_BETWEEN_LINES = 60.0
CODES: dict[Outcome, int] = {"made": 0, "there": 3, "interrupted": INTERRUPTED}
FAILED = 1
Done = Callable[[SeedRun, str], None]
"""Told of every job that ended: "made", "there", or why it failed."""


def one_by_one(jobs: Sequence[SeedRun], done: Done, console: Any = None) -> None:
    """Do the jobs in this process, with all its threads.

    Raises:
        KeyboardInterrupt: training was stopped; its state is kept.
    """
    for job in jobs:
        try:
            outcome: str = do_job(job, console)
        except EXPECTED as error:
            outcome = _sentence(error)
        if outcome == "interrupted":
            raise KeyboardInterrupt
        done(job, outcome)


def side_by_side(
    jobs: Sequence[SeedRun], workers: int, done: Done, say: Callable[[str], None]
) -> None:
    """Do the jobs in `workers` processes with one thread each.

    Ctrl-C and SIGTERM are handed on: every run stops after its step and keeps its state.

    Raises:
        KeyboardInterrupt: it was stopped.
    """
    reported = time.monotonic()

    def check(running: list[SeedRun], waiting: int) -> None:
        nonlocal reported
        if running and time.monotonic() - reported > SECONDS_BETWEEN_LINES:
            reported = time.monotonic()
            say(f"at work: {'; '.join(map(str, running))} ({waiting} waiting)")

    def ended(job: SeedRun, code: int) -> None:
        done(job, _outcome(job, code))

    run_jobs(jobs, _work, workers=workers, done=ended, check=check)


def _work(job: SeedRun) -> int:
    """Do one job; how it went is told by the exit code, and by `failed.txt`."""
    note = job.path / "failed.txt"
    note.unlink(missing_ok=True)
    try:
        return CODES[do_job(job)]
    except EXPECTED as error:
        write_text(note, _sentence(error))
        return FAILED


def _outcome(job: SeedRun, code: int) -> str:
    """Return how a process with this exit code ended, in words."""
    for outcome, known in CODES.items():
        if code == known:
            return outcome
    note = job.path / "failed.txt"
    if code == FAILED and note.is_file():
        return note.read_text(encoding="utf-8")
    return f"its process ended with code {code}, perhaps for lack of memory, or see above."


def _sentence(error: BaseException) -> str:
    return str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
