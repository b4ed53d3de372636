"""Latent probes: what can a plain classifier read from s, and what from d?

The protocol of SPYL's Table 3 and 9 to 11: the codes of the test split, 80 % to train a
scikit-learn classifier with default settings, 20 % to score it, several random splits.
s should tell the static factors and not the dynamic ones; d the reverse.

Departures:
* Where the data declare a group (`Split.group`: the pieces of a recording, stations that share the
  weather of a month), the sequences of a group are never on both sides. A factor whose classes are
  groups themselves, so that nothing would be left to learn them from, is split by sequence;
  `ProbeRow.group` says which was done.
* The steps of one sequence are never on both sides either. s is the same at all of them, so a
  classifier would look the sequence up and pass for reading a label per step from s.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unbraid.data.corpus import Split
from unbraid.evaluation.manipulate import Embedding
from unbraid.evaluation.metrics.classification import accuracy, chance
from unbraid.records import Factor

Classifier = Literal["svc", "forest", "knn"]
TREES = 100  # of a random forest, scikit-learn's default
MOST_CLASSES = 100  # of a factor that are probed


@dataclass(frozen=True, slots=True)
class ProbeRow:
    """Accuracy of one factor read from one code; mean and std over random splits."""

    code: Literal["s", "d"]
    factor: str
    role: Literal["static", "dynamic"]
    classifier: str
    mean: float
    std: float
    chance: float
    group: str = ""
    """Label whose sequences were kept on one side of every split; empty: split by sequence."""
    left_out: int = 0
    """Classes that were not probed because there are very many: the most frequent ones were."""

    @property
    def wanted(self) -> bool:
        """Whether the code is meant to tell this factor."""
        return (self.code == "s") == (self.role == "static")


def probe(
    codes: Embedding,
    split: Split,
    *,
    classifiers: Sequence[Classifier] = ("svc",),
    seeds: int = 10,
    limit: int = 3000,
) -> list[ProbeRow]:
    """Return a row per code, factor and classifier.

    Args:
        codes: of the split, from `embed`.
        split: the test split; its labels are read here and nowhere else.
        classifiers: which scikit-learn classifiers to try.
        seeds: number of random 80/20 splits.
        limit: at most so many examples per probe (factors with a label per step have many).
    """
    roles = [(f, "static") for f in split.spec.static] + [
        (f, "dynamic") for f in split.spec.dynamic
    ]
    rows = []
    for factor, role in roles:
        if factor.classes < 2:
            continue
        by_code = factor_examples(codes, split, factor, limit=limit)
        for code, examples in by_code.items():
            if not len(examples.labels):
                continue
            by_group = bool(examples.group) or split.label(factor.name).ndim == 2
            for kind in classifiers:
                scores = [probe_accuracy(kind, examples, seed, by_group) for seed in range(seeds)]
                rows.append(
                    ProbeRow(
                        code,  # type: ignore[arg-type]
                        factor.name,
                        role,  # type: ignore[arg-type]
                        kind,
                        float(np.mean(scores)),
                        float(np.std(scores)),
                        chance(examples.labels),
                        examples.group,
                        examples.left_out,
                    )
                )
    return rows


def gaps(rows: Sequence[ProbeRow]) -> dict[str, float]:
    """Return how much better each code tells its own factors than the other code's.

    `s_gap` is the mean accuracy of s on static factors less that on dynamic ones; `d_gap` the
    reverse for d. More is better, 1 at most.
    """

    def mean(code: str, role: str) -> float:
        means = [row.mean for row in rows if row.code == code and row.role == role]
        return float(np.mean(means)) if means else float("nan")

    return {
        "s_gap": mean("s", "static") - mean("s", "dynamic"),
        "d_gap": mean("d", "dynamic") - mean("d", "static"),
    }


@dataclass(frozen=True, slots=True)
class ProbeExamples:
    """What a classifier learns from: a row per sequence, or per step."""

    features: NDArray[Any]
    labels: NDArray[Any]
    groups: NDArray[Any]
    left_out: int
    rows: NDArray[Any] | None = None
    """Position in the split of every example, where it is asked for."""
    group: str = ""
    """Label that `groups` are; empty: every sequence is a group of its own."""


def whole_dynamic(codes: Embedding, rows: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return all steps of d as one vector per sequence, zeros at padding, (N, T D)."""
    return (codes.d[rows] * codes.mask[rows][..., None]).reshape(len(rows), -1)


def factor_examples(
    codes: Embedding,
    split: Split,
    factor: Factor,
    *,
    limit: int,
    shuffled: bool = False,
    flat: Callable[[Embedding, NDArray[np.int64]], NDArray[np.float32]] = whole_dynamic,
) -> dict[str, ProbeExamples]:
    """Return what is learned from s and from d: a row per sequence, or per step and its code.

    Groups are the data's own, else the sequences. `rows` are positions in the split.

    Args:
        codes: of the split, from `embed`.
        split: with the labels; those that are unknown give no example.
        factor: the label.
        limit: at most so many examples, drawn at random.
        shuffled: put them in a random order even if all are taken.
        flat: d of sequences, by their positions in the split, as one vector each.
    """
    labels, rows, steps = split.label(factor.name), np.arange(len(split)), None
    if labels.ndim == 2:
        rows, steps = np.nonzero(codes.mask)
        labels = labels[rows, steps]
    chosen, left_out = frequent_classes(labels)
    if shuffled or len(chosen) > limit:
        chosen = chosen[np.random.default_rng(0).permutation(len(chosen))[:limit]]
    rows, labels = rows[chosen], labels[chosen]
    features = {
        "s": codes.s[rows],
        "d": flat(codes, rows) if steps is None else codes.d[rows, steps[chosen]],
    }
    group, groups = split.group, split.label(split.group)[rows] if split.group else rows
    if group and not can_group(labels, groups):
        group, groups = "", rows
    return {
        code: ProbeExamples(values, labels, groups, left_out, rows, group)
        for code, values in features.items()
    }


def frequent_classes(labels: NDArray[Any]) -> tuple[NDArray[np.int64], int]:
    """Return the examples of the most frequent known classes, and how many classes are others.

    An SVC trains a classifier for every pair of classes: of thousands it would take hours.
    """
    known = np.flatnonzero(labels >= 0)
    classes, counts = np.unique(labels[known], return_counts=True)
    if len(classes) <= MOST_CLASSES:
        return known, 0
    frequent = classes[np.argsort(-counts, kind="stable")[:MOST_CLASSES]]
    return known[np.isin(labels[known], frequent)], len(classes) - MOST_CLASSES


def can_group(labels: NDArray[Any], groups: NDArray[Any]) -> bool:
    """Say whether nine in ten examples are of a class that occurs in two groups or more."""
    if not len(labels):
        return False
    labels, groups = (np.unique(part, return_inverse=True)[1].ravel() for part in (labels, groups))
    pairs = np.unique(np.stack([labels, groups]), axis=1)
    several = np.bincount(pairs[0]) > 1
    return bool(several[labels].mean() >= 0.9)


def _cut(examples: ProbeExamples, seed: int, by_group: bool) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the examples to learn from (80 %) and those to score (20 %), or so many groups."""
    from sklearn.model_selection import GroupShuffleSplit

    if by_group:
        splitter = GroupShuffleSplit(n_splits=1, test_size=0.2, random_state=seed)
        train, test = next(splitter.split(examples.labels, groups=examples.groups))
        return train, test
    order = np.random.default_rng(seed).permutation(len(examples.labels))
    cut = int(0.8 * len(order))
    return order[:cut], order[cut:]


def probe_accuracy(kind: str, examples: ProbeExamples, seed: int, by_group: bool) -> float:
    """Return the accuracy on a fifth of the examples of a classifier trained on the others.

    Chance, if only one class or no example is left to train on.

    Args:
        kind: of `Classifier`, with scikit-learn's default settings.
        examples: to be split.
        seed: decides the split.
        by_group: keep the examples of a group on one side.
    """
    features, labels = examples.features, examples.labels
    if by_group and len(np.unique(examples.groups)) < 2:
        return float(chance(labels))
    train, test = _cut(examples, seed, by_group)
    if len(np.unique(labels[train])) < 2:
        return float(chance(labels))
    model = make_classifier(kind, seed, len(train)).fit(features[train], labels[train])
    return accuracy(model.predict(features[test]), labels[test])


def make_classifier(kind: str, seed: int, count: int) -> Any:
    """Return a scikit-learn classifier with default settings, to be fitted to `count` examples."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC

    if kind == "svc":
        return SVC()
    if kind == "forest":
        return RandomForestClassifier(TREES, random_state=seed)
    return KNeighborsClassifier(n_neighbors=min(5, count))
