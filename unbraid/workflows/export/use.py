"""Reconstruct, swap, sample and interpolate with a run, into files."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import prod
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unbraid.data.corpus import Split
from unbraid.data.readers.own import reader_for, reader_of
from unbraid.evaluation import manipulate
from unbraid.figures.sequences.render import render
from unbraid.files import write_whole
from unbraid.methods.base import Method
from unbraid.records import Batch, Spec
from unbraid.runs.plan import Plan
from unbraid.runs.run import OpenedRun, RunLike, opened
from unbraid.safety.limits import check_memory
from unbraid.seeding import seed_draws
from unbraid.settings import build
from unbraid.shapes import check_axes

ACTIVATIONS = 64  # bytes that decoding takes for every value that is decoded, about
Factor = Literal["both", "static", "dynamic"]


@dataclass(frozen=True, slots=True)
class Source:
    """Where the sequences of a job come from."""

    split: str = "test"
    index: tuple[int, ...] = ()
    count: int = 4
    file: str = ""
    device: str = "cpu"
    """Of a run that is given by its folder."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A run and the sequences a job works on."""

    run: OpenedRun
    split: Split

    @property
    def folder(self) -> Path:
        """The run folder."""
        return self.run.path

    @property
    def method(self) -> Method:
        """The trained model."""
        return self.run.model

    @property
    def spec(self) -> Spec:
        """What the model was made for."""
        return self.method.spec


def open_source(run: RunLike, source: Source) -> Opened:
    """Return a run and the sequences asked for."""
    run = opened(run, source.device)
    if source.file:
        split = own_split(Path(source.file), run.plan, run.model.spec)
    else:
        split = run.corpus.split(source.split)
    bad = [i for i in source.index if not -len(split) <= i < len(split)]
    if bad:
        raise ValueError(f"index {bad[0]} is not there: the split has {len(split)} sequences.")
    return Opened(run, split)


def reconstruct(run: RunLike, source: Source, out: Path | None = None) -> Path:
    """Write sequences and what the model makes of them."""
    job = open_source(run, source)
    batch = job.split.take(_chosen(job, source, source.count), job.run.device)
    x_hat = manipulate.reconstruct(job.method, batch)
    true, n = _known(batch), batch.mask.sum(1)
    rows = _pair_up([("true", true, n), ("decoded", x_hat, n)])
    return _write(job, out, "reconstruct", {"x": true, "x_hat": x_hat}, rows)


def swap(run: RunLike, source: Source, out: Path | None = None) -> Path:
    """Write pairs of sequences and the two with their dynamics exchanged."""
    job = open_source(run, source)
    chosen = _chosen(job, source, 2 * min(source.count, len(job.split) // 2))
    if not len(chosen):
        raise ValueError("swap wants two sequences at least, the split has one.")
    if len(chosen) % 2:
        raise ValueError(f"swap wants an even number of sequences, got {len(chosen)}.")
    a, b = (job.split.take(half, job.run.device) for half in np.split(np.array(chosen), 2))
    first, second = manipulate.swap(job.method, a, b)
    n_a, n_b = a.mask.sum(1), b.mask.sum(1)
    sets = [
        ("a", _known(a), n_a),
        ("b", _known(b), n_b),
        ("a doing b", first, n_b),
        ("b doing a", second, n_a),
    ]
    arrays = {name.replace(" ", "_"): x for name, x, _ in sets}
    rows = _pair_up(sets)
    return _write(job, out, "swap", arrays, rows, columns=4)


def sample(
    run: RunLike,
    source: Source,
    out: Path | None = None,
    *,
    factor: Factor = "both",
    length: int = 0,
    seed: int = 0,
) -> Path:
    """Write new sequences; with one factor drawn, the other is that of real sequences."""
    if length < 0:
        raise ValueError(f"--length must be 1 or more (0: as the data), got {length}.")
    job = open_source(run, source)
    seed_draws(seed, "use")
    drawn = source.count if factor == "both" else len(_chosen(job, source, source.count))
    _check_amount(job, drawn, length or job.spec.length)
    if factor == "both":
        x = manipulate.sample(job.method, source.count, length or job.spec.length)
        rows = [(f"drawn {i + 1}", x[i]) for i in range(len(x))]
        return _write(job, out, "sample", {"x": x}, rows)
    batch = job.split.take(_chosen(job, source, source.count), job.run.device)
    keep = manipulate.encode(job.method, batch)
    steps = batch.x.shape[1] if factor == "static" else length or job.spec.length
    x = manipulate.sample(job.method, len(batch), steps, keep=keep, factor=factor)
    n, true = batch.mask.sum(1), _known(batch)
    lengths = n if factor == "static" else torch.full_like(n, steps)
    rows = _pair_up([("true", true, n), (f"{factor} drawn", x, lengths)])
    return _write(job, out, f"sample-{factor}", {"true": true, "x": x}, rows)


def interpolate(
    run: RunLike,
    source: Source,
    out: Path | None = None,
    *,
    steps: int = 6,
    factor: Factor = "static",
) -> Path:
    """Write the way from one sequence to another."""
    job = open_source(run, source)
    chosen = _chosen(job, source, 2)
    if len(chosen) != 2:
        raise ValueError(f"interpolate wants two sequences, got {len(chosen)}.")
    _check_amount(job, steps, job.spec.length)
    a, b = (job.split.take([i], job.run.device) for i in chosen)
    x = manipulate.interpolate(job.method, a, b, steps=steps, factor=factor)[:, 0]
    shares = [f"{100 * i // (steps - 1)} %" for i in range(steps)]
    n_a, n_b = int(a.mask.sum()), int(b.mask.sum())
    way = [(share, one[:n_a]) for share, one in zip(shares, x, strict=True)]
    rows = [("from", _known(a)[0, :n_a]), *way, ("to", _known(b)[0, :n_b])]
    return _write(job, out, "interpolate", {"a": _known(a), "b": _known(b), "x": x}, rows)


def raw(spec: Spec, x: Tensor) -> NDArray[Any]:
    """Return decoded values in the units and type of the data."""
    values = spec.to_data(x.cpu()).numpy()
    if spec.kind != "video":
        return values
    if spec.scale[0] == 1.0:  # the data were floats in [0, 1]
        return values.clip(0, 1)
    return values.round().clip(0, 255).astype(np.uint8)


def _chosen(job: Opened, source: Source, count: int) -> Sequence[int]:
    """Return the positions asked for, or `count` spread over the split."""
    if source.index:
        return source.index
    count = min(count, len(job.split))
    # Steps of a prime keep neighbours, which are often alike, apart.
    return [int(i) * 7919 % len(job.split) for i in range(count)]


def _check_amount(job: Opened, count: int, length: int) -> None:
    """Raise `ValueError` if so many sequences of this length cannot be decoded in memory."""
    size = count * length * ACTIVATIONS * prod(job.spec.frame)
    what = f"decoding {count:,} sequences of {length:,} steps"
    check_memory(size, what, "Ask for fewer or shorter ones (--count, --steps, --length).")


def _known(batch: Batch) -> Tensor:
    """Return the values, NaN where an element is not observed."""
    return batch.x if batch.observed is None else batch.x.where(batch.observed, torch.nan)


def _pair_up(sets: list[tuple[str, Tensor, Tensor]]) -> list[tuple[str, Tensor]]:
    """Return rows in groups: the first of every (name, values, lengths), then the second, ..."""
    count = len(sets[0][1])
    return [(name, x[i, : int(n[i])]) for i in range(count) for name, x, n in sets]


def _write(
    job: Opened,
    out: Path | None,
    name: str,
    arrays: dict[str, Tensor],
    rows: list[tuple[str, Tensor]],
    *,
    columns: int = 0,
) -> Path:
    folder = out or job.folder / "use"
    saved = _save_arrays(
        folder / f"{name}.npz", {key: raw(job.spec, value) for key, value in arrays.items()}
    )
    shown = [(label, x.cpu().numpy()) for label, x in rows]
    render(folder, name, job.spec, shown, columns=columns)
    return saved


def _save_arrays(path: Path, arrays: dict[str, NDArray[Any]]) -> Path:
    def write(aside: Path) -> None:
        with aside.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)

    write_whole(path, write)
    return path


def _usual_cut(spec: Spec) -> dict[str, Any]:
    """Return how long sequences are where the run's own settings do not say."""
    if spec.kind == "video":
        return {"frames": spec.length}
    if spec.kind == "audio":
        return {"seconds": spec.length / spec.rate, "hop": 1 / spec.rate, "bands": spec.frame[0]}
    return {}


def _in_words(kind: str, frame: tuple[int, ...]) -> str:
    """Return what sequences are.

    >>> _in_words("video", (3, 64, 64))
    'video of 3 x 64 x 64'
    """
    return f"{kind} of {' x '.join(map(str, frame))}"


def own_split(path: Path, plan: Plan, spec: Spec) -> Split:
    """Return the sequences of a file or folder as this model's data set would hold them."""
    reader = reader_for(path)
    # What the run's own data were read with, then what its model insists on. Settings of another
    # reader or of a data set mean something else, though their names may be the same.
    same = plan.data.reader == reader_of(path)
    table = _usual_cut(spec) | (dict(plan.data.settings) if same else {}) | {"kind": spec.kind}
    if spec.kind == "series":
        table |= {"window": spec.frame[0], "values": list(spec.channels)}
    if spec.kind == "video":
        table |= {"size": spec.frame[-1], "color": spec.frame[0] == 3}
    names = {field.name for field in fields(reader.Config)} - {"split", "pattern"}
    table = {key: value for key, value in table.items() if key in names}
    try:
        collection = reader.read(path, build(reader.Config, table, where=str(path)))
    except KeyError:  # these sequences may well have no labels
        bare = {key: value for key, value in table.items() if key not in ("labels", "dynamic")}
        collection = reader.read(path, build(reader.Config, bare, where=str(path)))
    if collection.kind != spec.kind:
        raise ValueError(
            f"the model was trained on {_in_words(spec.kind, spec.frame)} ({spec.name}), and "
            f"{path} holds {_in_words(collection.kind, collection.x.shape[2:])}. Give sequences of "
            "the same kind."
        )
    axes = {"video": "N T {} {} {}", "audio": "N T {}", "series": "N T {} {}"}[spec.kind]
    check_axes("x", collection.x.shape, axes.format(*spec.frame))
    return collection.whole(spec)
