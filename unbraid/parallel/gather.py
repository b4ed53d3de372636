"""One batch over several processes: the rows of all of them, with gradients.

Processes that train together have a slice each of one batch. A term that compares sequences with
each other needs all rows: `gather` returns them, in the order of the processes. It does so inside
`sharded_batch` only; elsewhere, and in one process, it returns what it is given.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch import distributed as dist
from torch.autograd.function import once_differentiable

from unbraid.parallel.draws import SlicedDraws
from unbraid.records import Terms

R = TypeVar("R")
_draws: SlicedDraws | None = None  # of the step that is shared just now


@contextmanager
def sharded_batch(rows: int) -> Iterator[None]:
    """Share a batch with the other processes, if there are any.

    Args:
        rows: how many rows of it this process has; every process has as many.
    """
    global _draws
    if not dist.is_available() or not dist.is_initialized() or dist.get_world_size() == 1:
        yield
        return
    _draws = SlicedDraws(rows, dist.get_rank(), dist.get_world_size())
    try:
        with _draws:
            yield
    finally:
        _draws = None


def gather(rows: R) -> R:
    """Return the rows of all processes, sent in one message.

    The gradient of a row is the sum over all processes. DDP takes the mean of their gradients, so
    a term that every process computes of all rows has the gradient it has in one process.

    Args:
        rows: a tensor, a record such as `Codes`, or a tuple of them; the first axis counts
            sequences.
    """
    if _draws is None:
        return rows
    tensors = list(_leaves(rows))
    kind = next((t.dtype for t in tensors if t.is_floating_point()), torch.float32)
    flat = torch.cat([t.reshape(len(t), -1).to(kind) for t in tensors], 1)
    parts = _Gather.apply(flat).split([t[0].numel() for t in tensors], 1)
    whole = (p.reshape(-1, *t.shape[1:]).to(t.dtype) for p, t in zip(parts, tensors, strict=True))
    return _rebuilt(rows, whole)


def local_rows(rows: Tensor) -> Tensor:
    """Return this process's slice of the rows of all, which undoes `gather`."""
    return rows if _draws is None else rows[_draws.mine]


@contextmanager
def same_draws() -> Iterator[None]:
    """Draw the same in all processes: for a computation on gathered rows."""
    draws = _draws
    if draws is None:
        yield
        return
    draws.active = False
    try:
        yield
    finally:
        draws.active = True


def mean_terms(terms: Terms) -> Terms:
    """Return the loss table without gradient, its values averaged over the processes."""
    values = torch.stack([value.detach() for _, value in terms.values()])
    if _draws is not None:
        dist.all_reduce(values)
        values /= dist.get_world_size()
    means = zip(terms.items(), values.unbind(), strict=True)
    return {name: (weight, mean) for (name, (weight, _)), mean in means}


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, x)
        return torch.cat(parts)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        total = grad.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(total)
        return total.chunk(dist.get_world_size())[dist.get_rank()]


def _leaves(rows: Any) -> Iterator[Tensor]:
    """Yield the tensors of a record or tuple, in order."""
    if isinstance(rows, Tensor):
        yield rows
    elif rows is not None:
        for part in _parts(rows).values():
            yield from _leaves(part)


def _rebuilt(rows: Any, tensors: Iterator[Tensor]) -> Any:
    """Return the same record or tuple with other tensors."""
    if rows is None or isinstance(rows, Tensor):
        return None if rows is None else next(tensors)
    parts = {name: _rebuilt(part, tensors) for name, part in _parts(rows).items()}
    return tuple(parts.values()) if isinstance(rows, tuple) else replace(rows, **parts)


def _parts(rows: Any) -> dict[str, Any]:
    if is_dataclass(rows):
        return {field.name: getattr(rows, field.name) for field in fields(rows)}
    return {str(i): part for i, part in enumerate(rows)}
