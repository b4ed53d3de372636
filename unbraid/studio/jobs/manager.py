"""Start, stop and go on with trainings: each is a process of `unbraid fit`."""

import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbraid.studio.jobs.record import Record, State, birth, folder_of, read_records
from unbraid.studio.workspace import Workspace

if TYPE_CHECKING:
    from unbraid.runs.plan import Plan

MOST_RUNNING = 2  # trainings at once
CHECKPOINTS = 100  # steps between previews
MOST_SEEDS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRequest:
    """What somebody wants to train.

    Attributes:
        data: a data set, or a path that was checked.
        method: a name of the catalogue; empty: the recommended one.
        minutes: of training at most; 0: as the recipe says.
        sets: settings such as `method.static_dim=64`.
    """

    data: str
    method: str = ""
    minutes: float = 0.0
    sets: tuple[str, ...] = ()


class Jobs:
    """The trainings of a folder of runs."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.runs = workspace.places.runs

    def all(self) -> list[dict[str, Any]]:
        """Return all trainings with their state."""
        return [self.facts(record) for record in read_records(self.runs).values()]

    def find(self, word: str) -> Record:
        """Return a training, or say that it is not there."""
        records = read_records(self.runs)
        if word not in records:
            raise KeyError(f"there is no training '{word[:40]}' here.")
        return records[word]

    def facts(self, record: Record) -> dict[str, Any]:
        """Return what the page is told of a training."""
        entry = self.workspace.add_run(Path(record.run)) if _has_run(record) else None
        state = self.state(record)
        return {
            "id": record.id,
            "data": record.data,
            "title": Path(record.data).name,
            "method": record.method,
            "state": state,
            "error": self._last_line(record) if state == "failed" else "",
            "began": record.began,
            "run": record.run,
            "key": entry.key if entry else "",
        }

    def state(self, record: Record) -> State:
        """Return whether it runs, and how it ended."""
        if record.is_running:
            return "running"
        from unbraid.runs.run import Run

        try:
            training = Run(Path(record.run)).about["training"]
        except ValueError:
            training = {}
        if training.get("finished"):
            return "finished"
        if "Error" in self._last_line(record):
            return "failed"
        return "stopped" if _has_run(record) else "failed"

    def start(self, request: TrainingRequest) -> Record:
        """Begin a training.

        Raises:
            ValueError: a setting is wrong, or too many trainings run.
        """
        self._check_room()
        plan = _planned(request)
        seed, folder = _free_folder(self.runs, plan)
        words = [
            request.data,
            "--out",
            str(self.runs),
            "--seed",
            str(seed),
            "--method",
            plan.method,
        ]
        words += ["--set", f"training.checkpoint_every={CHECKPOINTS}"]
        if request.minutes:
            words += ["--max-minutes", f"{request.minutes:g}"]
        for setting in request.sets:
            words += ["--set", setting]
        name = f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}"
        return self._launch(name, words, (request.data, plan.method, folder))

    def stop(self, record: Record) -> None:
        """Ask a training to stop after its present step; its state is kept."""
        if record.is_running:
            os.kill(record.pid, signal.SIGTERM)

    def resume(self, record: Record, minutes: float = 0.0) -> Record:
        """Go on with a training that stopped; with minutes, its budget becomes longer."""
        if record.is_running:
            raise ValueError("this training runs already.")
        self._check_room()
        words = ["--resume", record.run]
        if minutes:
            words += ["--max-minutes", f"{minutes:g}"]
        return self._launch(record.id, words, (record.data, record.method, Path(record.run)))

    def _launch(self, name: str, words: list[str], about: tuple[str, str, Path]) -> Record:
        folder = folder_of(self.runs)
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "unbraid", "fit", *words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # it outlives the server
                env=os.environ | {"PYTHONUNBUFFERED": "1", "COLUMNS": "200"},
            )
        threading.Thread(target=process.wait, daemon=True).start()  # or it stays a zombie
        data, method, run = about
        record = Record(
            id=name,
            data=data,
            method=method,
            run=str(run.resolve()),
            pid=process.pid,
            born=birth(process.pid),
            began=time.time(),
        )
        record.write(self.runs)
        return record

    def _check_room(self) -> None:
        running = [one for one in read_records(self.runs).values() if one.is_running]
        if len(running) >= MOST_RUNNING:
            raise ValueError(f"{len(running)} trainings run already. Stop one, or wait.")

    def _last_line(self, record: Record) -> str:
        path = folder_of(self.runs) / f"{record.id}.log"
        try:
            with path.open("rb") as file:
                file.seek(max(0, path.stat().st_size - 2000))
                lines = file.read().decode("utf-8", "replace").strip().splitlines()
        except OSError:
            return ""
        return lines[-1] if lines else ""


def _has_run(record: Record) -> bool:
    return (Path(record.run) / "config.toml").is_file()


def _planned(request: TrainingRequest) -> "Plan":
    """Return the plan of a request: whatever is wrong with it is said before a process starts."""
    from unbraid.runs.plan import make_plan
    from unbraid.settings import parse_sets

    return make_plan(request.data, request.method or None, settings=parse_sets(list(request.sets)))


def _free_folder(runs: Path, plan: "Plan") -> tuple[int, Path]:
    """Return the first seed whose run folder is not there, and that folder."""
    from dataclasses import replace

    from unbraid.runs.run import run_folder

    for seed in range(MOST_SEEDS):
        folder = run_folder(runs, replace(plan, seed=seed))
        if not folder.exists():
            return seed, folder
    raise ValueError(f"{folder.parent} holds {MOST_SEEDS} runs already. Delete some.")
