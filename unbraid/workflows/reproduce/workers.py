"""Runs side by side: each in a process of its own with one thread, so that small ones pay off."""

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any

from unbraid.files import write_text
from unbraid.parallel.launch import TOLD
from unbraid.parallel.signals import end_with_parent, handled
from unbraid.workflows.reproduce.runs import Outcome, SeedRun, do_job

SECONDS_BETWEEN_LINES = 60.0
SECONDS_BETWEEN_LOOKS = 2.0
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
CODES: dict[Outcome, int] = {"made": 0, "there": 3, "interrupted": 130}
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
        except TOLD as error:
            outcome = _sentence(error)
        if outcome == "interrupted":
            raise KeyboardInterrupt
        done(job, outcome)


def side_by_side(
    jobs: Sequence[SeedRun], workers: int, done: Done, say: Callable[[str], None]
) -> None:
    """Do the jobs in `workers` processes with one thread each.

    Ctrl-C and a polite kill are handed on: every run stops after its step and keeps its state.

    Raises:
        KeyboardInterrupt: it was stopped.
    """
    queue, running = list(jobs), dict[Any, tuple[SeedRun, BaseProcess]]()
    said = time.monotonic()
    # A polite kill does what Ctrl-C does.
    with handled(signal.default_int_handler, signal.SIGTERM), _stopping(running):
        while queue or running:
            while queue and len(running) < workers:
                job = queue.pop(0)
                process = _start(job)
                running[process.sentinel] = (job, process)
            for sentinel in wait(list(running), SECONDS_BETWEEN_LOOKS):
                job, process = running[sentinel]
                process.join()
                del running[sentinel]
                done(job, _outcome(job, process))
            if running and time.monotonic() - said > SECONDS_BETWEEN_LINES:
                said = time.monotonic()
                names = "; ".join(str(job) for job, _ in running.values())
                say(f"at work: {names} ({len(queue)} waiting)")


def _start(job: SeedRun) -> BaseProcess:
    """Start a process that has one thread from its first import on."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        process = multiprocessing.get_context("spawn").Process(target=_work, args=(job,))
        process.start()
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            os.environ.update({} if value is None else {name: value})
    return process


def _work(job: SeedRun) -> None:
    """Do one job; how it went is told by the exit code, and by `failed.txt`."""
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)  # Ctrl-C reaches the starting process alone, which hands it on
    end_with_parent(os.getppid(), SECONDS_BETWEEN_LOOKS)
    note = job.path / "failed.txt"
    note.unlink(missing_ok=True)
    try:
        code = CODES[do_job(job)]
    except TOLD as error:
        write_text(note, _sentence(error))
        code = FAILED
    except KeyboardInterrupt:
        code = CODES["interrupted"]
    sys.exit(code)


def _outcome(job: SeedRun, process: BaseProcess) -> str:
    """Return how a process ended, in words.

    Raises:
        KeyboardInterrupt: it was stopped from outside.
    """
    code = process.exitcode or 0
    if code in (CODES["interrupted"], -signal.SIGTERM):
        raise KeyboardInterrupt
    for outcome, known in CODES.items():
        if code == known:
            return outcome
    note = job.path / "failed.txt"
    if code == FAILED and note.is_file():
        return note.read_text(encoding="utf-8")
    return f"its process ended with code {code}, perhaps for lack of memory, or see above."


def _sentence(error: BaseException) -> str:
    return str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)


@contextmanager
def _stopping(running: dict[Any, tuple[SeedRun, BaseProcess]]) -> Iterator[None]:
    """However the work ends, let no process go on alone: each saves its state and stops."""
    try:
        yield
    finally:
        for _, process in running.values():
            process.terminate()
        for _, process in running.values():
            process.join()
