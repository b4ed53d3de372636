"""Another implementation beside ours: a folder with a small `adapter.py`.

    def build(spec: dict) -> object | None

`spec` says what is timed: `method`, `preset`, `batch`, `length` (T), `frame` ([C, H, W]),
`static_dim`, `dynamic_dim`, `size` (number of training sequences). The answer is None for "I have
nothing like this", or an object with

    name: str
    train_step(x) -> None     one step: forward, backward, optimiser
    encode(x) -> tensor       codes (or anything that took the work of making them)

where x is a float tensor (B, T, C, H, W) with values in [0, 1]. The folder is on `sys.path`, so
the adapter can import its neighbours; what it prints does not disturb the benchmark.
"""

import importlib.util
import sys
from pathlib import Path
from typing import Any, Protocol

FILE = "adapter.py"


class Baseline(Protocol):
    """What an adapter builds."""

    name: str

    def train_step(self, x: Any) -> None:
        """Take one training step."""

    def encode(self, x: Any) -> Any:
        """Return the codes of sequences."""


def load_baseline(folder: str, spec: dict[str, Any]) -> Baseline | None:
    """Return what the adapter of a folder builds for `spec`, checked; None if it has nothing.

    Raises:
        ValueError: says what is wrong with the folder, the file or what it builds.
    """
    path = Path(folder) / FILE
    if not path.is_file():
        raise ValueError(f"BASELINE={folder}: there is no {path}. benchmarks/README.md shows one.")
    sys.path.insert(0, str(path.parent.resolve()))
    found = importlib.util.spec_from_file_location("adapter", path)
    assert found is not None and found.loader is not None  # a .py file has a loader
    module = importlib.util.module_from_spec(found)
    try:
        found.loader.exec_module(module)
    except Exception as error:
        raise ValueError(f"{path} cannot be imported: {_said(error)}") from error
    if not callable(getattr(module, "build", None)):
        raise ValueError(f"{path} must define build(spec: dict); it does not.")
    try:
        built = module.build(dict(spec))
    except Exception as error:
        raise ValueError(f"{path}: build({spec}) failed: {_said(error)}") from error
    return None if built is None else _checked(built, path)


def _checked(built: Any, path: Path) -> Baseline:
    for name in ("train_step", "encode"):
        if not callable(getattr(built, name, None)):
            raise ValueError(f"{path}: what build returns must have {name}(x); it has not.")
    if not isinstance(getattr(built, "name", None), str):
        raise ValueError(f"{path}: what build returns must have a name, a string; it has not.")
    return built


def call(baseline: Baseline, verb: str, x: Any) -> None:
    """Let the baseline do one thing; its mistakes are told as its own."""
    try:
        getattr(baseline, verb)(x)
    except Exception as error:
        raise ValueError(f"{baseline.name}: {verb}(x) failed: {_said(error)}") from error


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
