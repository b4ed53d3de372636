"""Several processes on one study; `python -m unbraid.workflows.tune.workers` is one of them."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from unbraid.parallel.signals import end_with_parent, handed_on
from unbraid.workflows.tune.report import line
from unbraid.workflows.tune.search import Search, enter, read_search
from unbraid.workflows.tune.study import Study

SECONDS_BETWEEN_LOOKS = 0.5


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
    told = {trial.number for trial in study.trials if trial.state.is_finished()}
    processes = [_start(study.folder, k, trials, device) for k in range(workers)]
    with handed_on(partial(_stop_all, processes)) as signals:
        while any(process.poll() is None for process in processes):
            time.sleep(SECONDS_BETWEEN_LOOKS)
            _tell_new(study, search, told, say)
    _tell_new(study, search, told, say)
    if signals:
        return False
    for k, process in enumerate(processes):
        if process.returncode:
            log = study.folder / f"worker-{k}.log"
            last = log.read_text(encoding="utf-8").strip().rpartition("\n")[2]
            raise ValueError(f"a worker broke off: {last or process.returncode} (see {log})")
    return True


def _start(folder: Path, k: int, trials: int, device: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "unbraid.workflows.tune.workers"]
    words = [str(folder), str(trials), device, str(os.getpid())]
    with (folder / f"worker-{k}.log").open("wb") as log:
        return subprocess.Popen(
            [*command, *words],
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C reaches the starting process alone, which hands it on
        )


def _tell_new(study: Study, search: Search, told: set[int], say: Callable[[str], None]) -> None:
    for trial in study.trials:
        if trial.state.is_finished() and trial.number not in told:
            told.add(trial.number)
            say(line(trial, study, search))


def _stop_all(processes: "list[subprocess.Popen[bytes]]", number: int) -> None:
    """Stop processes politely, whatever the signal, unless it is an order to end."""
    for process in processes:
        if process.poll() is None:
            process.send_signal(number if number == signal.SIGKILL else signal.SIGTERM)


def main(folder: str, trials: str, device: str, parent: str) -> int:
    """Work on the study of a folder; stop when the starting process is gone."""
    from unbraid.workflows.tune.tuning import work

    end_with_parent(int(parent))
    search = read_search(Path(folder))
    study = enter(search, Path(folder))
    ended = work(
        study,
        search,
        trials=int(trials),
        device=device,
        go_on=lambda: os.getppid() == int(parent),
    )
    return 0 if ended else 130


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
