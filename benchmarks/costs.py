"""What a training step of every method costs beside one of dsvae: `python -m benchmarks.costs`.

CPU time of loss and gradient of a batch of 16, all methods in turn in one process of one thread,
medians. Every method has the preset `recommended` of the kind of data, so its own code sizes and
`decoded_steps`; `placed`, which has none, its defaults. The table is `unbraid/runs/costs.py`.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import torch

from unbraid.data.corpus import Corpus
from unbraid.methods import METHODS, make_method
from unbraid.records import Kind
from unbraid.runs.plan import make_plan
from unbraid.training.module import total

SETS: dict[Kind, str] = {"video": "toy-sprites", "audio": "toy-voices", "series": "toy-series"}
BATCH = 16
STEP = 10_000  # after every warm-up


def main() -> None:
    """Print a table for every kind of data."""
    parser = argparse.ArgumentParser(description="Measure what a step of every method costs.")
    parser.add_argument("--rounds", type=int, default=10)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    for kind, data in SETS.items():
        corpus = make_plan(data).data.load()
        names = [name for name, method in METHODS.items() if kind in method.kinds]
        steps = {name: _step(name, data, corpus) for name in names}
        seconds: dict[str, list[float]] = {name: [] for name in steps}
        for _ in range(rounds + 1):
            for name, step in steps.items():
                seconds[name].append(step())
        medians = {name: statistics.median(times[1:]) for name, times in seconds.items()}
        print(f"{kind}: dsvae {1000 * medians['dsvae']:.0f} ms of CPU")
        for name, median in medians.items():
            print(f"  {name:8} {median / medians['dsvae']:.1f}")


def _step(name: str, data: str, corpus: Corpus) -> Callable[[], float]:
    """Return what does one step of a method and tells its CPU seconds."""
    method = make_method(name, corpus.spec, make_plan(data, name).method_config)
    batch = next(corpus.train.batches(BATCH))

    def step() -> float:
        start = time.process_time()
        method.zero_grad()
        total(method.loss(batch, STEP)).backward()
        return time.process_time() - start

    return step


if __name__ == "__main__":
    main()
