"""Swap two sequences with onnxruntime alone: no PyTorch, no unbraid.

    unbraid fit toy-series --max-minutes 1
    unbraid export runs/toy-series/dsvae/0 --to onnx
    python examples/onnx_swap.py runs/toy-series/dsvae/0/onnx [sequences.npy]

`sequences.npy` holds (N, T, *F) as the model's data are; a series is cut into windows (W, F).
NaN is missing. Without it two sequences are drawn from the prior.
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime


def session(path: Path) -> onnxruntime.InferenceSession:
    """Return a part of the model, ready to run."""
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def draw(folder: Path, about: dict, count: int = 2) -> np.ndarray:
    """Return sequences from the prior: p(d_t | d_<t), one step at a time, then the decoder."""
    rng = np.random.default_rng(0)
    prior = session(folder / "prior_step.onnx")
    layers, _, hidden = prior.get_inputs()[1].shape
    state = [np.zeros((layers, count, hidden), np.float32)] * 2
    d, path = np.zeros((count, about["dynamic_dim"]), np.float32), []
    for _ in range(about["spec"]["length"]):
        mean, log_var, *state = prior.run(None, {"d": d, "h": state[0], "c": state[1]})
        d = mean + np.exp(0.5 * log_var) * rng.standard_normal(mean.shape, np.float32)
        path.append(d)
    s = rng.standard_normal((count, about["static_dim"]), np.float32)
    decoder = session(folder / "decoder.onnx")
    return decoder.run(None, {"s": s, "d": np.stack(path, 1)})[0]


folder = Path(sys.argv[1] if len(sys.argv) > 1 else "runs/toy-series/dsvae/0/onnx")
about = json.loads((folder / "onnx.json").read_text())
x = np.load(sys.argv[2]) if len(sys.argv) > 2 else draw(folder, about)
x = x[:2].astype(np.float32)

inputs = {"x": np.nan_to_num(x)}
if about["spec"]["missing"]:
    inputs["observed"] = np.isfinite(x)
s, d = session(folder / "encoder.onnx").run(None, inputs)
swapped = session(folder / "decoder.onnx").run(None, {"s": s, "d": d[::-1].copy()})[0]
np.save("swapped.npy", swapped)
print(f"s {s.shape}, d {d.shape}; swapped.npy {swapped.shape}, max |x| {np.abs(swapped).max():.3g}")
