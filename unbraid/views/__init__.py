"""Two looks at one sequence: shuffled time, other colours, other voices."""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

from unbraid.records import Batch, Spec
from unbraid.views.audio import warp_bands
from unbraid.views.series import scale_channels
from unbraid.views.time import reverse_steps, shuffle_steps
from unbraid.views.video import distort

__all__ = ["ViewName", "dynamic_view_for", "static_order"]

View = Callable[[Batch], Batch]
ViewName = Literal["auto", "kornia", "scale", "none"]
NARROWEST, WIDEST = 0.85, 1.18  # vocal tract length, as a ratio


def static_order(view: Literal["shuffle", "reverse"], h: Tensor, mask: Tensor) -> Tensor:
    """Return the same steps in another order: static factors are kept, dynamic ones are not."""
    return shuffle_steps(h, mask) if view == "shuffle" else reverse_steps(h, mask)


def dynamic_view_for(spec: Spec, choice: ViewName) -> View | None:
    """Return the view that keeps dynamic and changes static factors, or None if there is none.

    Video: one crop, colour distortion and blur per sequence. Audio: another voice. Series have no
    accepted view; "scale" multiplies every channel by a random factor. "kornia" is the video
    view made by that library.
    """
    if choice == "none" or (choice == "auto" and spec.kind == "series"):
        return None
    meant_for = {"scale": "series", "kornia": "video"}.get(choice, spec.kind)
    if meant_for != spec.kind:
        raise ValueError(f"dynamic_view '{choice}' is for {meant_for}, {spec.name} is {spec.kind}.")
    if choice == "kornia":
        return _other_looks_by_kornia
    return {"video": _other_looks, "audio": _other_voice, "series": _other_scale}[spec.kind]


@torch.no_grad()
def _other_looks(batch: Batch) -> Batch:
    return batch.with_x(distort(batch.x))


@torch.no_grad()
def _other_looks_by_kornia(batch: Batch) -> Batch:
    return batch.with_x(distort(batch.x, backend="kornia"))


@torch.no_grad()
def _other_voice(batch: Batch) -> Batch:
    """Take a converted voice prepared with the data; without one, warp the frequency axis."""
    if batch.alternatives is not None:
        n, count = batch.alternatives.shape[:2]
        chosen = torch.randint(count, (n,), device=batch.x.device)
        return batch.with_x(batch.alternatives[torch.arange(n, device=batch.x.device), chosen])
    factor = torch.empty(len(batch), device=batch.x.device).uniform_(NARROWEST, WIDEST)
    return batch.with_x(warp_bands(batch.x, factor))


@torch.no_grad()
def _other_scale(batch: Batch) -> Batch:
    return batch.with_x(scale_channels(batch.x))
