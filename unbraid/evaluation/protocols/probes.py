"""Latent probes: what can a plain classifier read from s, and what from d?

The protocol of SPYL's Table 3 and 9 to 11: the codes of the test split, 80 % to train a
scikit-learn classifier with default settings, 20 % to score it, several random splits.
s should tell the static factors and not the dynamic ones; d the reverse.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unbraid.data.corpus import Split
from unbraid.evaluation.manipulate import Embedding
from unbraid.evaluation.metrics.classification import accuracy, chance
from unbraid.records import Factor

Classifier = Literal["svc", "forest", "knn"]


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

    @property
    def wanted(self) -> bool:
        """Whether the code is meant to tell this factor."""
        return (self.code == "s") == (self.role == "static")


def probe(
    codes: Embedding, split: Split, *, classifiers: Sequence[Classifier] = ("svc",),
    seeds: int = 10, limit: int = 3000,
) -> list[ProbeRow]:  # fmt: skip
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
        for code in ("s", "d"):
            features, labels = _examples(codes, split, factor, code, limit)
            for kind in classifiers:
                scores = [_score(kind, features, labels, seed) for seed in range(seeds)]
                rows.append(
                    ProbeRow(
                        code, factor.name, role, kind,  # type: ignore[arg-type]
                        float(np.mean(scores)), float(np.std(scores)), chance(labels),
                    )
                )  # fmt: skip
    return rows


def gaps(rows: Sequence[ProbeRow]) -> dict[str, float]:
    """Return how much better each code tells its own factors than the other code's.

    `s_gap` is the mean accuracy of s on static factors less that on dynamic ones; `d_gap` the
    reverse for d. More is better, 1 at most.
    """

    def mean(code: str, role: str) -> float:
        found = [row.mean for row in rows if row.code == code and row.role == role]
        return float(np.mean(found)) if found else float("nan")

    return {
        "s_gap": mean("s", "static") - mean("s", "dynamic"),
        "d_gap": mean("d", "dynamic") - mean("d", "static"),
    }


def _examples(
    codes: Embedding, split: Split, factor: Factor, code: str, limit: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return features and labels: one example per sequence, or per step for such factors."""
    labels = split.label(factor.name)
    if labels.ndim == 1:
        flat = (codes.d * codes.mask[..., None]).reshape(len(codes.d), -1)
        features = codes.s if code == "s" else flat
    else:
        steps = codes.mask
        s = np.repeat(codes.s[:, None], codes.d.shape[1], axis=1)
        features = (s if code == "s" else codes.d)[steps]
        labels = labels[steps]
    if len(labels) > limit:
        chosen = np.random.default_rng(0).permutation(len(labels))[:limit]
        features, labels = features[chosen], labels[chosen]
    return features, labels


def _score(kind: str, features: NDArray[Any], labels: NDArray[Any], seed: int) -> float:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC

    made = {
        "svc": SVC,
        "forest": lambda: RandomForestClassifier(random_state=seed),
        "knn": KNeighborsClassifier,
    }
    order = np.random.default_rng(seed).permutation(len(labels))
    cut = int(0.8 * len(order))
    train, test = order[:cut], order[cut:]
    if len(np.unique(labels[train])) < 2:
        return float(chance(labels))
    model = made[kind]().fit(features[train], labels[train])
    return accuracy(model.predict(features[test]), labels[test])
