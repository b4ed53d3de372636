"""`unbraid encode`: the codes of all sequences of a split or file, written to a file."""

import signal
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text
from torch import distributed as dist

import unbraid
from unbraid.data.cache import file_hash
from unbraid.evaluation.manipulate import Embedding, embed_batches
from unbraid.methods.base import Method
from unbraid.nets.folding import folded
from unbraid.parallel.launch import launch, must_launch, process_group, process_info, with_console
from unbraid.parallel.signals import handled
from unbraid.precision import inference, inference_format
from unbraid.settings import at_least
from unbraid.workflows.export.parts import Parts, locked
from unbraid.workflows.export.target import Target, choose_target
from unbraid.workflows.export.use import Opened, Source, open_source


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodeConfig:
    """How sequences are encoded."""

    batch_size: int = 128  # how many at once
    devices: int = 1  # processes (on a CPU) or GPUs of this machine that share the work
    force: bool = False  # replace files that are not codes of ours

    def __post_init__(self) -> None:
        at_least(self, 1, "batch_size", "devices")


def encode(
    path: str | Path,
    source: Source,
    out: str | Path | None = None,
    *,
    config: EncodeConfig | None = None,
    console: Console | None = None,
) -> tuple[Path, ...]:
    """Write the codes of all sequences with their ids and labels; return the files.

    Memory does not grow with the number of sequences. If it is interrupted, the same call goes on
    after the last finished part, and the files are equal to those of an uninterrupted one.

    Args:
        path: the run folder.
        source: which sequences; its `index` and `count` do not matter.
        out: an `.npz` or `.parquet` file, or a folder for `codes.npz`; `use` in the run folder if
            None.
        config: how.
        console: where progress is shown; nowhere if None.
    """
    config = config or EncodeConfig()
    target = choose_target(out, Path(path))
    target.check(force=config.force)
    if must_launch(config.devices):
        task = partial(encode, path, source, out, config=config)
        return launch(config.devices, partial(with_console, task, shown=console is not None))
    console = console or Console(quiet=True)
    first = process_info().rank == 0  # of several processes one writes the file
    with ExitStack() as stack:
        stack.enter_context(handled(signal.default_int_handler, signal.SIGTERM))
        with process_group():
            job = open_source(path, source)
            parts = _open_parts(job, target, config)
            if first:
                stack.enter_context(locked(target.parts))
                _prepare(parts, job, source, console)
            if process_info().size > 1:
                dist.barrier()
            _encode_parts(folded(job.method), parts, console)
        if first:
            with console.status("writing"):
                target.write(parts, "" if source.file else source.split)
            parts.remove()
    return target.files


def _open_parts(job: Opened, target: Target, config: EncodeConfig) -> Parts:
    if len(job.split) == 0:
        raise ValueError("there is nothing to encode: the split has no sequences.")
    return Parts(target.parts, job.split, config.batch_size)


def _prepare(parts: Parts, job: Opened, source: Source, console: Console) -> None:
    """Remove parts that do not belong to this job, and say what becomes of those there are."""
    facts: dict[str, Any] = {
        "unbraid": unbraid.__version__,
        "torch": str(torch.__version__),
        "model": [file_hash(job.folder / name) for name in ("model.json", "model.safetensors")],
        "split": source.split,
        "input": source.file,
        "device": source.device,
        "precision": inference_format(job.method),
        "batch_size": parts.batch_size,
        "sequences": len(parts.split),
        "steps": parts.split.x.shape[1],
        "part_size": parts.size,
    }
    changed, count = parts.prepare(facts), parts.count()
    if changed:
        note = f"starting anew: {', '.join(changed)} changed since the last attempt"
    elif count:
        note = f"going on: {count} of {len(parts)} parts are there"
    else:
        return
    console.print(note, highlight=False, markup=False, soft_wrap=True)


@inference  # around all batches, so that weights are rounded to bf16 once
def _encode_parts(method: Method, parts: Parts, console: Console) -> None:
    """Encode the parts of this process that are not finished; others take the rest."""
    here = process_info()
    mine = range(here.rank, len(parts), here.size)
    with console.status("checking finished parts") if parts.count() else nullcontext():
        missing = [part for part in mine if not parts.finished(part)]
    count = sum(len(parts.sequences(part)) for part in missing)
    with _bar(console) as bar:
        total = len(parts.split)
        task = bar.add_task("encoding", total=total, completed=total - count * here.size)
        for part in missing:
            batches: list[Embedding] = []
            for codes in embed_batches(method, parts.sequences(part), batch_size=parts.batch_size):
                batches.append(codes)
                bar.advance(task, len(codes.s) * here.size)
            parts.write(part, batches)


class _Speed(ProgressColumn):
    """Sequences per second."""

    def render(self, task: Task) -> Text:
        return Text("" if task.speed is None else f"{task.speed:.1f} seq/s")


def _bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Speed(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
