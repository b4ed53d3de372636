"""The whole benchmark in one run: `make bench`, see README.md."""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import growth, speed
from benchmarks.choice import PRESETS, methods_of
from benchmarks.startup import start_up
from benchmarks.tables import BASELINE, SPEED, WAITING, machine, markdown
from benchmarks.workers import WorkerError

PARTS = ("startup", "speed", "waiting", "growth")
OUT = Path(__file__).parent / "out" / "bench.json"
OTHER_DATA = ("physionet",)


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Return the choices on the command line."""
    parser = argparse.ArgumentParser(prog="make bench", description=str(__doc__).splitlines()[0])
    parser.add_argument("--methods", nargs="*", default=[], help="all if none is named")
    parser.add_argument("--presets", nargs="*", default=[], help=f"usually {' '.join(PRESETS)}")
    parser.add_argument("--parts", nargs="*", default=list(PARTS), choices=PARTS)
    parser.add_argument("--precisions", nargs="*", default=[], choices=("fp32", "bf16"))
    parser.add_argument("--quick", action="store_true", help="sprites/fast, few and short turns")
    parser.add_argument("--baseline", default="", help="folder with an adapter.py to time beside")
    parser.add_argument("--out", type=Path, default=OUT, help="JSON file")
    return parser.parse_args(words)


class Bench:
    """One run: measures part after part, prints as it goes, keeps the numbers."""

    def __init__(self, asked: argparse.Namespace, folder: Path) -> None:
        self.asked, self.folder = asked, folder
        self.effort = speed.QUICK if asked.quick else speed.Effort()
        self.presets = asked.presets or (["sprites/fast"] if asked.quick else list(PRESETS))
        self.precisions = asked.precisions or (["fp32", "bf16"] if has_bf16() else ["fp32"])
        self.real = find_data()
        self.found: dict[str, Any] = {"machine": machine(), "quick": asked.quick}

    def startup(self) -> None:
        """Print how long the program takes to start."""
        self._tell("start-up")
        rows = self.found["startup"] = start_up()
        self._show("Start-up (seconds, median of 5)", markdown(rows))

    def speed(self) -> None:
        """Print FLOPs, speed, memory and waiting of every method and preset."""
        jobs = [
            self._job(method, preset) | {"precision": precision}
            for preset in self.presets
            for method in methods_of(preset, self.asked.methods)
            for precision in self.precisions
        ]
        self._tell("counting")
        rows = self.found["speed"] = []
        for job, counted in zip(jobs, speed.count(jobs), strict=True):
            self._tell(f"{job['method']}, {job['preset']}, {job['precision']}")
            rows.append(speed.measure(job, counted, self.effort, self.asked.baseline))
        kind = "real Sprites" if "sprites" in self.real else "synthetic videos"
        self._show(f"A training step on {kind}, and encoding", markdown(rows, SPEED))
        if self.asked.baseline:
            beside = [row for row in rows if "baseline" in row]
            self._show("Beside the baseline, in turns", markdown(beside, BASELINE))

    def waiting(self) -> None:
        """Print how long training waits for data on other real data sets."""
        names = [name for name in OTHER_DATA if name in self.real]
        jobs = [
            {"method": method, "preset": name, "data": name}
            for name in names
            for method in methods_of(name, self.asked.methods)
        ]
        self._tell(f"waiting for data: {', '.join(names) or 'no other real data here'}")
        rows = self.found["waiting"] = list(speed.waiting(jobs, self.effort))
        if rows:
            self._show("Waiting for data on other real data", markdown(rows, WAITING))

    def growth(self) -> None:
        """Print how cost grows with each size."""
        chosen = self.asked.methods or (["dbse"] if self.asked.quick else [])
        curves = [growth.shorter(c) for c in growth.CURVES] if self.asked.quick else growth.CURVES
        rows = self.found["growth"] = []
        for curve in curves:
            known = methods_of(curve.preset)
            grown = []
            for method in [m for m in known if not chosen or m in chosen]:
                self._tell(f"growth over {curve.title}: {method}")
                grown.append(growth.grow(curve, method, self.effort, self.folder))
            rows += grown
            lines = [line for row in grown for line in growth.lines(row)]
            self._show(f"Growth over {curve.title}", markdown(lines))

    def _job(self, method: str, preset: str) -> dict[str, Any]:
        job: dict[str, Any] = {"method": method, "preset": preset, "data": "sprites", "size": 8100}
        if "sprites" not in self.real:
            job["file"] = str(growth.make_sequences(self.folder, "video", 512, 8))
        return job

    def _tell(self, what: str) -> None:
        sys.stderr.write(f"... {what}\n")

    def _show(self, title: str, table: str) -> None:
        print(f"\n## {title}\n\n{table}", flush=True)
        self.asked.out.parent.mkdir(parents=True, exist_ok=True)
        self.asked.out.write_text(json.dumps(self.found, indent=1) + "\n", encoding="utf-8")


def has_bf16() -> bool:
    """Say whether this machine computes in bf16 natively."""
    import torch

    from unbraid.precision import native_bf16

    return native_bf16(torch.device("cpu"))


def find_data() -> list[str]:
    """Return the real data sets that are here: below UNBRAID_DATA, or ../shared/data."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    if beside.is_dir():
        os.environ.setdefault("UNBRAID_DATA", str(beside))
    root = Path(os.environ.get("UNBRAID_DATA", ""))
    folders = {"sprites": "sprites", "physionet": "physionet2012"}
    there = "UNBRAID_DATA" in os.environ
    return [name for name, folder in folders.items() if there and (root / folder).is_dir()]


def main(words: Sequence[str] | None = None) -> int:
    """Run it; a mistake in what was asked ends in one sentence and code 2."""
    asked = parse(sys.argv[1:] if words is None else words)
    try:
        if asked.baseline:
            speed.check_baseline(asked.baseline)
        with tempfile.TemporaryDirectory(prefix="unbraid-bench-") as folder:
            bench = Bench(asked, Path(folder))
            print(markdown([bench.found["machine"]]))
            for part in asked.parts:
                getattr(bench, part)()
    except (WorkerError, ValueError) as error:
        sys.stderr.write(f"Error: {error}\n")
        return 2
    sys.stderr.write(f"numbers: {asked.out}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
