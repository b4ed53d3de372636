"""Seconds of an optimiser's step and its share of a training step: ours, PyTorch's Muon, Adam.

`python -m benchmarks.optimizer`: all take turns in one process, medians are shown. Steps of ours
differ in cost, because large matrices take turns: a sample is the mean over a whole cycle. A
training step is forward and backward pass and the optimiser's step, without reading data. PyTorch's
Muon takes no convolutions and no vectors; here it gets convolutions as matrices, and a fused Adam
does the rest.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch.nn import Parameter

from benchmarks.run import find_data
from benchmarks.subjects import open_plan
from benchmarks.tables import machine, markdown
from unbraid.methods import find_method
from unbraid.precision import autocast, number_format
from unbraid.training.module import total
from unbraid.training.muon import TURNS, Muon

CPU = torch.device("cpu")
WARM = 3  # rounds that do not count


def copies(parameters: Iterable[Parameter], *, flat: bool = False) -> list[Parameter]:
    """Return parameters of the same values with the same gradients, flat ones as matrices."""
    results = []
    for p in parameters:
        assert p.grad is not None
        both = [t.flatten(1) if flat and t.ndim > 2 else t for t in (p.detach(), p.grad)]
        result = Parameter(both[0].clone())
        result.grad = both[1].clone()
        results.append(result)
    return results


def contestants(parameters: Sequence[Parameter]) -> dict[str, Callable[[], Any]]:
    """Return the step of every optimiser, each on parameters of its own."""
    ours, adam = copies(parameters), torch.optim.Adam(copies(parameters), fused=True)
    flat = copies(parameters, flat=True)
    matrices = torch.optim.Muon([p for p in flat if p.ndim == 2], lr=1e-4, weight_decay=0.0)
    vectors = torch.optim.Adam([p for p in flat if p.ndim < 2], lr=1e-4, fused=True)
    return {
        "ours": Muon(ours, lr=1e-4, matrix_lr=1e-4).step,
        "torch.optim.Muon": lambda: (matrices.step(), vectors.step()),
        "torch.optim.Adam": adam.step,
    }


def measure(job: dict[str, Any], rounds: int, clock: Callable[[], float]) -> dict[str, float]:
    """Return the median seconds of forward and backward pass and of every optimiser's step."""
    plan, corpus = open_plan(job)
    torch.manual_seed(0)
    method = find_method(plan.method)(corpus.spec, plan.method_config)
    batch = corpus.train.take(np.arange(min(plan.training.batch_size, len(corpus.train))))

    precision = number_format(plan.training.precision, CPU, corpus.spec.kind)

    def passes() -> None:
        method.zero_grad()
        with autocast(CPU, precision):
            terms = method.loss(batch, 1)
        total(terms).backward()

    passes()
    trained = [p for p in method.parameters() if p.grad is not None]
    acts = {"passes": passes} | contestants(trained)
    seconds: dict[str, list[float]] = {name: [] for name in acts}
    for _ in range(WARM + rounds):
        for name, act in acts.items():
            times = 1 if act is passes else TURNS
            began = clock()
            for _ in range(times):
                act()
            seconds[name].append((clock() - began) / times)
    return {name: statistics.median(values[WARM:]) for name, values in seconds.items()}


def rows_of(seconds: dict[str, float], **facts: Any) -> list[dict[str, Any]]:
    """Return one row for every optimiser."""
    passes = seconds["passes"]
    return [
        {
            **facts,
            "optimiser": name,
            "its ms": 1000 * value,
            "forward and backward ms": 1000 * passes,
            "share of the step": f"{value / (passes + value):.1%}",
        }
        for name, value in seconds.items()
        if name != "passes"
    ]


def main(words: Sequence[str] | None = None) -> int:
    """Measure with every number of threads, print one table."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--method", default="dsvae")
    parser.add_argument("--preset", default="sprites/fast")
    parser.add_argument("--data", default="sprites")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument(
        "--cpu-time", action="store_true", help="time of the processor: for busy machines, 1 thread"
    )
    asked = parser.parse_args(sys.argv[1:] if words is None else words)
    find_data()
    clock = time.process_time if asked.cpu_time else time.perf_counter
    job = {"method": asked.method, "preset": asked.preset, "data": asked.data}
    print(markdown([machine()]), end="\n\n")
    rows = []
    for threads in asked.threads:
        torch.set_num_threads(threads)
        rows += rows_of(measure(job, asked.rounds, clock), threads=threads)
    print(markdown(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
