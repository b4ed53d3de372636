"""Whether a network fits in memory, known before it is made."""

from collections.abc import Callable

import torch
from torch import nn

from unbraid.safety.limits import check_memory


def check_network(make: Callable[[], nn.Module], what: str, advice: str, *, times: int = 1) -> None:
    """Raise `ValueError` for a network that cannot be made, or trained in memory.

    Args:
        make: makes it; called where tensors have shapes but no numbers.
        what: it is, e.g. the name of a method.
        advice: what to do, a sentence.
        times: how many of them there are to be.
    """
    try:
        with torch.device("meta"), torch.random.fork_rng(devices=[]):
            count = times * sum(part.numel() for part in make().parameters())
    except (RuntimeError, TypeError, OverflowError) as error:  # more than 64 bits can count
        message = str(error).partition("\n")[0].rstrip(".")
        raise ValueError(f"{what} cannot be made by these settings ({message}). {advice}") from None
    # A parameter, its gradient and two moments of the optimiser, four bytes each.
    check_memory(16 * count, f"{what} with {count:,} parameters", advice)
