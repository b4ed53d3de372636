"""Several processes on one job: where this one stands, and how to start the others.

Processes find each other by the environment variables of `torchrun`, whoever set them: torchrun
itself, on one machine or many, or `launch` here.
"""

import logging
import multiprocessing
import os
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from lightning.fabric.plugins.environments.lightning import find_free_network_port
from torch import distributed as dist
from torch.multiprocessing.spawn import ProcessContext, ProcessExitedException, start_processes

from unbraid.parallel.signals import handed_on
from unbraid.precision import Precision, inference_precision
from unbraid.safety.errors import EXPECTED
from unbraid.screen import Screen

SECONDS_BETWEEN_LOOKS = 0.2


@dataclass(frozen=True, slots=True)
class ProcessInfo:
    """Which process this is (`rank`) of how many (`size`), `local_size` of them on this machine."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0
    local_size: int = 1

    @property
    def nodes(self) -> int:
        """Number of machines."""
        return self.size // self.local_size


def process_info() -> ProcessInfo:
    """Return where this process stands; the only one, unless it was started with others."""
    if not dist.is_available() or not dist.is_torchelastic_launched():
        return ProcessInfo()
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
    return ProcessInfo(*(int(os.environ[name]) for name in names))


def must_launch(devices: int) -> bool:
    """Say whether other processes are wanted and not there yet."""
    if devices < 1:
        raise ValueError(f"devices must be 1 or more, got {devices}.")
    here = process_info()
    if here.size > 1 and devices not in (1, here.local_size):
        raise ValueError(
            f"torchrun started {here.local_size} processes on this machine, but devices is "
            f"{devices}: leave it out."
        )
    return devices > 1 and here.size == 1


def launch(devices: int, task: Callable[[], Any]) -> Any:
    """Run a task in new processes on this machine and return what the first one returns.

    Ctrl-C and SIGTERM are handed on to them; a second one ends them at once. The cores this
    process would use are shared out: more threads than cores are several times slower.

    Args:
        devices: how many processes.
        task: a function of a module, or a `functools.partial` of one; it and its arguments are
            copied to every process.

    Raises:
        ValueError, KeyError, ...: what the task raised, the first if several did.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise ValueError(
            "several processes run this script from its start: put what it does under "
            '`if __name__ == "__main__":`.'
        )
    logging.getLogger("torch.multiprocessing.spawn").setLevel(logging.ERROR)
    results = multiprocessing.get_context("spawn").SimpleQueue()
    shared = {
        "TORCHELASTIC_RUN_ID": "unbraid",
        "WORLD_SIZE": str(devices),
        "LOCAL_WORLD_SIZE": str(devices),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(find_free_network_port()),
        "OMP_NUM_THREADS": str(max(1, torch.get_num_threads() // devices)),
    }
    task = partial(_with_precision, task, inference_precision.get())
    workers = start_processes(
        _work, (task, shared, results), nprocs=devices, join=False, start_method="spawn"
    )
    with handed_on(partial(_signal_all, workers)) as signals:
        messages, end = _wait(workers, results)
    errors = [outcome for outcome in messages if isinstance(outcome, BaseException)]
    if messages and not errors:
        return messages[0]
    if signals:
        raise KeyboardInterrupt
    # A process that loses another one complains too: what was meant for people comes first.
    for error in (e for e in errors if isinstance(e, EXPECTED)):
        raise error
    if not errors or "signal" in end:
        raise ChildProcessError(
            f"{end or 'the processes ended'}. It was killed, perhaps for lack of memory, or broke "
            "off for a reason printed above."
        )
    raise errors[0]


def _with_precision(task: Callable[[], Any], precision: Precision) -> Any:
    """Run a task with the precision that the starting process has for trained models."""
    inference_precision.set(precision)
    return task()


def with_console(task: Callable[..., Any], *, shown: bool) -> Any:
    """Run a task of several processes, of which the first shows progress if wanted."""
    return task(console=Screen() if shown and process_info().rank == 0 else None)


def _work(rank: int, task: Callable[[], Any], shared: dict[str, str], results: Any) -> None:
    """Do the task as one process of several."""
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)  # Ctrl-C reaches the starting process alone, which hands it on
    os.environ.update(shared, RANK=str(rank), LOCAL_RANK=str(rank))
    torch.set_num_threads(int(shared["OMP_NUM_THREADS"]))
    try:
        result = task()
    except Exception as error:
        known = isinstance(error, EXPECTED)
        results.put(error if known else RuntimeError(traceback.format_exc()))
        raise SystemExit(1) from None
    if rank == 0:
        results.put(result)


def _wait(workers: ProcessContext, results: Any) -> tuple[list[Any], str]:
    """Return what the processes had to say, the first to say it first, and how one failed."""
    messages, end, running = [], "", True
    while running:
        try:
            running = not workers.join(SECONDS_BETWEEN_LOOKS)
        except ProcessExitedException as error:
            running, end = False, str(error)
        while not results.empty():
            messages.append(results.get())
    return messages, end


def _signal_all(workers: ProcessContext, number: int) -> None:
    for process in workers.processes:
        if process.is_alive():
            os.kill(process.pid, number)


@contextmanager
def process_group() -> Iterator[None]:
    """Connect the processes, if there are several and Lightning has not done so.

    For jobs that only exchange results; "cuda" then means a GPU of its own for each.
    """
    here = process_info()
    if here.size == 1 or dist.is_initialized():
        yield
        return
    if torch.cuda.is_available():
        torch.cuda.set_device(here.local_rank)
    dist.init_process_group("gloo", rank=here.rank, world_size=here.size)
    try:
        yield
        dist.barrier()
    finally:
        dist.destroy_process_group()
