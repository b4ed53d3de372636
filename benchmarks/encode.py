"""Memory and speed of `unbraid encode` over the number of sequences.

    python -m benchmarks.encode [--counts 10000 100000] [--formats npz parquet] [--devices 1]

trains a tiny model for two steps, writes random videos (N, 8, 3, 16, 16) to a memory-mapped file
for every N, encodes each of them in a process of its own, to `.npz` and to Parquet, and prints one
JSON object per line: `peak_mb` (VmHWM; with several processes, that of the largest), `seconds` from
call to return, imports apart, and their `sequences_per_second`, `file_mb`.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.worker import memory
from benchmarks.workers import environment

FRAME = (3, 16, 16)
LENGTH = 8
FORMATS = ("npz", "parquet")
SETTINGS = {
    "method": {
        "static_dim": 64,
        "dynamic_dim": 16,
        "net": {"channels": [16, 32], "features": 64, "hidden": 64},
    },
    "training": {"steps": 2, "batch_size": 32},
}


def make_videos(folder: Path, count: int) -> Path:
    """Write random videos to a file, unless it is there, and return its path."""
    path = folder / f"videos-{count}.npy"
    if not path.is_file():
        x = np.lib.format.open_memmap(path, "w+", np.uint8, (count, LENGTH, *FRAME))
        rng = np.random.default_rng(count)
        for start in range(0, count, 1000):
            some = x[start : start + 1000]
            some[:] = rng.integers(0, 256, some.shape, np.uint8)
        x.flush()
    return path


def measure(run: Path, videos: Path, out: Path, devices: int) -> dict[str, Any]:
    """Encode a file as the command does; return the facts. To be called in a new process."""
    from unbraid.workflows.export import EncodeConfig, encode
    from unbraid.workflows.export.use import Source

    began = time.perf_counter()
    paths = encode(run, Source(file=str(videos)), out, config=EncodeConfig(devices=devices))
    seconds = time.perf_counter() - began
    count = len(np.load(videos, mmap_mode="r"))
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000
    return {
        "sequences": count,
        "format": out.suffix,
        "devices": devices,
        "peak_mb": round(max(1000 * memory("VmHWM"), children if devices > 1 else 0)),
        "seconds": round(seconds, 1),
        "sequences_per_second": round(count / seconds),
        "file_mb": round(sum(path.stat().st_size for path in paths) / 1e6),
    }


def table(
    counts: Sequence[int], folder: Path, *, formats: Sequence[str] = FORMATS, devices: int = 1
) -> Iterator[dict[str, Any]]:
    """Yield one row per number of sequences and format."""
    from unbraid.training.fit import fit

    small = make_videos(folder, 64)
    run = fit(str(small), "dsvae", preset="none", settings=SETTINGS, out=folder / "runs").path
    for suffix in formats:
        for count in counts:
            videos = make_videos(folder, count)
            words = {
                "run": str(run),
                "videos": str(videos),
                "out": str(folder / f"codes.{suffix}"),
                "devices": devices,
            }
            command = [sys.executable, "-m", "benchmarks.encode", "--one", json.dumps(words)]
            done = subprocess.run(
                command, stdout=subprocess.PIPE, text=True, check=True, env=environment()
            )
            yield json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Print the table as JSON lines."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--counts", nargs="*", type=int, default=[10_000, 100_000])
    parser.add_argument("--formats", nargs="*", choices=FORMATS, default=FORMATS)
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        job = json.loads(asked.one)
        paths = (Path(job[name]) for name in ("run", "videos", "out"))
        print(json.dumps(measure(*paths, job["devices"])), flush=True)
        return
    with tempfile.TemporaryDirectory(prefix="unbraid-bench-") as folder:
        rows = table(asked.counts, Path(folder), formats=asked.formats, devices=asked.devices)
        for row in rows:
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
