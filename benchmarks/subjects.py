"""What is timed: our training as `unbraid fit` does it, our encoding, a baseline, plain kernels."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightning
import numpy as np
import torch
from torch.nn import functional as F

from benchmarks.baseline import call, load_baseline
from unbraid.data.corpus import Corpus, Split
from unbraid.evaluation.manipulate import embed
from unbraid.methods import find_method
from unbraid.precision import inference_precision
from unbraid.records import Kind, Spec
from unbraid.runs.plan import Plan, make_plan
from unbraid.training.fit import run_plan

Turn = Callable[[int], dict[str, Any]]
"""Do something n times; return facts such as `seconds`."""
ENDLESS = {"steps": 10**9, "validate_every": 10**9, "checkpoint_every": 10**9, "max_minutes": 0.0}


def open_plan(job: dict[str, Any]) -> tuple[Plan, Corpus]:
    """Return the plan and the data of a job: a data set by name, or a file of synthetic videos."""
    precision = {"precision": job["precision"]} if "precision" in job else {}
    training = ENDLESS | precision | job.get("training", {})
    settings = {"training": training, "method": job.get("settings", {})}
    if job["method"] == "spyl":  # its warm-up leaves out what costs most
        settings["method"] = {"warmup_steps": 0} | settings["method"]
    named = {"preset": job["preset"], "settings": settings}
    if not job.get("file"):
        plan = make_plan(job["data"], job["method"], **named)
        return plan, plan.data.load()
    corpus = open_sequences(job["file"])
    return make_plan("synthetic", job["method"], kind=corpus.spec.kind, **named), corpus


def open_sequences(path: str) -> Corpus:
    """Return a `.npy` file as a corpus, memory-mapped.

    Videos (N, T, C, H, W) are uint8; audio (N, T, F) and series (N, T, W, F) are floats.
    """
    x = np.load(path, mmap_mode="r")
    kind: Kind = {5: "video", 4: "series", 3: "audio"}[x.ndim]  # type: ignore[assignment]
    spec = Spec(
        name="synthetic",
        kind=kind,
        frame=x.shape[2:],
        length=x.shape[1],
        size=len(x),
        scale=(255.0 if kind == "video" else 1.0,),
    )
    every, one = (Split(spec=spec, x=x, rows=np.arange(count)) for count in (len(x), 1))
    return Corpus(spec=spec, train=every, validation=one, test=every)


class Pace(lightning.Callback):
    """Lets training take as many steps as it is told, then tells how long they took.

    A step lasts from one batch's start to the next one's, so waiting for data is in it.
    """

    def __init__(self, ask: Callable[[dict[str, Any]], int]) -> None:
        self.ask = ask
        self.left, self.began, self.waited, self.sequences = 0, 0.0, 0.0, 0

    def on_train_batch_start(self, trainer: Any, module: Any, batch: Any, index: int) -> None:
        """Ask for the next turn when the present one is over."""
        now, waited = time.perf_counter(), trainer.train_dataloader.waited
        if self.left == 0:
            facts = {
                "seconds": now - self.began,
                "waited": waited - self.waited,
                "sequences": self.sequences,
            }
            self.left = self.ask(facts)
            self.waited, self.sequences = waited, 0
            self.began = time.perf_counter()
        self.left -= 1
        self.sequences += len(batch)


def train(job: dict[str, Any], ask: Callable[[dict[str, Any]], int]) -> None:
    """Train as `unbraid fit` does, at the pace of `ask`."""
    plan, corpus = open_plan(job)
    run_plan(plan, Path(job["scratch"]) / "run", corpus=corpus, callbacks=[Pace(ask)])


def encoding(job: dict[str, Any]) -> Turn:
    """Return the encoding of one batch, from the data to arrays of codes."""
    plan, corpus = open_plan(job)
    inference_precision.set(job.get("precision", "auto"))
    method = find_method(plan.method)(corpus.spec, plan.method_config).eval()
    size = min(plan.training.batch_size, len(corpus.test))
    split = corpus.test.select(slice(0, size))
    return _repeat(lambda: embed(method, split, batch_size=size), sequences=size)


def baseline(job: dict[str, Any]) -> Turn | None:
    """Return a verb of the baseline on one batch of random videos, None if it has none."""
    about = job["about"]
    built = load_baseline(job["baseline"], about)
    if built is None:
        return None
    x = torch.rand(about["batch"], about["length"], *about["frame"])
    return _repeat(lambda: call(built, job["verb"], x), sequences=len(x), name=built.name)


def kernels(job: dict[str, Any]) -> Turn:
    """Return a matrix product and the gradient of a convolution: what this machine can do."""
    a, b = torch.rand(2, 1536, 1536)
    x = torch.rand(64, 64, 32, 32).contiguous(memory_format=torch.channels_last)
    weight = torch.rand(128, 64, 4, 4).contiguous(memory_format=torch.channels_last)
    for part in (x, weight):
        part.requires_grad_()
    product = 2 * 1536**3 / 1e9
    convolution = 3 * 2 * 64 * 16**2 * weight.numel() / 1e9

    def turn(times: int) -> dict[str, Any]:
        first = _repeat(lambda: a @ b, sequences=0)(times)["seconds"]
        second = _repeat(
            lambda: F.conv2d(x, weight, stride=2, padding=1).sum().backward(), sequences=0
        )(times)["seconds"]
        return {
            "seconds": first + second,
            "matmul": times * product / first,
            "convolution": times * convolution / second,
        }

    return turn


def _repeat(act: Callable[[], Any], *, sequences: int, **facts: Any) -> Turn:
    def turn(times: int) -> dict[str, Any]:
        began = time.perf_counter()
        for _ in range(times):
            act()
        seconds = time.perf_counter() - began
        return {"seconds": seconds, "sequences": times * sequences} | facts

    return turn
