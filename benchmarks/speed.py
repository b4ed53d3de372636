"""Sequences per second, memory and waiting, beside what the machine can do in the same minutes."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.workers import Team, Worker, WorkerError, environment

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How long to measure: seconds in turns, rounds at least and at most."""

    seconds: float = 12.0
    rounds: tuple[int, int] = (3, 12)


QUICK = Effort(seconds=3.0, rounds=(2, 5))


def count(jobs: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Return the GFLOP of jobs, counted in a process of its own: this one stays small."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.flops", "--jobs", json.dumps(list(jobs))],
        capture_output=True,
        text=True,
        env=environment(),
    )
    if done.returncode:
        raise WorkerError(f"counting failed: {done.stderr.strip().splitlines()[-1]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def about(job: Mapping[str, Any], counted: Row) -> Row:
    """Return what an adapter is told."""
    sizes = {name: counted[name] for name in ("batch", "static_dim", "dynamic_dim")}
    named = {name: job[name] for name in ("method", "preset")}
    return {**named, **sizes, "length": 8, "frame": [3, 64, 64], "size": job["size"]}


def check_baseline(folder: str) -> None:
    """Let an adapter do a little of everything, before anything is measured.

    Raises:
        WorkerError: says what is wrong.
    """
    told = {
        "method": "dbse",
        "preset": "sprites/fast",
        "batch": 2,
        "length": 8,
        "frame": [3, 64, 64],
        "static_dim": 256,
        "dynamic_dim": 64,
        "size": 100,
    }
    for verb in ("train_step", "encode"):
        job = {"kind": "baseline", "verb": verb, "baseline": folder, "about": told}
        worker = Worker(job)
        try:
            if worker.ready():
                worker.turn()
        finally:
            worker.kill()


def measure(job: Mapping[str, Any], counted: Row, effort: Effort, baseline: str = "") -> Row:
    """Return one row: training and encoding of a method with a preset.

    Args:
        job: method, preset, data, file, size.
        counted: the row of `count` for it.
        effort: how long to measure.
        baseline: a folder with an adapter to be timed in turns with ours, or "".
    """
    told = {"baseline": baseline, "about": about(job, counted)}
    row: Row = {
        "method": job["method"],
        "preset": job["preset"],
        "precision": job["precision"],
        "batch": counted["batch"],
        "gflop_per_step": round(counted["gflop"], 2),
        "gflop_recurrent": round(counted["recurrent"], 2),  # not among them
    }
    theirs: list[Worker] = []
    for kind, verb in (("train", "train_step"), ("encoding", "encode")):
        ours, plain = Worker({**job, "kind": kind}), Worker({"kind": "kernels"})
        other = [Worker({"kind": "baseline", "verb": verb, **told})] if baseline else []
        with Team(plain, ours, *other) as team:
            team.measure(seconds=effort.seconds, rounds=effort.rounds)
        theirs += [worker for worker in other if worker.turns]
        row |= _training(ours, plain, counted) if kind == "train" else _encoding(ours)
    return row | (_compare(row, theirs) if len(theirs) == 2 else {})


def _training(ours: Worker, plain: Worker, counted: Row) -> Row:
    reached = counted["gflop"] / ours.median("each")
    matmul, convolution = plain.median("matmul"), plain.median("convolution")
    return {
        "train_seq_s": ours.sequences_per_second,
        "step_s": ours.median("each"),
        "train_peak_gb": ours.peak,
        "waiting": ours.waiting,
        "gflop_s": reached,
        "matmul_gflop_s": matmul,
        "convolution_gflop_s": convolution,
        "of_matmul": reached / matmul,
        "of_convolution": reached / convolution,
    }


def _encoding(ours: Worker) -> Row:
    return {"encode_seq_s": ours.sequences_per_second, "encode_peak_gb": ours.peak}


def _compare(row: Row, theirs: list[Worker]) -> Row:
    """Return the baseline's numbers and how many times ours is faster and smaller."""
    train, encode = theirs
    return {
        "baseline": train.turns[0]["name"],
        "baseline_train_seq_s": train.sequences_per_second,
        "baseline_encode_seq_s": encode.sequences_per_second,
        "baseline_train_peak_gb": train.peak,
        "train_ratio": row["train_seq_s"] / train.sequences_per_second,
        "encode_ratio": row["encode_seq_s"] / encode.sequences_per_second,
        "memory_ratio": row["train_peak_gb"] / train.peak,
    }


def waiting(jobs: Sequence[Mapping[str, Any]], effort: Effort) -> Iterator[Row]:
    """Yield, for jobs on other data sets, how fast training is and how long it waits for data."""
    for job in jobs:
        worker = Worker({**job, "kind": "train"})
        with Team(worker) as team:
            team.measure(seconds=effort.seconds / 4, rounds=effort.rounds)
        yield {
            "method": job["method"],
            "preset": job["preset"],
            "data": job["data"],
            "train_seq_s": worker.sequences_per_second,
            "step_s": worker.median("each"),
            "train_peak_gb": worker.peak,
            "waiting": worker.waiting,
        }
