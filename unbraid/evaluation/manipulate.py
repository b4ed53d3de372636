"""What users do with a model, each a few lines over the four verbs.

Every function runs without gradient and leaves the model in the mode it was in; models from
`load_model` are in evaluation mode.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from unbraid.data.corpus import Split
from unbraid.methods.base import Method
from unbraid.nets.folding import folded
from unbraid.precision import inference
from unbraid.records import Batch, Codes, Sequences


@dataclass(frozen=True, slots=True)
class Embedding:
    """Codes of a whole split as arrays: s (N, S), d (N, T, D), mask (N, T)."""

    s: NDArray[np.float32]
    d: NDArray[np.float32]
    mask: NDArray[np.bool_]


@inference
def embed(method: Method, split: Split, *, batch_size: int = 128, devices: int = 1) -> Embedding:
    """Return the codes of a split, in its order.

    Args:
        method: the model.
        split: the sequences.
        batch_size: how many at once.
        devices: how many processes share the work; model and sequences are copied to each.
    """
    if devices > 1:
        from unbraid.evaluation.sharded import embed_by

        return embed_by(devices, method, split, batch_size=batch_size)
    parts = list(embed_batches(folded(method), split, batch_size=batch_size))
    return Embedding(*(np.concatenate([getattr(p, f) for p in parts]) for f in ("s", "d", "mask")))


def embed_batches(method: Method, split: Split, *, batch_size: int = 128) -> Iterator[Embedding]:
    """Yield the codes of a split batch by batch, never all in memory.

    They are those of `embed` if the method is `folded`, which is done once for many calls.
    """
    device = next(method.parameters()).device
    for batch in split.batches(batch_size, device):
        z = encode(method, batch)
        yield Embedding(*(part.cpu().numpy() for part in (z.s, z.d, batch.mask)))


@inference
def encode(method: Method, batch: Batch) -> Codes:
    """Return the codes of a batch."""
    return method.encode(batch)


@inference
def decode(method: Method, codes: Codes) -> Sequences:
    """Return the sequences of codes, wherever the model is."""
    device = next(method.parameters()).device
    return method.decode(Codes(codes.s.to(device), codes.d.to(device)))


@inference
def reconstruct(method: Method, batch: Batch) -> Sequences:
    """Encode and decode."""
    return method.decode(method.encode(batch))


@inference
def swap(method: Method, a: Batch, b: Batch) -> tuple[Sequences, Sequences]:
    """Return (static code of a, dynamic code of b) decoded, and the reverse."""
    z_a, z_b = method.encode(a), method.encode(b)
    return method.decode(Codes(z_a.s, z_b.d)), method.decode(Codes(z_b.s, z_a.d))


@inference
def sample(
    method: Method,
    n: int,
    length: int,
    *,
    keep: Codes | None = None,
    factor: Literal["both", "static", "dynamic"] = "both",
) -> Sequences:
    """Draw sequences; with `keep`, draw one factor only and keep the other.

    Args:
        method: the model.
        n: how many.
        length: how many steps; ignored where the dynamics are kept.
        keep: codes whose other factor is kept, n of them.
        factor: which factor is drawn.
    """
    z = method.sample(n, keep.d.shape[1] if keep and factor == "static" else length)
    if keep is None or factor == "both":
        return method.decode(z)
    if factor == "static":
        return method.decode(Codes(z.s, keep.d))
    return method.decode(Codes(keep.s, z.d))


@inference
def interpolate(
    method: Method,
    a: Batch,
    b: Batch,
    *,
    steps: int = 6,
    factor: Literal["static", "dynamic", "both"] = "static",
) -> Float[Tensor, "K B T *F"]:
    """Return `steps` sequences on the way from a to b; the factor not asked for stays a's."""
    if steps < 2:
        raise ValueError(f"steps must be 2 or more, got {steps}.")
    z_a, z_b = method.encode(a), method.encode(b)
    way = []
    for share in torch.linspace(0, 1, steps).tolist():
        s = torch.lerp(z_a.s, z_b.s, share) if factor != "dynamic" else z_a.s
        d = torch.lerp(z_a.d, z_b.d, share) if factor != "static" else z_a.d
        way.append(method.decode(Codes(s, d)))
    return torch.stack(way)


@inference
def cross(method: Method, statics: Batch, dynamics: Batch) -> Float[Tensor, "N M T *F"]:
    """Return every s of one batch with every d of another: row i is who, column j does what."""
    z_s, z_d = method.encode(statics), method.encode(dynamics)
    n, m = len(statics), len(dynamics)
    s = z_s.s.repeat_interleave(m, 0)
    d = z_d.d.repeat(n, *([1] * (z_d.d.ndim - 1)))
    return method.decode(Codes(s, d)).unflatten(0, (n, m))
