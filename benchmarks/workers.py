"""Measurements in processes of their own, which take turns.

Each process does one thing, so peaks of memory do not mix; they take turns, so that a slow minute
of the machine hits all of them alike and ratios stay true.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

ROOT = Path(__file__).parents[1]
SHORTEST = 0.3  # seconds a turn should last at least
WARM = 2  # turns that do not count


def environment() -> dict[str, str]:
    """Return the environment in which `python -m benchmarks...` works from any folder."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return os.environ | {"PYTHONPATH": path, "PYTHONWARNINGS": "ignore"}


class WorkerError(Exception):
    """A measurement failed; the text says why."""


class Worker:
    """One measurement: a job, its turns, its peak of memory."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        self.scratch = tempfile.TemporaryDirectory(prefix="unbraid-bench-")
        self.job = {**job, "scratch": self.scratch.name}
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 closed by `kill`
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.worker", json.dumps(self.job)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            env=environment(),
        )
        self.turns: list[dict[str, Any]] = []
        self.times = 1
        self.peak = self.floor = 0.0

    def ready(self) -> bool:
        """Wait until it can start; False if it has nothing to measure."""
        return "ready" in self._hear()

    def turn(self) -> dict[str, Any]:
        """Let it do one turn and return what it tells."""
        facts = self._ask(self.times)
        facts["each"] = facts["seconds"] / self.times
        self.turns.append(facts)
        return facts

    def warm_up(self) -> float:
        """Take turns that do not count, choose how long one shall be; return its seconds."""
        for _ in range(WARM):
            each = self.turn()["each"]
            self.times = max(1, min(1000, round(SHORTEST / max(each, 1e-6))))
            if each > 20 * SHORTEST:  # a long step is warm after one
                break
        self.turns.clear()
        return each * self.times

    def end(self) -> None:
        """Ask for its memory and let it go."""
        if self.process.poll() is None:
            facts = self._ask(0)
            self.peak, self.floor = facts["peak"], facts["floor"]
        self.kill()

    def kill(self) -> None:
        """End the process and remove its files."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.errors):
            stream.close()  # type: ignore[union-attr]
        self.scratch.cleanup()

    def median(self, name: str) -> float:
        """Return the median of a fact over the turns."""
        return statistics.median(turn[name] for turn in self.turns)

    @property
    def sequences_per_second(self) -> float:
        """Median over the turns."""
        return statistics.median(turn["sequences"] / turn["seconds"] for turn in self.turns)

    @property
    def waiting(self) -> float:
        """Share of all turns that training waited for data."""
        return sum(t["waited"] for t in self.turns) / sum(t["seconds"] for t in self.turns)

    def _ask(self, times: int) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{times}\n")
        self.process.stdin.flush()
        return self._hear()

    def _hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            self.errors.seek(0)
            last = self.errors.read().strip().splitlines()[-1:] or ["no reason given"]
            raise WorkerError(f"{self.job['kind']} ended early: {last[0]}")
        facts = json.loads(line)
        if "error" in facts:
            raise WorkerError(facts["error"])
        return facts


class Team:
    """Workers that take turns; ended together, also when one of them fails."""

    def __init__(self, *workers: Worker) -> None:
        self.workers = list(workers)

    def __enter__(self) -> "Team":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for worker in self.workers:
            worker.kill() if error else worker.end()

    def measure(self, *, seconds: float, rounds: tuple[int, int]) -> None:
        """Take turns for about so many seconds, but so many rounds at least and at most."""
        for worker in list(self.workers):
            if not worker.ready():
                worker.kill()
                self.workers.remove(worker)
        lap = sum(worker.warm_up() for worker in self.workers)
        fewest, most = rounds
        for _ in range(max(fewest, min(most, round(seconds / lap)))):
            for worker in self.workers:
                worker.turn()
