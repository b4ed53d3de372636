"""The worker pool: jobs in processes of their own, each with one thread, stopped together.

Not `concurrent.futures`: a job here is a training that must keep its state when it is stopped, so
every process gets SIGTERM and is waited for, and one that is killed does not break the others.
"""

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

from unbraid.parallel.signals import end_with_parent, handled

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
SECONDS_BETWEEN_CHECKS = 2.0
INTERRUPTED = 130  # exit code of a job that was stopped and kept its state
J = TypeVar("J")


def run_jobs(
    jobs: Sequence[J],
    work: Callable[[J], int],
    *,
    workers: int,
    done: Callable[[J, int], None],
    check: Callable[[list[J], int], None] = lambda running, waiting: None,
    seconds: float = SECONDS_BETWEEN_CHECKS,
) -> None:
    """Do jobs in `workers` processes at a time; Ctrl-C and SIGTERM stop all of them.

    Args:
        jobs: what to do; must be picklable.
        work: does one job and returns its exit code; a function of a module.
        workers: how many processes at a time.
        done: called with every job that ended and the exit code of its process.
        check: called with the running jobs and the number that wait, every few seconds.
        seconds: how often.

    Raises:
        KeyboardInterrupt: it was stopped, or a job was.
    """
    queue, running = list(jobs), dict[Any, tuple[J, BaseProcess]]()
    with handled(signal.default_int_handler, signal.SIGTERM), _stopping(running):
        while queue or running:
            while queue and len(running) < workers:
                job = queue.pop(0)
                process = _start(work, job)
                running[process.sentinel] = (job, process)
            for sentinel in wait(list(running), seconds):
                job, process = running.pop(sentinel)
                process.join()
                code = process.exitcode or 0
                if code in (INTERRUPTED, -signal.SIGTERM):
                    raise KeyboardInterrupt
                done(job, code)
            check([job for job, _ in running.values()], len(queue))


def _start(work: Callable[[J], int], job: J) -> BaseProcess:
    """Start a process that has one thread from its first import on."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        process = multiprocessing.get_context("spawn").Process(target=_run, args=(work, job))
        process.start()
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            os.environ.update({} if value is None else {name: value})
    return process


def _run(work: Callable[[J], int], job: J) -> None:
    """Do one job in its process and end with its exit code."""
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)  # Ctrl-C reaches the starting process alone, which stops the others
    end_with_parent(os.getppid(), SECONDS_BETWEEN_CHECKS)
    try:
        code = work(job)
    except KeyboardInterrupt:
        code = INTERRUPTED
    sys.exit(code)


@contextmanager
def _stopping(running: dict[Any, tuple[J, BaseProcess]]) -> Iterator[None]:
    """However the work ends, let no process go on alone: each saves its state and stops."""
    try:
        yield
    finally:
        for _, process in running.values():
            process.terminate()
        try:
            for _, process in running.values():
                process.join()
        except KeyboardInterrupt:  # a second one is an order to end at once
            for _, process in running.values():
                process.kill()
            raise
