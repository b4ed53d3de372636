"""Are codes with near posteriors similar, and others not? SPYL's appendix B.2.

For every anchor of a batch the other sequences are ranked by KL(q_anchor || q_other), for s and for
d; the first third serves SPYL as positives, the last as negatives. The cosine similarity of the
codes should fall from third to third.

Departures: an anchor is not compared with itself, though SPYL's first third holds it: its
similarity is 1 whatever the model. The similarity is of posterior means, not of draws.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import normalize

from unbraid.data.corpus import Split
from unbraid.methods.base import VariationalMethod
from unbraid.methods.spyl import pools
from unbraid.objectives.elbo import flatten_steps, pairwise_kl
from unbraid.precision import inference
from unbraid.records import Posterior, Steps

Code = Literal["s", "d"]
Table = Float[Tensor, "B B"]
Pairs = Bool[Tensor, "B B"]
FEWEST = 6  # with fewer, a first third holds nobody but the anchor


@dataclass(frozen=True, slots=True)
class Thirds:
    """Cosine similarities of anchors with the sequences of each third, nearest third first."""

    first: NDArray[np.float64]
    middle: NDArray[np.float64]
    last: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class BatchPosterior:
    """A batch as a model sees it: positions in the split, posterior and mask."""

    rows: NDArray[np.int64]
    q: Posterior
    mask: Steps


def measure_thirds(
    method: VariationalMethod,
    split: Split,
    *,
    limit: int = 512,
    batch_size: int = 128,
    seed: int = 0,
) -> dict[Code, Thirds]:
    """Return the similarities of s and of d over several batches; see `batch_posteriors`."""
    posteriors = batch_posteriors(method, split, limit=limit, batch_size=batch_size, seed=seed)
    batches = [batch_thirds(one.q, one.mask) for one in posteriors]
    codes: tuple[Code, ...] = ("s", "d")
    return {
        code: Thirds(
            *(
                np.concatenate([getattr(part[code], name) for part in batches])
                for name in ("first", "middle", "last")
            )
        )
        for code in codes
    }


def batch_thirds(q: Posterior, mask: Steps) -> dict[Code, Thirds]:
    """Return the similarities of s and of d (the trajectory, zeros at padding) in a batch."""
    codes: dict[Code, Tensor] = {"s": q.s.mean, "d": (q.d.mean * mask[..., None]).flatten(1)}
    thirds = {}
    for code, distance in distances(q, mask).items():
        unit = normalize(codes[code].double(), dim=1)
        similarity = (unit @ unit.T).cpu()  # (B, B)
        parts = (similarity[third.cpu()].numpy() for third in thirds_of(distance))
        thirds[code] = Thirds(*parts)
    return thirds


def distances(q: Posterior, mask: Steps) -> dict[Code, Table]:
    """Return KL(q_i || q_j) of all pairs, in nats; that of d per element both sequences have."""
    flat, counts = flatten_steps(q.d, mask)
    shared = (counts @ counts.T).clamp(min=1)
    return {"s": pairwise_kl(q.s), "d": pairwise_kl(flat, counts) / shared}


def thirds_of(distance: Table) -> tuple[Pairs, Pairs, Pairs]:
    """Say for every anchor (row) who is in its first, middle and last third, itself left out."""
    n = len(distance)
    if n < FEWEST:
        raise ValueError(f"thirds want {FEWEST} sequences in a batch at least, got {n}.")
    apart = distance.clone().fill_diagonal_(-torch.inf)  # itself before any equal
    near, middle = pools(apart, "middle")
    _, far = pools(apart, "farthest")
    others = ~torch.eye(n, dtype=torch.bool, device=distance.device)
    return near & others, middle & others, far & others


@inference
def batch_posteriors(
    method: VariationalMethod, split: Split, *, limit: int, batch_size: int, seed: int
) -> list[BatchPosterior]:
    """Return what a model sees of sequences drawn at random, in whole batches.

    Args:
        method: the model, in evaluation mode.
        split: where to draw from.
        limit: at most so many sequences.
        batch_size: sequences per batch; thirds are taken within a batch.
        seed: decides the draw.
    """
    count = min(limit, len(split))
    size = min(batch_size, count)
    device = next(method.parameters()).device
    order = np.random.default_rng(seed).permutation(len(split))[:count]
    posteriors = []
    for start in range(0, count - size + 1, max(1, size)):
        rows = order[start : start + size]
        batch = split.take(rows, device)
        posteriors.append(BatchPosterior(rows, method.infer(batch)[1], batch.mask))
    return posteriors
