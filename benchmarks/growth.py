"""How cost grows with the length T, the batch, the number of sequences N and the code sizes.

The exponent is the slope of a straight line through (log size, log cost): 1 is linear, 0 is flat.
Seconds also hold what does not grow, so their exponent may lie below that of the operations.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed import Effort, Row, count
from benchmarks.workers import Team, Worker

FRAMES = {"video": (3, 64, 64), "audio": (80,), "series": (4, 10)}
PRESETS = {"video": "sprites/fast", "audio": "timit/fast", "series": "series"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A size that grows, and everything else, which does not."""

    name: str
    sizes: tuple[int, ...]
    kind: str = "video"
    batch: int = 8
    length: int = 8
    sequences: int = 128

    @property
    def preset(self) -> str:
        """Whose networks are measured."""
        return PRESETS[self.kind]

    @property
    def title(self) -> str:
        """What grows, for a heading."""
        return f"{LABELS[self.name]}, {self.kind}"

    def job(self, size: int, method: str, folder: Path) -> Row:
        """Return the job at one size; its sequences are made if they are not there."""
        at = {"batch": self.batch, "length": self.length, "sequences": self.sequences}
        at |= {self.name: size} if self.name in at else {}
        codes = {"static_dim": 4 * size, "dynamic_dim": size} if self.name == "codes" else {}
        return {
            "method": method,
            "preset": self.preset,
            "length": at["length"],
            "settings": codes,
            "training": {"batch_size": at["batch"]},
            "file": str(make_sequences(folder, self.kind, at["sequences"], at["length"])),
        }


CURVES = (
    Curve(name="length", sizes=(8, 16, 32, 64, 128), sequences=32),
    Curve(name="batch", sizes=(8, 16, 32, 64, 128)),
    Curve(name="sequences", sizes=(500, 2000, 8000), batch=16),
    Curve(name="codes", sizes=(16, 32, 64, 128)),
    Curve(name="length", sizes=(20, 100, 300, 1000), kind="audio", sequences=16),
    Curve(name="length", sizes=(20, 100, 300, 1000), kind="series", sequences=16),
)
COSTS = {
    "gflop": "GFLOP per step",
    "seconds": "seconds per step",
    "peak_gb": "peak GB",
    "work_gb": "peak GB beyond the model and a batch",
    "epoch_seconds": "seconds per epoch",
}
LABELS = {"length": "T", "batch": "batch", "sequences": "N", "codes": "D (S = 4 D)"}


def make_sequences(folder: Path, kind: str, sequences: int, length: int) -> Path:
    """Write random sequences to a file, unless it is there, and return its path."""
    path = folder / f"{kind}-{sequences}x{length}.npy"
    if not path.is_file():
        shape, rng = (sequences, length, *FRAMES[kind]), np.random.default_rng(0)
        dtype = np.uint8 if kind == "video" else np.float32
        x = np.lib.format.open_memmap(path, "w+", dtype, shape)
        sizes = (min(32, sequences), *shape[1:])
        pixels = rng.integers(0, 256, sizes, np.uint8) if kind == "video" else None
        some = rng.normal(size=sizes) if pixels is None else pixels
        for start in range(0, sequences, len(some)):
            x[start : start + len(some)] = some[: sequences - start]
        x.flush()
    return path


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """Return the slope of log cost over log size.

    >>> round(exponent([1, 2, 4], [3, 12, 48]), 6)
    2.0
    """
    if min(costs) <= 0:
        return math.nan
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def grow(curve: Curve, method: str, effort: Effort, folder: Path) -> Row:
    """Measure one curve of one method; all its sizes take turns."""
    jobs = [curve.job(size, method, folder) for size in curve.sizes]
    counted = count(jobs) if curve.kind == "video" else []
    workers = [Worker({**job, "kind": "train"}) for job in jobs]
    with Team(*workers) as team:
        team.measure(seconds=effort.seconds, rounds=effort.rounds)
    costs = {
        "seconds": [worker.median("each") for worker in workers],
        "peak_gb": [worker.peak for worker in workers],
        "work_gb": [worker.peak - worker.floor for worker in workers],
    }
    if counted:  # operations of LSTMs, of which the others are made, are not counted
        costs = {"gflop": [row["gflop"] for row in counted]} | costs
    if curve.name == "sequences":
        steps = [size // curve.batch for size in curve.sizes]
        costs["epoch_seconds"] = [n * t for n, t in zip(steps, costs["seconds"], strict=True)]
    return {
        "method": method,
        "preset": curve.preset,
        "over": curve.name,
        "sizes": list(curve.sizes),
        **costs,
        "exponents": {name: exponent(curve.sizes, values) for name, values in costs.items()},
    }


def shorter(curve: Curve) -> Curve:
    """Return the curve with its first, a middle and its last size."""
    return replace(
        curve, sizes=(curve.sizes[0], curve.sizes[len(curve.sizes) // 2], curve.sizes[-1])
    )


def lines(row: Mapping[str, Any]) -> list[Row]:
    """Return the lines of a printed table, one per cost."""
    return [
        {
            "method": row["method"],
            "cost": COSTS[name],
            f"{LABELS[row['over']]}: cost": ", ".join(
                f"{size}: {cost:.3g}" for size, cost in zip(row["sizes"], row[name], strict=True)
            ),
            "exponent": f"{round(slope, 2) + 0.0:.2f}",
        }
        for name, slope in row["exponents"].items()
    ]
