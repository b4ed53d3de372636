"""Floating-point operations of one training step, counted without computing it.

PyTorch's own counter sees every matrix product and convolution of a forward and backward pass. The
tensors are fake ones, which have a shape but no contents, so a step of the true batch is counted in
seconds and takes no memory. Elementwise work is not counted; nor are LSTMs, which on a CPU are one
fused operation that the counter does not know: `recurrent` counts them apart, 1 to 4 % of a step.
The figures of the authors' code were counted in the same way.

    python -m benchmarks.flops [--methods dbse spyl] [--presets sprites/authors]

prints one JSON object per line and nothing else.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.choice import PRESETS, methods_of
from unbraid.methods import Method, find_method
from unbraid.records import Batch, Spec
from unbraid.runs.plan import make_plan
from unbraid.training.module import total

AUTHORS_PRESET = "sprites/authors"
AUTHORS = {"cdsvae": (128, 3013.0), "spyl": (100, 5742.0), "dbse": (128, 1393.0)}
"""Batch and GFLOP per step of the authors' own code, with their networks on Sprites."""
SPRITES = Spec(name="sprites", kind="video", frame=(3, 64, 64), length=8, size=8100, scale=(255.0,))
LATE = 10**6  # a step at which every warm-up is over


class FullBatches(TorchDispatchMode):
    """Answers questions about the contents of fake masks: every step is there."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run an operation, or answer it."""
        if func is torch.ops.aten._local_scalar_dense.default and args[0].dtype is torch.bool:
            return True
        return func(*args, **(kwargs or {}))


# Eigenvectors are chosen by values, and steps for a critic by draws: fake tensors have neither.
COMPUTED = ("SKD", "MoCoGAN")


def count_step(method: Method, batch: int, length: int, *, fake: bool = True) -> dict[str, float]:
    """Return GFLOP of a forward and backward pass, and those of LSTMs, which are not among them.

    Args:
        method: is left with fake parameters, good for nothing but counting.
        batch: number of sequences.
        length: number of steps of each.
        fake: count without computing, where a method does not choose by values.
    """
    fake = fake and type(method).__name__ not in COMPUTED
    counter = FlopCounterMode(display=False, custom_mapping=RECURRENT)
    shape = (batch, length, *method.spec.frame)
    if fake:
        mode = FakeTensorMode(allow_non_fake_inputs=True)
        _make_fake(method, mode)
        with mode, FullBatches(), counter:
            total(method.loss(Batch.full(torch.rand(shape)), LATE)).backward()
    else:
        with counter:
            total(method.loss(Batch.full(torch.rand(shape)), LATE)).backward()
    counts = counter.get_flop_counts()["Global"]
    recurrent = sum(counts.get(operation, 0) for operation in RECURRENT)
    return {
        "gflop": (counter.get_total_flops() - recurrent) / 1e9,
        "recurrent": recurrent / 1e9,
    }


def _make_fake(method: nn.Module, mode: FakeTensorMode) -> None:
    """Replace all parameters and buffers by fake ones."""
    for part in method.modules():
        for name, value in part._parameters.items():
            if value is not None:
                part._parameters[name] = nn.Parameter(mode.from_tensor(value.detach()))
        for name, value in part._buffers.items():
            if value is not None:
                part._buffers[name] = mode.from_tensor(value)
        if isinstance(part, nn.RNNBase):
            part._flat_weights = [getattr(part, name) for name in part._flat_weights_names]


def _rnn_forward(x: Any, w_in: Any, w_state: Any, *_: Any, **__: Any) -> int:
    """Return 2 T B (gates x H) (I + H) of one LSTM layer in one direction, from the shapes."""
    steps, batch = x[:2]
    return 2 * steps * batch * (w_in[0] * w_in[1] + w_state[0] * w_state[1])


def _rnn_backward(x: Any, w_in: Any, w_state: Any, *_: Any, **__: Any) -> int:
    return 2 * _rnn_forward(x, w_in, w_state)


RECURRENT = {
    torch.ops.aten.mkldnn_rnn_layer: _rnn_forward,
    torch.ops.aten.mkldnn_rnn_layer_backward: _rnn_backward,
}


def count_job(job: dict[str, Any]) -> dict[str, float]:
    """Count a job: method, preset and, if they differ from the preset's, settings and length.

    Args:
        job: as for `subjects.open_plan`; the videos are Sprites of `length` frames.
    """
    settings = {"method": job.get("settings", {}), "training": job.get("training", {})}
    plan = make_plan("sprites", job["method"], preset=job["preset"], settings=settings)
    c, batch = plan.method_config, plan.training.batch_size
    method = find_method(job["method"])(SPRITES, c)
    found = count_step(method, batch, job.get("length", SPRITES.length))
    return {"batch": batch, "static_dim": c.static_dim, "dynamic_dim": c.dynamic_dim} | found


def table(methods: Sequence[str], presets: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield one row per preset and method, beside the authors' figure where there is one."""
    for preset in presets:
        for method in methods_of(preset, methods):
            found = count_job({"method": method, "preset": preset})
            batch, authors = AUTHORS.get(method, (0, 0.0))
            theirs = authors if preset == AUTHORS_PRESET and batch == found["batch"] else None
            yield {
                "method": method,
                "preset": preset,
                "batch": found["batch"],
                "gflop_per_step": round(found["gflop"], 2),
                "authors_gflop": theirs,
                "ratio": round(found["gflop"] / theirs, 4) if theirs else None,
            }


def main() -> None:
    """Print the table as JSON lines; with --jobs, those of a list of jobs."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--methods", nargs="*", default=[])
    parser.add_argument("--presets", nargs="*", default=list(PRESETS))
    parser.add_argument("--jobs", help="a JSON list of jobs for `count_job`")
    asked = parser.parse_args()
    rows = (
        (count_job(job) for job in json.loads(asked.jobs))
        if asked.jobs
        else table(asked.methods, asked.presets)
    )
    for row in rows:
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
