"""Leakage without labels: what a model's own codes, decoded and read again, give away.

* Cycle: decode (s of a, d of b) and encode the result. A clean model reads a's s and b's d.
* Shares: how much of the data each code explains with the other one fixed at its mean.
* Units: how many are in use, and what they cost in nats.
* Order: s of shuffled frames should be s of the frames.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import log

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import normalize

from unbraid.data.corpus import Split
from unbraid.evaluation.protocols.probes import ProbeRow
from unbraid.methods.base import Method, VariationalMethod
from unbraid.objectives.divergence import kl, kl_standard
from unbraid.objectives.mutual import densities, static_dynamic
from unbraid.records import Batch, Codes, Gaussian
from unbraid.training.module import seed_draws
from unbraid.views.time import reorder, shuffled_order

Rows = Float[Tensor, "B K"]
Index = Int[Tensor, " B"]
Coded = tuple[Codes, Tensor]  # with the mask
ACTIVE = 0.01  # variance over the data above which a posterior mean is in use
FEW_UNITS = 0.05  # share of active units below which a code is hardly used
ADDS_NOTHING = 0.02  # share of what both codes explain that one must add to the other
POOR = 0.5  # share explained by both codes below which nothing can be said of them
AGREES = 0.75  # share of swapped pairs whose code must stay with its giver (0.5 is a coin)
READABLE = 3.0  # times chance that retrieval without a swap must reach to say anything
MOVES = 0.5  # change of s by shuffling, in distances between sequences
LEAKS = 0.2  # share of the way from chance to certainty at which a probe tells a factor
SAME = 1e-6  # cosines nearer than this are a tie
_ADVICE = {
    "d": "try a smaller d (method.dynamic_dim) or dbse",
    "s": "try a smaller s (method.static_dim) or cdsvae",
}


@dataclass(frozen=True, slots=True)
class Cycle:
    """A code after a swap, compared with its giver and with the other of the pair.

    Cosines are of codes less their mean over the data (d: the trajectory, zeros at padding).
    """

    kept: float  # mean cosine with the giver's code; 1 is best
    other: float  # mean cosine with the other's code
    agreement: float  # share of pairs in which the giver is nearer; a tie counts half
    retrieval: float  # share whose nearest code in the batch is the giver's; k ties count 1/k
    unswapped: float  # the same without a swap: what re-encoding alone can reach


@dataclass(frozen=True, slots=True)
class Units:
    """Use of a code: active units have a posterior mean that varies more than `ACTIVE`."""

    active: int
    total: int
    kl: tuple[float, ...]  # of each unit, mean over sequences (d: summed over steps), in nats


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All numbers of a diagnosis; `None` where a method has no posterior to ask."""

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


@torch.inference_mode()
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
    seen = zip(part.batches(size, device), codes, strict=True)
    rows = [_measure(method, batch, z, means) for batch, (z, _) in seen]
    found = {name: torch.stack([row[name] for row in rows]).mean(0).cpu() for name in rows[0]}
    share = {k: 1 - float(found[k] / found["mean"].clamp(min=1e-12)) for k in ("both", "s", "d")}
    s, d = (torch.cat(column) for column in zip(*((z.s, z.d[m]) for z, m in codes), strict=True))
    return Diagnosis(
        sequences=len(chosen), batch=size,
        static_cycle=Cycle(*found["static"].tolist()),
        dynamic_cycle=Cycle(*found["dynamic"].tolist()),
        explained=share["both"], explained_by_static=share["s"], explained_by_dynamic=share["d"],
        order_change=float(found["shuffled"] / found["apart"].clamp(min=1e-12)),
        static_units=_units(s, found.get("kl_static")),
        dynamic_units=_units(d, found.get("kl_dynamic")),
        mutual=float(found["mutual"]) if "mutual" in found else None,
        mutual_range=(log(method.spec.size), log(method.spec.size * size)),
    )  # fmt: skip


def _first_look(method: Method, batches: Iterable[Batch]) -> tuple[list[Coded], _Means]:
    """Return codes and mask of every batch, and the means over counted elements."""
    codes, sums = [], [torch.zeros(())] * 4
    for batch in batches:
        z = method.encode(batch)
        counts, steps = batch.counts.expand_as(batch.x), batch.mask[..., None]
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
    found = {
        "both": _error(x_hat, batch),
        "s": _error(method.decode(Codes(z.s, means.d.expand_as(z.d))), batch),
        "d": _error(method.decode(Codes(means.s.expand_as(z.s), z.d)), batch),
        "mean": _error(means.x.expand_as(batch.x), batch),
    }
    order = shuffled_order(batch.mask)
    observed = None if batch.observed is None else reorder(batch.observed, order)
    shuffled = method.encode(Batch(reorder(batch.x, order), batch.mask, observed)).s
    found["shuffled"] = (shuffled - z.s).norm(dim=1).mean()
    found["apart"] = torch.cdist(z.s, z.s).sum() / (len(z) * (len(z) - 1))
    found |= _cycles(method, batch, (z, x_hat), means)
    return found | (_costs(method, batch) if isinstance(method, VariationalMethod) else {})


def _error(x_hat: Tensor, batch: Batch) -> Tensor:
    """Return the squared error, mean over counted elements."""
    squared = (x_hat - batch.x).where(batch.counts, 0.0).square().double().sum()
    return squared / batch.counts.expand_as(batch.x).sum()


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


def _cycle(codes: Sequence[Rows], giver: Index, other: Index) -> Float[Tensor, "5"]:
    """Return the fields of a `Cycle` from centred codes: true, after the swap, without a swap."""
    true, after, again = (normalize(rows, dim=1) for rows in codes)
    table, own = after @ true.T, torch.arange(len(true), device=true.device)  # (B, B)
    kept, lost = table[own, giver], table[own, other]
    gap = (kept - lost).where((kept - lost).abs() > SAME, 0.0)
    agreement = (gap.sign() + 1).mean() / 2
    retrieval, unswapped = _retrieval(table, giver), _retrieval(again @ true.T, own)
    return torch.stack([kept.mean(), lost.mean(), agreement, retrieval, unswapped])


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
    return {
        "kl_static": kl_standard(q_s).mean(0),
        "kl_dynamic": (kl(q_d, p_d) * batch.mask[..., None]).sum(1).mean(0),
        "mutual": static_dynamic(densities(z, q, batch.mask), method.spec.size),
    }


def _units(means: Float[Tensor, "N K"], costs: Tensor | None) -> Units | None:
    active = int((means.var(0, correction=0) > ACTIVE).sum())
    return None if costs is None else Units(active, len(costs), tuple(costs.tolist()))


def verdict(diagnosis: Diagnosis, probes: Sequence[ProbeRow] | None = None) -> list[str]:
    """Say what the numbers show and what could be tried.

    Args:
        diagnosis: from `diagnose`.
        probes: what classifiers read from the codes, where there are labels.
    """
    g = diagnosis
    said = [*_use(g), *_swaps(g), *_probes(probes or ())]
    if g.order_change > MOVES:
        said.append(
            f"s changes when frames are shuffled: by {_pc(g.order_change)} of the distance between "
            f"two sequences, so it holds order or single frames; {_ADVICE['s']}."
        )
    s, d = _pc(g.static_cycle.agreement), _pc(g.dynamic_cycle.agreement)
    return said or [
        f"No sign of leakage: after a swap s stays with its giver in {s} of pairs and d in {d}; "
        f"both codes explain {_pc(g.explained)} of the data."
    ]


def _use(g: Diagnosis) -> Iterator[str]:
    """Say whether the model works at all and uses both codes."""
    if g.explained < POOR:
        yield f"Both codes explain {_pc(g.explained)} of the data only: train longer, then judge."
    by_static, by_dynamic = g.explained_by_static, g.explained_by_dynamic
    for code, rest, share in (("s", "d", by_dynamic), ("d", "s", by_static)):
        if g.explained > 0 and g.explained - share < ADDS_NOTHING * g.explained:
            yield (
                f"{code} adds little: {rest} alone explains {_pc(share)} of the data, both "
                f"{_pc(g.explained)}, so {rest} carries nearly all; {_ADVICE[rest]}."
            )
    for code, name, units in (("s", "static", g.static_units), ("d", "dynamic", g.dynamic_units)):
        if units is not None and units.active < max(1.0, FEW_UNITS * units.total):
            yield (
                f"{code} is hardly used: {units.active} of {units.total} units active; "
                f"lower method.w_kl_{name}."
            )


def _swaps(g: Diagnosis) -> Iterator[str]:
    """Say which code went with the wrong sequence."""
    for code, rest, cycle in (("s", "d", g.static_cycle), ("d", "s", g.dynamic_cycle)):
        if cycle.unswapped < min(READABLE / g.batch, 0.9):
            yield (
                f"{code} cannot be read back from what is decoded: without any swap the right one "
                f"of {g.batch} is found in {_pc(cycle.unswapped)}; swaps say little about it."
            )
        elif cycle.agreement < AGREES:
            what = "stays" if code == "s" else "moves"
            yield (
                f"{rest} carries what {what}: after a swap {code} agrees with its giver in "
                f"{_pc(cycle.agreement)} of pairs, else with the giver of {rest}; {_ADVICE[rest]}."
            )


def _probes(rows: Sequence[ProbeRow]) -> Iterator[str]:
    """Say what classifiers read where they should not, and do not read where they should."""
    for row in rows:
        tells = (row.mean - row.chance) / max(1e-9, 1 - row.chance) > LEAKS
        numbers = f"{_pc(row.mean)} against {_pc(row.chance)} chance"
        if tells and not row.wanted:
            yield f"{row.code} carries {row.factor}: {numbers}; {_ADVICE[row.code]}."
        if row.wanted and not tells:
            yield f"{row.code} does not tell {row.factor}: {numbers}; train longer or enlarge it."


def _pc(share: float) -> str:
    return f"{100 * share:.0f} %"
