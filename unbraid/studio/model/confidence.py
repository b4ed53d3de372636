"""Sequences whose label a code tells best: what to look at where a code leaks."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unbraid.data.corpus import Split
from unbraid.evaluation.manipulate import Embedding
from unbraid.evaluation.protocols.probes import ProbeExamples, make_classifier
from unbraid.evaluation.protocols.separation import separation_examples
from unbraid.records import Factor


@dataclass(frozen=True, slots=True)
class LabelConfidence:
    """A sequence and what a probe says of its label.

    Attributes:
        position: in the split.
        confidence: probability that a probe trained on other sequences gives to the true class,
            the mean over steps for a label per step.
        label: the true class; of a label per step the most frequent one.
        predicted: the class it finds most probable.
    """

    position: int
    confidence: float
    label: int
    predicted: int


def rank_by_confidence(
    codes: Embedding,
    split: Split,
    factor: Factor,
    *,
    code: Literal["s", "d"],
    classifier: str,
    limit: int = 1000,
) -> list[LabelConfidence]:
    """Return sequences in the order in which a code tells their label, the best first.

    Args:
        codes: of the split, from `embed`.
        split: with the label.
        factor: the label.
        code: which code is read.
        classifier: svc, knn or forest, as in `separate`.
        limit: at most so many examples, as in `separate`.
    """
    examples = separation_examples(codes, split, factor, limit)[code]
    owners = np.asarray(examples.rows)
    if len(np.unique(examples.labels)) < 2:
        raise ValueError(f"{factor.name} has one class only here, so no code can tell it.")
    classes, chances = _held_out(classifier, examples)
    rows = []
    for position in np.unique(owners):
        own = owners == position
        mean = chances[own].mean(0)
        labels, counts = np.unique(examples.labels[own], return_counts=True)
        true = np.searchsorted(classes, examples.labels[own])
        confidence = float(chances[own, true].mean())
        label = int(labels[np.argmax(counts)])
        rows.append(
            LabelConfidence(int(position), confidence, label, int(classes[np.argmax(mean)]))
        )
    return sorted(rows, key=lambda row: -row.confidence)


def _held_out(kind: str, examples: ProbeExamples) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return the classes, and their probabilities (N, classes) from probes of other groups."""
    from sklearn.model_selection import GroupKFold

    classes = np.unique(examples.labels)
    chances = np.zeros((len(examples.labels), len(classes)))
    folds = min(5, len(np.unique(examples.groups)))
    for train, test in GroupKFold(folds).split(examples.labels, groups=examples.groups):
        if len(np.unique(examples.labels[train])) < 2:
            continue
        model = make_classifier(kind, 0, len(train))
        model.fit(examples.features[train], examples.labels[train])
        columns = np.searchsorted(classes, model.classes_)
        chances[test[:, None], columns] = _probabilities(model, examples.features[test])
    return classes, chances


def _probabilities(model: Any, features: NDArray[Any]) -> NDArray[np.float64]:
    """Return probabilities; of a support-vector classifier the softmax of its decision values."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(features))
    scores = np.asarray(model.decision_function(features))
    if scores.ndim == 1:
        scores = np.stack([-scores, scores], axis=1)
    scores = np.exp(scores - scores.max(1, keepdims=True))
    return scores / scores.sum(1, keepdims=True)
