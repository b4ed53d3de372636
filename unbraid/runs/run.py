"""A run folder, opened: its settings, model and data; where it lies; which devices there are."""

import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from unbraid.data.corpus import Corpus
from unbraid.methods import Method
from unbraid.methods.store import load_model, read_about
from unbraid.runs.checkpoint import method_weights, read_checkpoint
from unbraid.runs.plan import Plan, read_plan
from unbraid.runs.splits import check_splits
from unbraid.safety.names import path_name


@dataclass(frozen=True, slots=True)
class Run:
    """A run folder: config.toml, splits.csv, log.csv, checkpoints/, model.safetensors and .json.

    Attributes:
        path: the folder.
        memory: the data, if they are in memory only; `fit` puts in what it was given.
    """

    path: Path
    memory: Corpus | None = field(default=None, compare=False, repr=False)

    @property
    def plan(self) -> Plan:
        """The settings the run was made with."""
        return read_plan(self.path / "config.toml")

    @property
    def about(self) -> dict[str, Any]:
        """What `model.json` says of the model and its training."""
        return read_about(self.path)

    def model(self, device: str = "cpu") -> Method:
        """Return the trained model, ready for use."""
        return load_model(self.path, device)

    def corpus(self) -> Corpus:
        """Return the data set the run was trained on, or say that it has changed."""
        corpus = self.memory or self.plan.data.load()
        if (self.path / "model.json").is_file():
            check_splits(corpus, self.about["training"].get("splits", {}), self.path)
        return corpus


@dataclass(frozen=True)
class OpenedRun:
    """A run whose model and data are loaded when first asked for, once, and handed on."""

    run: Run
    device: str = "cpu"

    @property
    def path(self) -> Path:
        """The run folder."""
        return self.run.path

    @cached_property
    def plan(self) -> Plan:
        """The settings the run was made with."""
        return self.run.plan

    @cached_property
    def about(self) -> dict[str, Any]:
        """What `model.json` says of the model and its training."""
        return self.run.about

    @cached_property
    def model(self) -> Method:
        """The trained model, ready for use."""
        return self.run.model(self.device)

    @cached_property
    def corpus(self) -> Corpus:
        """The data set the run was trained on."""
        return self.run.corpus()

    def history(self) -> Iterator[tuple[int, Method]]:
        """Yield (step, model) of the checkpoints that were kept, and of the finished model."""
        files = {int(p.stem[5:]): p for p in (self.path / "checkpoints").glob("step-*.safetensors")}
        last = self.about["training"]["steps"]
        for step in sorted(step for step in files if step < last):
            model = deepcopy(self.model)
            model.load_state_dict(method_weights(read_checkpoint(files[step])))
            yield step, model
        yield last, self.model


def open_run(path: str | Path, *, corpus: Corpus | None = None) -> Run:
    """Return the run of a folder, or say that it is none.

    Args:
        path: the run folder.
        corpus: the data it was trained on, if they are in memory only.
    """
    run = Run(Path(path), corpus)
    if not (run.path / "config.toml").is_file():
        raise ValueError(f"{run.path} is not a run folder: it has no config.toml.")
    return run


RunLike = str | Path | Run | OpenedRun


def opened(run: RunLike, device: str = "cpu") -> OpenedRun:
    """Return a run opened on a device; one that is opened already is handed on as it is."""
    if isinstance(run, OpenedRun):
        return run
    return OpenedRun(run if isinstance(run, Run) else open_run(run), device)


def run_folder(root: str | Path, plan: Plan) -> Path:
    """Return `<root>/<data>/<method>/<seed>`."""
    return Path(root) / path_name(plan.data.name) / plan.method / str(plan.seed)


def torch_device(name: str) -> str:
    """Return a device that exists, or say which do."""
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if not re.fullmatch(r"cpu|cuda(:\d+)?", name):
        raise ValueError(f"device must be auto, cpu, cuda or cuda:N, got {name!r}.")
    if name != "cpu" and not torch.cuda.is_available():
        raise ValueError(f"device '{name}' is not there. Use --device cpu.")
    return name
