"""Apply a network to every step that exists, and leave BatchNorm's memory alone when asked."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from jaxtyping import Bool, Float
from torch import Tensor, nn

from unbraid.records import back_in_place, chosen_steps


def per_step(
    net: Callable[[Tensor], Tensor], x: Float[Tensor, "B T *F"], mask: Bool[Tensor, "B T"]
) -> Float[Tensor, "B T *G"]:
    """Return `net` of every existing step, zeros elsewhere.

    Padded steps never reach the network: they cost nothing and do not enter its BatchNorm.
    """
    return back_in_place(net(chosen_steps(x, mask)), mask)


@contextmanager
def frozen_statistics(*parts: nn.Module) -> Iterator[None]:
    """Normalise by batch statistics as in training, but do not let them move the running ones.

    Used for generated sequences, which must not shift what real data will be normalised by.
    """
    norms = [
        m
        for part in parts
        for m in part.modules()
        if isinstance(m, nn.modules.batchnorm._BatchNorm)
    ]
    kept = [(norm, norm.momentum, norm.num_batches_tracked) for norm in norms]
    for norm in norms:
        norm.momentum = 0.0
        norm.num_batches_tracked = None
    try:
        yield
    finally:
        for norm, momentum, tracked in kept:
            norm.momentum, norm.num_batches_tracked = momentum, tracked
