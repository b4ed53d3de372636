"""Separation: one score for how well s and d keep static and dynamic factors apart.

Of every factor with classes, the accuracy above chance from its own code less that from the other
code, each as a share of what is possible and by the strongest of SVC, k-NN and random forest with
default settings. A code that tells nothing cannot be caught leaking, so the reconstruction error
goes with it, as a share of the error of the mean sequence.

Probes are trained on 80 % of the test sequences and scored on the other 20 %. This is repeated
until 400 sequences have been scored, at most five times: codes of pure noise (400 sequences) score
up to 12 % of the way from chance to certainty with one split, up to 7 % with five. Sequences of a
group that the data declare are on one side, as in `probes.py`.

A label per step is read from that step's code (or from s); the steps of one sequence are never on
both sides. A label per sequence is read from the flattened d; of sequences longer than 16 steps,
from the first 16 steps and the mean and standard deviation over all.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from unbraid.data.corpus import Split
from unbraid.evaluation.manipulate import Embedding, reconstruct
from unbraid.evaluation.metrics.classification import chance
from unbraid.evaluation.metrics.separation import above_chance, separation
from unbraid.evaluation.protocols.probes import (
    Classifier,
    ProbeExamples,
    ProbeRow,
    factor_examples,
    probe_accuracy,
)
from unbraid.methods.base import Method
from unbraid.precision import inference
from unbraid.records import Factor

CLASSIFIERS: tuple[Classifier, ...] = ("svc", "knn", "forest")
SCORED_SEQUENCES = 400  # by all random splits of a probe together
MAX_SPLITS = 5
FLAT_STEPS = 16  # of d, as they are; of longer sequences mean and standard deviation besides
Role = Literal["static", "dynamic"]


@dataclass(frozen=True, slots=True)
class FactorShare:
    """How far each code tells one factor: 0 is chance, 1 is certainty."""

    factor: str
    role: Role
    s: float
    d: float
    chance: float  # accuracy of guessing
    s_by: str  # the classifier that is strongest
    d_by: str

    @property
    def own(self) -> float:
        """The share of the code that is meant to tell it."""
        return self.s if self.role == "static" else self.d

    @property
    def other(self) -> float:
        """The share of the code that is not."""
        return self.d if self.role == "static" else self.s


@dataclass(frozen=True, slots=True)
class Separation:
    """The score, its parts by role (NaN where there is no such factor), and every factor."""

    separation: float  # 1 is best, 0 is none, −1 is exchanged
    static_from_s: float
    static_from_d: float
    dynamic_from_d: float
    dynamic_from_s: float
    factors: tuple[FactorShare, ...]


def separate(codes: Embedding, split: Split, *, seeds: int = 0, limit: int = 1000) -> Separation:
    """Return how well the codes of a split keep its factors apart.

    Args:
        codes: of the split, from `embed`.
        split: with labels; factors that are numbers or have one known value are left out.
        seeds: number of random 80/20 splits; 0: as many as score 400 sequences, at most five.
        limit: at most so many examples per probe, drawn at random.

    Raises:
        ValueError: no factor has two classes.
    """
    roles: list[tuple[Factor, Role]] = [(factor, "static") for factor in split.spec.static]
    roles += [(factor, "dynamic") for factor in split.spec.dynamic]
    rows = tuple(
        _share(factor, role, separation_examples(codes, split, factor, limit), seeds=seeds)
        for factor, role in roles
        if count_classes(split, factor) >= 2
    )
    if not rows:
        raise ValueError(
            f"{split.spec.name} has no factor with two classes here, so nothing to separate."
        )

    def mean(role: str, code: str) -> float:
        shares = [getattr(row, code) for row in rows if row.role == role]
        return float(np.mean(shares)) if shares else float("nan")

    return Separation(
        separation(np.array([row.own for row in rows]), np.array([row.other for row in rows])),
        mean("static", "s"),
        mean("static", "d"),
        mean("dynamic", "d"),
        mean("dynamic", "s"),
        rows,
    )


def count_classes(split: Split, factor: Factor) -> int:
    """Return how many classes of a factor occur in a split; 0 of one that is a number."""
    if factor.classes < 2 or factor.name not in split.labels:
        return 0
    return len(np.unique(split.known_labels(factor.name)[0]))


def as_probe_rows(separation: Mapping[str, Any]) -> list[ProbeRow]:
    """Return the shares of a `Separation` (as plain values) as accuracies of probes."""
    return [
        ProbeRow(
            code,
            row["factor"],
            row["role"],
            row[f"{code}_by"],
            row["chance"] + row[code] * (1 - row["chance"]),
            0.0,
            row["chance"],
        )
        for row in separation["factors"]
        for code in ("s", "d")
    ]


def relative_error(method: Method, split: Split, *, limit: int = 1000) -> float:
    """Squared reconstruction error over that of the mean sequence, 0 is best, 1 tells nothing."""
    return reconstruction_errors(method, split, limit=limit)[1]


@inference
def reconstruction_errors(
    method: Method, split: Split, *, limit: int = 1000
) -> tuple[float, float]:
    """Return the mean squared error per element, in the model's units, and the relative error.

    Both are over the counted elements of at most `limit` sequences, spread over the split. The
    relative error is that of the model over that of the mean sequence, which is the mean of every
    element at every step over the same sequences.
    """
    device = next(method.parameters()).device
    part = split.select(np.unique(np.linspace(0, len(split) - 1, limit).astype(int)))
    total, count = torch.zeros((), device=device), torch.zeros((), device=device)
    for batch in part.batches(128, device):
        counts = batch.valid.expand_as(batch.x)
        total = total + batch.x.where(counts, 0.0).double().sum(0)
        count = count + counts.sum(0)
    mean = (total / count.clamp(min=1)).float()
    error, spread = 0.0, 0.0
    for batch in part.batches(128, device):
        guesses = reconstruct(method, batch), mean.expand_as(batch.x)
        a, b = ((x - batch.x).where(batch.valid, 0.0).double().square().sum() for x in guesses)
        error, spread = error + float(a), spread + float(b)
    return error / max(float(count.sum()), 1.0), error / max(spread, 1e-12)


def _share(
    factor: Factor, role: Role, examples: dict[str, ProbeExamples], *, seeds: int
) -> FactorShare:
    """Return how far each code tells a factor, by its strongest classifier."""
    guess = chance(examples["s"].labels)
    splits = seeds or _splits(len(np.unique(examples["s"].groups)))

    def score(kind: Classifier, code: str) -> float:
        runs = (probe_accuracy(kind, examples[code], seed, by_group=True) for seed in range(splits))
        return above_chance(fmean(runs), guess)

    (from_s, s_by), (from_d, d_by) = (
        max((score(kind, code), kind) for kind in CLASSIFIERS) for code in ("s", "d")
    )
    return FactorShare(factor.name, role, from_s, from_d, guess, s_by, d_by)


def _splits(sequences: int) -> int:
    """Return how many random splits score enough sequences (or groups of them).

    >>> [_splits(sequences) for sequences in (150, 400, 700, 1000, 3000)]
    [5, 5, 3, 2, 1]
    """
    return min(MAX_SPLITS, math.ceil(SCORED_SEQUENCES / (0.2 * max(sequences, 1))))


def separation_examples(
    codes: Embedding, split: Split, factor: Factor, limit: int
) -> dict[str, ProbeExamples]:
    """Return what is learned from s and from d, in a random order; see `factor_examples`."""
    return factor_examples(codes, split, factor, limit=limit, shuffled=True, flat=flat_dynamic)


def flat_dynamic(codes: Embedding, rows: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return d as one vector per sequence, (N, K)."""
    d, mask = codes.d[rows], codes.mask[rows, :, None]
    first = (d * mask)[:, :FLAT_STEPS].reshape(len(rows), -1)
    if d.shape[1] <= FLAT_STEPS:
        return first
    count = mask.sum(1).clip(1)
    mean = (d * mask).sum(1) / count
    spread = np.sqrt((((d - mean[:, None]) * mask) ** 2).sum(1) / count)
    return np.concatenate([first, mean, spread], axis=1).astype(np.float32)
