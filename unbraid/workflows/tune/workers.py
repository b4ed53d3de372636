"""Several processes on one study."""

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from unbraid.parallel.pool import INTERRUPTED, run_jobs
from unbraid.workflows.tune.report import line
from unbraid.workflows.tune.search import Search, enter, read_search
from unbraid.workflows.tune.study import Study

SECONDS_BETWEEN_CHECKS = 0.5


def run_workers(
    study: Study,
    search: Search,
    *,
    trials: int,
    workers: int,
    device: str,
    say: Callable[[str], None],
) -> bool:
    """Start processes that work on a study and wait for them; return False if interrupted.

    Each has one thread: more threads than cores are several times slower. What a process says goes
    to `worker-<k>.log` in the study's folder.
    """
    reported = {trial.number for trial in study.trials if trial.state.is_finished()}
    codes: dict[int, int] = {}
    try:
        run_jobs(
            range(workers),
            partial(_work, folder=study.folder, trials=trials, device=device),
            workers=workers,
            done=codes.__setitem__,
            check=lambda running, waiting: _report_new(study, search, reported, say),
            seconds=SECONDS_BETWEEN_CHECKS,
        )
    except KeyboardInterrupt:
        return False
    finally:
        _report_new(study, search, reported, say)
    for k, code in codes.items():
        if code:
            log = study.folder / f"worker-{k}.log"
            last = log.read_text(encoding="utf-8").strip().rpartition("\n")[2]
            raise ValueError(f"a worker broke off: {last or code} (see {log})")
    return True


def _report_new(
    study: Study, search: Search, reported: set[int], say: Callable[[str], None]
) -> None:
    for trial in study.trials:
        if trial.state.is_finished() and trial.number not in reported:
            reported.add(trial.number)
            say(line(trial, study, search))


def _work(k: int, *, folder: Path, trials: int, device: str) -> int:
    """Work on the study of a folder; stop when the starting process is gone."""
    from unbraid.workflows.tune.tuning import work

    with (folder / f"worker-{k}.log").open("wb") as log:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
            os.dup2(log.fileno(), stream.fileno())
    parent, search = os.getppid(), read_search(folder)
    ended = work(
        enter(search, folder),
        search,
        trials=trials,
        device=device,
        go_on=lambda: os.getppid() == parent,
    )
    return 0 if ended else INTERRUPTED
