"""Toy specs, batches and methods of every kind: B=6, T=5, unequal lengths, missing values."""

from typing import Any

import torch
from torch import Tensor

from unbraid.methods import METHODS, Method
from unbraid.nets import NetConfig
from unbraid.records import Batch, Kind, Spec, Terms

KINDS: tuple[Kind, ...] = ("video", "audio", "series")
CASES = [(name, kind) for name, cls in METHODS.items() for kind in cls.kinds]
FRAMES: dict[Kind, tuple[int, ...]] = {"video": (3, 16, 16), "audio": (12,), "series": (4, 3)}
LENGTHS = (5, 3, 5, 2, 4, 5)
NET = NetConfig(channels=(4, 8, 8), features=8, hidden=8, series_layers=(8, 12, 8), audio_hidden=8)


def toy_spec(kind: Kind) -> Spec:
    return Spec(
        name="toy", kind=kind, frame=FRAMES[kind], length=5, size=60, missing=kind == "series"
    )


def toy_batch(kind: Kind, *, seed: int = 0, ragged: bool = True) -> Batch:
    draw = torch.Generator().manual_seed(seed)
    shape = (len(LENGTHS), 5, *FRAMES[kind])
    x = torch.randn(shape, generator=draw)
    if kind == "video":  # one colour per sequence, one row of light per step
        colour = torch.rand(shape[0], 1, 3, 1, 1, generator=draw)
        light = torch.rand(*shape[:2], 1, 16, 1, generator=draw)
        x = (0.7 * colour * light + 0.3 * x.sigmoid()).clamp(0, 1)
    mask = torch.ones(shape[:2], dtype=torch.bool)
    if ragged:
        mask = torch.arange(5) < torch.tensor(LENGTHS)[:, None]
    if kind != "series":
        return Batch(x, mask)
    return Batch(x, mask, (torch.rand(shape, generator=draw) < 0.8) & mask[..., None, None])


def spoil(batch: Batch, value: float) -> Batch:
    """Put `value` wherever an element does not count."""
    return batch.with_x(batch.x.where(batch.valid, value))


def pad(batch: Batch, steps: int) -> Batch:
    """Add padded steps at the end."""

    def longer(part: Tensor, value: float) -> Tensor:
        return torch.cat([part, torch.full_like(part[:, :1], value).repeat_interleave(steps, 1)], 1)

    observed = None if batch.observed is None else longer(batch.observed, False)
    return Batch(longer(batch.x, 7.0), longer(batch.mask, False), observed)


ALIVE = {("vae", "series"): 1, ("gpvae", "series"): 1}
"""Where the first weights of so small a decoder leave all ReLU units at zero: other ones."""
TOY: dict[str, dict[str, Any]] = {
    # Weights for hundreds of values would drown a toy's loss in the noise of six sequences.
    "glr": {"w_kl_static": 1.0, "w_counterfactual": 1.0},
    "rwae": {"w_static": 1.0, "w_dynamic": 1.0, "critic_width": 16},
    "diffsda": {"width": 16},
    # One step of six sequences teaches a critic too little in fifty steps.
    "mocogan": {"critic_steps": 0},
}


def toy_method(name: str, kind: Kind, *, seed: int = 0, **settings: Any) -> Method:
    torch.manual_seed(seed + ALIVE.get((name, kind), 0))
    cls, settings = METHODS[name], TOY.get(name, {}) | settings
    return cls(toy_spec(kind), cls.Config(static_dim=6, dynamic_dim=4, net=NET, **settings))


def total(terms: Terms) -> Tensor:
    return torch.stack([weight * value for weight, value in terms.values()]).sum()


def train(
    method: Method, batch: Batch, steps: int, lr: float = 3e-3, enough: float = 0.0
) -> list[float]:
    """Take Adam steps on one batch and return the losses.

    It ends early once five losses together are below `enough` times the first five.
    """
    optimiser = torch.optim.Adam(method.parameters(), lr=lr)
    losses = []
    for step in range(steps):
        optimiser.zero_grad()
        loss = total(method.loss(batch, step))
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
        if step >= 9 and sum(losses[-5:]) < enough * sum(losses[:5]):
            break
    return losses
