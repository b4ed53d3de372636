"""Do positive views keep what they should? After SPYL's section 5.6.

A positive of an anchor is a sequence of the nearest third by posterior KL. Nearest by s, it should
have the anchor's static labels and no more of its dynamic ones than chance; by d the reverse.

Departures: the paper trains classifiers on the codes of views and draws their accuracy over
training. Here the labels of the positives themselves are compared with the anchor's, so nothing is
trained, and chance is exact: the share among all other sequences of the same batches.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbraid.data.corpus import Split
from unbraid.data.labels import where_known
from unbraid.evaluation.protocols.thirds import (
    BatchPosterior,
    Code,
    batch_posteriors,
    distances,
    thirds_of,
)
from unbraid.methods.base import VariationalMethod
from unbraid.records import Factor

Role = Literal["static", "dynamic"]
Table = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ViewRow:
    """Share of positives with the anchor's label, 0 to 1, next to that of all others."""

    step: int
    code: Code
    factor: str
    role: Role
    share: float
    chance: float

    @property
    def wanted(self) -> bool:
        """Whether positives by this code are meant to share this factor."""
        return (self.code == "s") == (self.role == "static")


def view_quality(
    checkpoints: Iterable[tuple[int, VariationalMethod]],
    split: Split,
    *,
    limit: int = 512,
    batch_size: int = 128,
    seed: int = 0,
) -> list[ViewRow]:
    """Return a row per checkpoint, factor and code.

    Args:
        checkpoints: (step, model) of one or several; read one by one, so a generator may load them.
        split: where to measure; its labels are read here and nowhere else.
        limit: at most so many sequences, drawn at random.
        batch_size: sequences per batch; thirds are taken within a batch.
        seed: decides the draw, the same for all checkpoints.
    """
    rows = []
    for step, method in checkpoints:
        posteriors = batch_posteriors(method, split, limit=limit, batch_size=batch_size, seed=seed)
        rows += batch_rows(step, posteriors, split)
    return rows


def batch_rows(step: int, posteriors: list[BatchPosterior], split: Split) -> list[ViewRow]:
    """Return a row per factor and code for batches a model has seen."""
    near = [_positives(one) for one in posteriors]
    rows = []
    for factor, role in _labelled(split):
        labels = split.label(factor.name)
        tables = [agreement(labels[one.rows], one.mask.cpu().numpy()) for one in posteriors]
        chance = _mean([_mean(_others(table)) for table in tables])
        for code in near[0]:
            pairs = zip(tables, near, strict=True)
            share = _mean([_mean(table[positive[code]]) for table, positive in pairs])
            rows.append(ViewRow(step, code, factor.name, role, share, chance))
    return rows


def agreement(labels: NDArray[Any], mask: NDArray[np.bool_]) -> Table:
    """Return (B, B): 1 where two sequences have one label, 0 where not, NaN where one is unknown.

    For a label per step it is the share of equal ones among the steps at which both are known.

    >>> agreement(np.array([[1, 2], [1, 3]]), np.ones((2, 2), dtype=bool)).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    same, known = labels[:, None] == labels[None], where_known(labels, mask)
    both = known[:, None] & known[None]  # (B, B) or (B, B, T)
    if labels.ndim == 1:
        return np.where(both, same, np.nan)
    count = both.sum(-1)
    return np.where(count > 0, (same & both).sum(-1) / count.clip(min=1), np.nan)


def _positives(posteriors: BatchPosterior) -> dict[Code, NDArray[np.bool_]]:
    """Return (B, B) of each code: True at the nearest third of an anchor (row)."""
    kl = distances(posteriors.q, posteriors.mask)
    return {code: thirds_of(table)[0].cpu().numpy() for code, table in kl.items()}


def _labelled(split: Split) -> list[tuple[Factor, Role]]:
    """Return the factors with known classes; numbers to be regressed are hardly ever equal."""
    static: list[tuple[Factor, Role]] = [(factor, "static") for factor in split.spec.static]
    dynamic: list[tuple[Factor, Role]] = [(factor, "dynamic") for factor in split.spec.dynamic]
    return [
        (factor, role)
        for factor, role in static + dynamic
        if factor.classes > 1 and (split.label(factor.name) >= 0).any()
    ]


def _mean(values: ArrayLike) -> float:
    """Return the mean of what is not NaN; NaN if there is nothing else."""
    values = np.asarray(values, dtype=np.float64)
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def _others(table: Table) -> Table:
    """Return the entries off the diagonal."""
    return table[~np.eye(len(table), dtype=bool)]
