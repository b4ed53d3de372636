"""Encoding takes as much memory for many sequences as for few."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import torch

from unbraid.data.corpus import Split
from unbraid.methods.base import Method
from unbraid.records import Batch, Codes, Spec
from unbraid.runs.run import OpenedRun, open_run
from unbraid.workflows.export import EncodeConfig, encode, job, parts
from unbraid.workflows.export.use import Opened, Source


def test_long_sequences_make_small_parts(monkeypatch):
    monkeypatch.setattr(parts, "SEQUENCES", 1024)
    sizes = {}
    for steps in (8, 1000, 100_000):
        split = _made_split(count=5000, steps=steps)
        sizes[steps] = parts.Parts(Path(), split, batch_size=16).size
    assert sizes == {8: 1024, 1000: 64, 100_000: 16}  # whole batches, 65,536 steps at most


class Made:
    """Sequences made when they are asked for: there is no array of all of them."""

    dtype, ndim = np.dtype(np.float32), 3

    def __init__(self, count: int, steps: int) -> None:
        self.shape = (count, steps, 64)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows):
        return np.broadcast_to(
            np.asarray(rows, dtype=np.float32)[:, None, None], (len(rows), *self.shape[1:])
        )


def _made_split(count: int, steps: int) -> Split:
    spec = Spec(name="made", kind="audio", frame=(64,), length=steps)
    return Split(spec=spec, x=Made(count, steps), rows=np.arange(count))


class Same(Method):
    """d is x, s its mean."""

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        self.spec, self.anything = spec, torch.nn.Parameter(torch.zeros(1))

    def encode(self, batch: Batch) -> Codes:
        return Codes(batch.x.mean(1), batch.x)

    def decode(self, codes: Codes) -> torch.Tensor: ...
    def sample(self, n: int, length: int, *, means: bool = False) -> Codes: ...
    def loss(self, batch: Batch, step: int) -> dict: ...


@pytest.mark.parametrize("name", ["codes.npz", "codes.parquet"])
def test_memory_does_not_grow_with_the_number_of_sequences(run, tmp_path, monkeypatch, name):
    monkeypatch.setattr(parts, "SEQUENCES", 64)
    monkeypatch.setattr("unbraid.workflows.export.tables.GROUP_BYTES", 100_000)

    def peak(count: int) -> int:
        split = _made_split(count, steps=10)
        same = OpenedRun(open_run(run))
        same.__dict__["model"] = Same(split.spec)
        opened = Opened(same, split)
        monkeypatch.setattr(job, "open_source", lambda *_: opened)
        tracemalloc.start()
        encode(run, Source(), tmp_path / name, config=EncodeConfig(batch_size=32))
        highest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return highest

    peak(128)  # what is imported and kept for good
    few, many = peak(256), peak(4096)
    codes = (4096 - 256) * 11 * 64 * 4  # bytes: 10 MB more
    assert many - few < codes / 20
