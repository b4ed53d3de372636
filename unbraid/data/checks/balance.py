"""How often every label occurs in every split. Nothing is judged here."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from unbraid.data.collection import PARTS
from unbraid.data.corpus import Array, Corpus
from unbraid.records import Factor

MOST_LISTED = 200  # values of a label that are counted one by one
Role = Literal["static", "dynamic", "other"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A label and how often its values occur.

    Attributes:
        name: of the label.
        role: a static or dynamic factor, or something else, such as a group.
        per_step: one value per step, else one per sequence.
        values: number of different known values in all splits; 0 if it is a number.
        low: least number, if it is a number.
        high: greatest number, if it is a number.
        counts: split -> value -> how often; empty if there are too many values.
        largest: share of the most frequent value in training.
        unknown: share of training that has no value.
        unseen: values of the test split that training does not have, at most `MOST_LISTED`.
    """

    name: str
    role: Role
    per_step: bool
    values: int
    low: float | None
    high: float | None
    counts: Mapping[str, Mapping[str, int]]
    largest: float
    unknown: float
    unseen: tuple[str, ...]

    @property
    def has_balance(self) -> bool:
        """Whether values were counted and any occurs twice: names of single files have none."""
        return any(n > 1 for counts in self.counts.values() for n in counts.values())


def weigh_labels(corpus: Corpus) -> tuple[Label, ...]:
    """Return every label of the corpus, factors first; `split` itself is none."""
    spec = corpus.spec
    factors = {factor.name: factor for factor in (*spec.static, *spec.dynamic)}
    roles: dict[str, Role] = {factor.name: "static" for factor in spec.static}
    roles |= {factor.name: "dynamic" for factor in spec.dynamic}
    there = corpus.train.labels
    names = [n for n in factors if n in there]
    names += [n for n in there if n not in factors and n != "split"]
    return tuple(_weigh(corpus, n, roles.get(n, "other"), factors.get(n)) for n in names)


def _weigh(corpus: Corpus, name: str, role: Role, factor: Factor | None) -> Label:
    labels = {part: corpus.split(part).known_labels(name) for part in PARTS}
    train, every = labels["train"][0], np.concatenate([known for known, _ in labels.values()])
    number = every.dtype.kind == "f"
    values = np.unique(every)
    words = factor.values if factor is not None else ()
    counts = {}
    if not number and len(values) <= MOST_LISTED:
        counts = {part: _count(known, words) for part, (known, _) in labels.items()}
    often = np.unique(train, return_counts=True)[1]
    unseen = [] if number else np.setdiff1d(labels["test"][0], train)[:MOST_LISTED].tolist()
    return Label(
        name=name,
        role=role,
        per_step=corpus.train.labels[name].ndim == 2,
        values=0 if number else len(values),
        low=float(values[0]) if number and len(values) else None,
        high=float(values[-1]) if number and len(values) else None,
        counts=counts,
        largest=float(often.max() / often.sum()) if len(often) else 0.0,
        unknown=labels["train"][1],
        unseen=tuple(value_name(v, words) for v in unseen),
    )


def _count(known: Array, words: tuple[str, ...]) -> dict[str, int]:
    values, often = np.unique(known, return_counts=True)
    return {value_name(v, words): int(n) for v, n in zip(values, often, strict=True)}


def value_name(value: object, words: tuple[str, ...]) -> str:
    """Return the name of a class, or the value itself where there is none.

    >>> value_name(1, ("low", "high")), value_name(7, ()), value_name("ann", ())
    ('high', '7', 'ann')
    """
    named = isinstance(value, int | np.integer) and 0 <= value < len(words)
    return words[int(value)] if named else str(value)  # type: ignore[call-overload]
