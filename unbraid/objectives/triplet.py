"""The triplet term: nearer to a view of itself than to another sequence, by a margin."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unbraid.parallel.gather import gather, same_draws
from unbraid.records import Scalar


def triplet(anchor: Float[Tensor, "B K"], view: Float[Tensor, "B K"], *, margin: float) -> Scalar:
    """Return E max(0, ‖a − a⁺‖ − ‖a − a⁻‖ + m), mean over the batch; less is better.

    a⁺ is the view of the same sequence, a⁻ the code of another one in the batch, drawn anew, that
    of all processes if several share it. Batches are sorted, so the next sequence would often be of
    the same person.
    """
    anchor, view = gather((anchor, view))
    with same_draws():
        other = others(len(anchor), anchor.device)
    near, far = (anchor - view).norm(dim=1), (anchor - anchor[other]).norm(dim=1)
    return (near - far + margin).clamp(min=0).mean()


def others(count: int, device: torch.device | str = "cpu") -> Int[Tensor, " B"]:
    """Draw for each of `count` rows one of the others, all alike; a single row has but itself."""
    rows = torch.arange(count, device=device)
    if count < 2:
        return rows
    return (rows + torch.randint(1, count, (count,), device=device)) % count
