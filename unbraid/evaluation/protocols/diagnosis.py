"""Leakage without labels: what a model's own codes, decoded and read again, give away.

* Cycle: decode (s of a, d of b) and encode the result. A clean model reads a's s and b's d.
* Shares: how much of the data each code explains with the other one fixed at its mean.
* Units: how many are in use, and what they cost in nats.
* Order: s of shuffled frames should be s of the frames.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import log

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import normalize

from unbraid.data.corpus import Split
from unbraid.methods.base import Method, VariationalMethod
from unbraid.objectives.elbo import kl, kl_standard
from unbraid.objectives.mutual import densities, static_dynamic
from unbraid.precision import inference
from unbraid.records import Batch, Codes, Gaussian
from unbraid.seeding import seed_draws
from unbraid.views.time import reorder, shuffled_order

Rows = Float[Tensor, "B K"]
Index = Int[Tensor, " B"]
Coded = tuple[Codes, Tensor]  # with the mask
ACTIVE = 0.01  # variance over the data above which a posterior mean is in use
SAME = 1e-6  # cosines nearer than this are a tie


@dataclass(frozen=True, slots=True)
class Cycle:
    """A code after a swap, compared with its source and with the other of the pair.

    Cosines are of codes less their mean over the data (d: the trajectory, zeros at padding).
    """

    kept: float  # mean cosine with the source's code; 1 is best
    other: float  # mean cosine with the other's code
    agreement: float  # share of pairs in which the source is nearer; a tie counts half
    retrieval: float  # share whose nearest code in the batch is the source's; k ties count 1/k
    unswapped: float  # the same without a swap: what re-encoding alone can reach


@dataclass(frozen=True, slots=True)
class Units:
    """Use of a code: active units have a posterior mean that varies more than `ACTIVE`."""

    active: int
    total: int
    kl: tuple[float, ...]  # of each unit, mean over sequences (d: summed over steps), in nats


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All numbers of a diagnosis; `None` where a method has no posterior to ask.

    There are units of s only if the KL of the method's loss is that to N(0, I), which is reported.
    """

    sequences: int
    batch: int  # sequences per batch, M; retrieval by chance is 1/M
    static_cycle: Cycle
    dynamic_cycle: Cycle
    explained: float  # 1 − E(s, d) / E₀, see `diagnose`
    explained_by_static: float
    explained_by_dynamic: float
    order_change: float  # distance of s to s of shuffled frames, over that between sequences
    static_units: Units | None
    dynamic_units: Units | None
    mutual: float | None  # I(s; d) by minibatch weighted sampling, in nats
    mutual_range: tuple[float, float]  # log N: codes tell nothing; log N·M: each has its own


@dataclass(frozen=True, slots=True)
class _Means:
    """Over the data: x (T, *F), s (S,) and d (T, D)."""

    x: Tensor
    s: Tensor
    d: Tensor


@inference
def diagnose(
    method: Method, split: Split, *, limit: int = 512, batch_size: int = 128, seed: int = 0
) -> Diagnosis:
    """Measure leakage without labels.

    E(s, d) is the squared error of `decode(s, d)`, mean over counted elements. E₀ is that of the
    mean sequence: the mean over the data of every element at every step. Shares are 1 − E / E₀
    with E(s, d̄) for s alone, d̄ the mean trajectory, and E(s̄, d) for d alone, s̄ the mean code. A
    share is negative where a decoder does worse than the mean sequence.

    Args:
        method: the model, in evaluation mode.
        split: where to measure; labels are not read.
        limit: number of sequences, drawn at random; whole batches of them are used.
        batch_size: also the number of candidates in retrieval.
        seed: decides all draws.
    """
    count = min(limit, len(split))
    size = min(batch_size, count)
    if size < 2:
        raise ValueError(f"a diagnosis compares sequences: it wants two at least, got {count}.")
    chosen = np.random.default_rng(seed).permutation(len(split))[: count - count % size]
    seed_draws(seed, "use")
    part = split.select(chosen)
    device = next(method.parameters()).device
    codes, means = _first_look(method, part.batches(size, device))
    coded = zip(part.batches(size, device), codes, strict=True)
    rows = [_measure(method, batch, z, means) for batch, (z, _) in coded]
    averages = {name: torch.stack([row[name] for row in rows]).mean(0).cpu() for name in rows[0]}
    share = {
        k: 1 - float(averages[k] / averages["mean"].clamp(min=1e-12)) for k in ("both", "s", "d")
    }
    s, d = (torch.cat(column) for column in zip(*((z.s, z.d[m]) for z, m in codes), strict=True))
    return Diagnosis(
        sequences=len(chosen),
        batch=size,
        static_cycle=Cycle(*averages["static"].tolist()),
        dynamic_cycle=Cycle(*averages["dynamic"].tolist()),
        explained=share["both"],
        explained_by_static=share["s"],
        explained_by_dynamic=share["d"],
        order_change=float(averages["shuffled"] / averages["apart"].clamp(min=1e-12)),
        static_units=_units(s, averages.get("kl_static")),
        dynamic_units=_units(d, averages.get("kl_dynamic")),
        mutual=float(averages["mutual"]) if "mutual" in averages else None,
        mutual_range=(log(method.spec.size), log(method.spec.size * size)),
    )


def _first_look(method: Method, batches: Iterable[Batch]) -> tuple[list[Coded], _Means]:
    """Return codes and mask of every batch, and the means over counted elements."""
    codes, sums = [], [torch.zeros(())] * 4
    for batch in batches:
        z = method.encode(batch)
        counts, steps = batch.valid.expand_as(batch.x), batch.mask[..., None]
        parts = (batch.x.where(counts, 0.0), counts, z.d.where(steps, 0.0), steps)
        sums = [part.double().sum(0) + total for total, part in zip(sums, parts, strict=True)]
        codes.append((z, batch.mask))
    s = torch.cat([z.s for z, _ in codes]).mean(0)
    x, d = ((a / b.clamp(min=1)).float() for a, b in (sums[:2], sums[2:]))
    return codes, _Means(x, s, d)


def _measure(method: Method, batch: Batch, z: Codes, means: _Means) -> dict[str, Tensor]:
    """Return all numbers of one batch."""
    batch = replace(batch, alternatives=None)
    x_hat = method.decode(z)
    values = {
        "both": _error(x_hat, batch),
        "s": _error(method.decode(Codes(z.s, means.d.expand_as(z.d))), batch),
        "d": _error(method.decode(Codes(means.s.expand_as(z.s), z.d)), batch),
        "mean": _error(means.x.expand_as(batch.x), batch),
    }
    order = shuffled_order(batch.mask)
    observed = None if batch.observed is None else reorder(batch.observed, order)
    shuffled = method.encode(Batch(reorder(batch.x, order), batch.mask, observed)).s
    values["shuffled"] = (shuffled - z.s).norm(dim=1).mean()
    values["apart"] = torch.cdist(z.s, z.s).sum() / (len(z) * (len(z) - 1))
    values |= _cycles(method, batch, (z, x_hat), means)
    return values | (_costs(method, batch) if isinstance(method, VariationalMethod) else {})


def _error(x_hat: Tensor, batch: Batch) -> Tensor:
    """Return the squared error, mean over counted elements."""
    squared = (x_hat - batch.x).where(batch.valid, 0.0).square().double().sum()
    return squared / batch.valid.expand_as(batch.x).sum()


def _cycles(
    method: Method, batch: Batch, known: tuple[Codes, Tensor], means: _Means
) -> dict[str, Tensor]:
    """Return both cycles: sequence i keeps its d (and its gaps) and gets the s of i + 1.

    The batch is in random order, so these are random pairs.
    """
    z, x_hat = known
    swapped = method.decode(Codes(z.s.roll(-1, 0), z.d))
    after, again = (method.encode(batch.with_x(x)) for x in (swapped, x_hat))
    s = [c.s - means.s for c in (z, after, again)]
    d = [((c.d - means.d) * batch.mask[..., None]).flatten(1) for c in (z, after, again)]
    own = torch.arange(len(z), device=z.s.device)
    return {"static": _cycle(s, own.roll(-1), own), "dynamic": _cycle(d, own, own.roll(-1))}


def _cycle(codes: Sequence[Rows], source: Index, other: Index) -> Float[Tensor, "5"]:
    """Return the fields of a `Cycle` from centred codes: true, after the swap, without a swap."""
    true, after, again = (normalize(rows, dim=1) for rows in codes)
    with torch.autocast(true.device.type, enabled=False):
        table, unswapped = after @ true.T, again @ true.T  # (B, B)
    own = torch.arange(len(true), device=true.device)
    to_source, to_other = table[own, source], table[own, other]
    gap = (to_source - to_other).where((to_source - to_other).abs() > SAME, 0.0)
    agreement = (gap.sign() + 1).mean() / 2
    numbers = (to_source.mean(), to_other.mean(), agreement, _retrieval(table, source))
    return torch.stack([*numbers, _retrieval(unswapped, own)])


def _retrieval(table: Float[Tensor, "B B"], wanted: Index) -> Tensor:
    """Return the share of rows whose largest entry is the wanted one; k ties count 1/k."""
    top = (table >= table.amax(1, keepdim=True) - SAME).float()
    return (top.gather(1, wanted[:, None])[:, 0] / top.sum(1)).mean()


def _costs(method: VariationalMethod, batch: Batch) -> dict[str, Tensor]:
    """Return KL per unit and I(s; d), for one draw of the codes."""
    _, q = method.infer(batch)
    z = q.sample()
    p_d = method.prior(z.d, batch.mask)
    q_s, q_d, p_d = (Gaussian(g.mean[..., None], g.log_var[..., None]) for g in (q.s, q.d, p_d))
    static = {"kl_static": kl_standard(q_s).mean(0)} if method.kl_static_is_standard else {}
    return static | {
        "kl_dynamic": (kl(q_d, p_d) * batch.mask[..., None]).sum(1).mean(0),
        "mutual": static_dynamic(densities(z, q, batch.mask), method.spec.size),
    }


def _units(means: Float[Tensor, "N K"], costs: Tensor | None) -> Units | None:
    active = int((means.var(0, correction=0) > ACTIVE).sum())
    return None if costs is None else Units(active, len(costs), tuple(costs.tolist()))
