"""Small jobs of every command that writes, how each goes on after a fault, and what it must give.

A job is done by `words`; after a fault by the same words, or by `again`. What counts is `result`:
everything but times.
"""

import csv
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.torture.harness import Ended, program

SMALL = (
    "method.static_dim=2",
    "method.dynamic_dim=2",
    "method.net.hidden=4",
    "training.steps=3",
    "training.batch_size=4",
    "training.log_every=1",
    "training.checkpoint_every=2",
    "training.validate_every=3",
    "training.precision=fp32",
)
DATA = ("data.train=12", "data.validation=3", "data.test=8", "data.windows=4")
RUN = Path("runs/toy-series/dsvae/0")
COMPARISON = """
title = "small"
data = "toy-series"
published = "none"
where = "nowhere"
seeds = 1
epochs = 1
sets = ["data.train=12", "data.validation=3", "data.test=8", "data.windows=4",
        "method.static_dim=2", "method.dynamic_dim=2", "method.net.hidden=4",
        "training.checkpoint_every=1", "training.precision=fp32"]
repeats = 1
paper = { text = "as it is" }
rows = [{ name = "first", label = "DSVAE", method = "dsvae", preset = "none" }]
metrics = [{ name = "error", better = "down", by = "reconstruction" }]
"""


def sets(*words: str) -> list[str]:
    """Return settings as words of the command line."""
    return [part for word in words for part in ("--set", word)]


FIT = ["fit", "toy-series", "-m", "dsvae", "--out", "runs", *sets(*SMALL, *DATA)]


@dataclass(frozen=True)
class Job:
    """A command, what it needs, and what it must give."""

    words: list[Any]
    result: Callable[[Path], Any]
    needs_run: bool = False
    again: Callable[[Path], list[Any]] | None = None

    def recover(self, folder: Path) -> Ended:
        """Go on after a fault."""
        words = self.words if self.again is None else self.again(folder)
        return program(folder, *words)


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return [{k: v for k, v in row.items() if k != "minutes"} for row in csv.DictReader(file)]


def _fitted(folder: Path) -> Any:
    run = folder / RUN
    about = json.loads((run / "model.json").read_text())
    return (
        (run / "model.safetensors").read_bytes(),
        _rows(run / "log.csv"),
        _rows(run / "validation.csv"),
        (run / "splits.csv").read_bytes(),
        (run / "config.toml").read_bytes(),
        about["training"]["steps"],
        about["spec"],
    )


def _fit_again(folder: Path) -> list[Any]:
    return ["fit", "--resume", RUN] if (folder / RUN / "config.toml").is_file() else FIT


def _prepared(folder: Path) -> Any:
    (made,) = (folder / "cache").glob("hard-sprites-*")
    about = json.loads((made / "cache.json").read_text())
    return {name: facts["sha256"] for name, facts in about["arrays"].items()}


def _measured(folder: Path) -> Any:
    return json.loads((folder / RUN / "metrics.json").read_text())


def _reported(folder: Path) -> Any:
    page = (folder / RUN / "report.html").read_text()
    assert page.rstrip().endswith("</html>")
    return _measured(folder)


def _encoded(folder: Path) -> Any:
    assert not (folder / "codes.npz.parts").exists()
    return (folder / "codes.npz").read_bytes()


def _tuned(folder: Path) -> Any:
    return _rows(folder / "tuned" / "toy-series" / "dsvae" / "trials.csv")


def _reproduced(folder: Path) -> Any:
    scores = json.loads((folder / "made" / "mine" / "first" / "0" / "scores.json").read_text())
    weights = (folder / "made" / "mine" / "first" / "0" / "model.safetensors").read_bytes()
    json.loads((folder / "made" / "mine" / "results.json").read_text())
    return scores["scores"], weights


HARD = sets("data.train=4", "data.validation=2", "data.test=2")
JOBS = {
    "fit": Job(FIT, _fitted, again=_fit_again),
    "prepare": Job(["data", "check", "hard-sprites", *HARD], _prepared),
    "evaluate": Job(["evaluate", RUN], _measured, needs_run=True),
    "report": Job(["report", RUN], _reported, needs_run=True),
    "encode": Job(["encode", RUN, "--batch-size", 2, "--out", "codes.npz"], _encoded, True),
    "tune": Job(
        [
            "tune",
            "toy-series",
            "-m",
            "dsvae",
            "--trials",
            2,
            "--out",
            "tuned",
            *sets(*SMALL, *DATA),
        ],
        _tuned,
    ),
    "reproduce": Job(["reproduce", "mine.toml", "--out", "made"], _reproduced),
}


def furnish(folder: Path, job: Job, trained: Path) -> Path:
    """Return a folder with what a job needs."""
    import shutil

    shutil.rmtree(folder, ignore_errors=True)
    if job.needs_run:
        shutil.copytree(trained, folder)
    else:
        folder.mkdir(parents=True)
    (folder / "mine.toml").write_text(COMPARISON)
    return folder
