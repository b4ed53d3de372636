"""The draws one process would make, when several share a batch.

Noise is drawn for the whole batch, in every process from the same seed, and each takes its rows of
it. A training step is then the same however many processes share it, and no method knows of it.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

FILLS: dict[Callable[..., Any], str] = {
    torch.rand: "uniform_",
    torch.randn: "normal_",
    torch.randint: "random_",
    torch.rand_like: "uniform_",
    torch.randn_like: "normal_",
    Tensor.uniform_: "uniform_",
    Tensor.normal_: "normal_",
}
FRESH = (torch.rand, torch.randn, torch.randint)
IN_PLACE = (Tensor.uniform_, Tensor.normal_)


class SlicedDraws(TorchFunctionMode):
    """While active, draws are rows out of one draw for all processes.

    A draw is meant if its first axis counts this process's rows, once or several times (a bank
    has two views per sequence, all first ones, then all second ones). Other draws, and all while
    `active` is False, are left alone: the same in all processes.

    Args:
        rows: how many rows of the batch this process has.
        rank: which process this is.
        size: how many there are.
    """

    def __init__(self, rows: int, rank: int, size: int) -> None:
        super().__init__()
        self.rows, self.whole = rows, rows * size
        self.mine = slice(rows * rank, rows * (rank + 1))
        self.active = True

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        like = self._like(func, args, kwargs) if self.active and func in FILLS else None
        if like is None or not like.ndim or like.shape[0] % self.rows:
            return func(*args, **kwargs)
        if func in IN_PLACE:
            return like.copy_(self._draw(func, like, args[1:], kwargs))
        limits = [number for number in args if isinstance(number, int)]
        return self._draw(func, like, _range(limits) if func is torch.randint else (), {})

    def _like(self, func: Callable[..., Any], args: Any, kwargs: Any) -> Tensor:
        """Return a tensor of the shape, type and device of what is asked for."""
        if func not in FRESH:
            return args[0]
        plain = func(*args, **{**kwargs, "device": "meta"})  # draws nothing
        return torch.empty_like(plain, device=kwargs.get("device") or torch.get_default_device())

    def _draw(self, func: Callable[..., Any], like: Tensor, args: Any, kwargs: Any) -> Tensor:
        shape = (like.shape[0] // self.rows, self.whole, *like.shape[1:])
        drawn = torch.empty(shape, dtype=like.dtype, device=like.device)
        getattr(drawn, FILLS[func])(*args, **kwargs)
        return drawn[:, self.mine].flatten(0, 1)


def _range(limits: list[int]) -> tuple[int, ...]:
    """Return (low, high) of `torch.randint`, which may be given high alone."""
    return (0, *limits) if len(limits) == 1 else tuple(limits)
