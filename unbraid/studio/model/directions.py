"""Directions of s along which sequences differ most, or by which a probe tells a label."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unbraid.data.checks.balance import value_name
from unbraid.data.corpus import Split
from unbraid.records import Factor

Floats = NDArray[np.float64]
MOST_CLASSES = 12  # of a label that get a direction each
FEWEST = 8  # sequences from which directions are found


@dataclass(frozen=True, slots=True)
class Direction:
    """A step in code space of one standard deviation of the sequences.

    Attributes:
        kind: principal, or of a class of a label.
        vector: (S,) added to s for one step.
        factor: the label; of a principal direction the one it goes with most, or empty.
        value: class towards which it leads; empty for a principal direction.
        share: principal: of the variance of s; label: accuracy of the probe, cross-validated.
        linked: principal: share of its variance between the classes of `factor` (η²).
    """

    kind: Literal["principal", "label"]
    vector: Floats
    factor: str = ""
    value: str = ""
    share: float = 0.0
    linked: float = 0.0


def principal_directions(s: NDArray[Any], split: Split, *, count: int = 6) -> list[Direction]:
    """Return the principal directions of s, the largest first, each with the label it goes with.

    Args:
        s: (N, S) of the split.
        split: with labels, which only name the directions.
        count: how many at most.
    """
    centred = s.astype(np.float64) - s.mean(0)
    _, values, rows = np.linalg.svd(centred, full_matrices=False)
    total = float((values**2).sum())
    if len(s) < FEWEST or total < 1e-12:
        return []
    directions = []
    for value, row in list(zip(values, rows, strict=True))[:count]:
        if value**2 < 1e-6 * total:
            break
        factor, linked = _linked(centred @ row, split)
        spread = value / np.sqrt(len(s))
        directions.append(
            Direction("principal", row * spread, factor, "", float(value**2 / total), linked)
        )
    return directions


def label_directions(s: NDArray[Any], split: Split, factor: Factor) -> list[Direction]:
    """Return a direction towards every class of a label per sequence, from a linear probe.

    A probe's weights w also undo what other units have in common, so adding w to s leaves the
    data. Its pattern Σ w (Haufe et al. 2014), with Σ the covariance of s, is what changes with the
    class; it is scaled to one standard deviation of the sequences along it.

    Args:
        s: (N, S) of the split.
        split: with the label.
        factor: the label; one with many classes, few sequences or a class per step has none.
    """
    if factor.per_step or not 2 <= factor.classes <= MOST_CLASSES:
        return []
    labels = split.label(factor.name)
    known = labels >= 0
    classes, counts = np.unique(labels[known], return_counts=True)
    if len(classes) < 2 or counts.min() < 2 or known.sum() < FEWEST:
        return []
    x, y = s[known].astype(np.float64), labels[known]
    weights, accuracy = _linear_probe(x, y)
    covariance = np.cov(x, rowvar=False).reshape(x.shape[1], -1)
    names = [value_name(number, factor.values) for number in classes]
    return [
        Direction("label", _one_deviation(covariance @ w, x), factor.name, name, accuracy)
        for w, name in zip(weights, names, strict=True)
    ]


def _linear_probe(x: Floats, y: NDArray[Any]) -> tuple[Floats, float]:
    """Return weights (classes, S) of a logistic regression on scaled units, and its accuracy."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_score

    scale = x.std(0) + 1e-9
    scaled = (x - x.mean(0)) / scale
    folds = int(min(4, np.unique(y, return_counts=True)[1].min()))
    model = LogisticRegression(C=0.1, max_iter=1000)
    accuracy = float(np.mean(cross_val_score(model, scaled, y, cv=folds)))
    weights = model.fit(scaled, y).coef_ / scale
    return (np.concatenate([-weights, weights]) if len(weights) == 1 else weights), accuracy


def _one_deviation(vector: Floats, x: Floats) -> Floats:
    unit = vector / max(float(np.linalg.norm(vector)), 1e-12)
    return unit * float((x @ unit).std())


def _linked(along: Floats, split: Split) -> tuple[str, float]:
    """Return the label per sequence that a coordinate goes with most, and by how much (η²)."""
    best = ("", 0.0)
    for factor in (*split.spec.static, *split.spec.dynamic):
        labels = split.labels.get(factor.name)
        if labels is None or factor.per_step or not 2 <= factor.classes <= len(along) // 4:
            continue
        known = split.label(factor.name) >= 0
        if not known.any():
            continue
        share = correlation_ratio(along[known], split.label(factor.name)[known])
        if share > best[1]:
            best = (factor.name, share)
    return best


def correlation_ratio(values: NDArray[Any], classes: NDArray[Any]) -> float:
    """Return η²: the share of the variance of values that lies between classes, 0 to 1.

    >>> correlation_ratio(np.array([0.0, 0.0, 2.0, 2.0]), np.array([0, 0, 1, 1]))
    1.0
    """
    total = float(((values - values.mean()) ** 2).sum())
    if total <= 0:
        return 0.0
    between = 0.0
    for one in np.unique(classes):
        members = values[classes == one]
        between += len(members) * float((members.mean() - values.mean()) ** 2)
    return between / total
