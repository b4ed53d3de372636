"""Judged generation: keep one code, draw the other from the prior, and let a judge look.

Keep d and draw s: the dynamic factors must stay (accuracy high) and the static ones be anyone's
(chance). Keep s and draw d: the reverse. The kept code is the posterior mean. Beside the accuracy
of every factor stand IS, H(y|x) and H(y) of factors with one label per sequence, computed after
every class was cut to the size of the smallest, as the authors do. Unknown labels do not count.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from unbraid.data.corpus import Split
from unbraid.data.labels import where_known
from unbraid.evaluation.judge import Predictions, Role
from unbraid.evaluation.metrics.classification import chance
from unbraid.evaluation.metrics.generation import (
    balanced,
    bootstrap_interval,
    entropy,
    inception_score,
    inter_entropy,
    intra_entropy,
)
from unbraid.methods.base import Method
from unbraid.precision import inference
from unbraid.records import Batch, Codes, Factor
from unbraid.seeding import seed_draws

Kept = Literal["s", "d", "both", "data", "prior"]
Figure = tuple[float, float, float, float, float]
"""Mean, std, low, high, chance."""
BATCH = 128


@runtime_checkable
class Reader(Protocol):
    """What a protocol wants of a judge."""

    factors: tuple[tuple[Factor, Role], ...]

    def predict(self, batch: Batch) -> Predictions:
        """Return class probabilities of every factor."""


@dataclass(frozen=True, slots=True)
class JudgedRow:
    """One figure of one factor.

    Attributes:
        kept: the code that was kept; "both" is reconstruction, "data" the true sequences, "prior"
            sequences whose codes are both drawn.
        factor: its name.
        role: whether it is meant to be in s or in d.
        metric: accuracy, inception_score, intra_entropy or inter_entropy; of "prior": agreement.
        mean: over repeats.
        std: over repeats.
        low: lower end of the 95 % bootstrap interval over sequences, all repeats pooled.
        high: its upper end.
        chance: of naming the most frequent class; for the scores, of uniform guesses; of agreement,
            that of two samples with nothing in common.
    """

    kept: Kept
    factor: str
    role: Role
    metric: str
    mean: float
    std: float
    low: float
    high: float
    chance: float


@dataclass(frozen=True, slots=True)
class LeakageRow:
    """Mean accuracy over the factors of each role with one code kept; None without such factors.

    `gap` is how much better the kept code's own factors are told than the others: more is better.
    Guessing gives the difference of the two chance levels, not zero.
    """

    kept: Kept
    static: float | None
    static_chance: float | None
    dynamic: float | None
    dynamic_chance: float | None
    gap: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Draws:
    """What is drawn anew for every sequence."""

    repeats: int = 5  # how often
    seed: int = 0  # decides the draws, which are the same for both sides
    means: bool = False  # drawn d are the means along a path from the prior, as the authors do
    sides: tuple[Literal["d", "s"], ...] = ("d", "s")  # which codes are kept in turn

    def __post_init__(self) -> None:
        if self.repeats < 1:
            raise ValueError(f"repeats must be 1 or more, got {self.repeats}.")


@inference
def judge_generations(
    method: Method, judge: Reader, split: Split, draws: Draws | None = None
) -> list[JudgedRow]:
    """Return what the judge says with d kept and with s kept.

    Args:
        method: the model, in evaluation mode.
        judge: of the same data.
        split: the test split, or some of it.
        draws: what is drawn, and how often.
    """
    c = draws or Draws()
    device = next(method.parameters()).device
    codes = [method.encode(batch) for batch in split.batches(BATCH, device)]
    predictions: dict[Kept, list[list[Predictions]]] = {code: [] for code in c.sides}
    for repeat in range(c.repeats):
        seed_draws(c.seed, "use", repeat)
        parts: dict[Kept, list[Predictions]] = {code: [] for code in c.sides}
        for batch, z in zip(split.batches(BATCH, device), codes, strict=True):
            samples = method.sample(len(batch), batch.x.shape[1], means=c.means)
            for code in c.sides:
                mixed = Codes(samples.s, z.d) if code == "d" else Codes(z.s, samples.d)
                parts[code].append(judge.predict(batch.with_x(method.decode(mixed))))
        for code in c.sides:
            predictions[code].append(parts[code])
    return [row for code in c.sides for row in _rows(code, predictions[code], judge, split, c.seed)]


@inference
def judge_controls(
    method: Method, judge: Reader, split: Split, *, seed: int = 0
) -> list[JudgedRow]:
    """Return what the judge says of reconstructions and of the true sequences (the ceiling)."""
    device = next(method.parameters()).device
    both, data = [], []
    for batch in split.batches(BATCH, device):
        both.append(judge.predict(batch.with_x(method.decode(method.encode(batch)))))
        data.append(judge.predict(batch))
    return [*_rows("both", [both], judge, split, seed), *_rows("data", [data], judge, split, seed)]


@inference
def judge_samples(
    method: Method, judge: Reader, split: Split, draws: Draws | None = None
) -> list[JudgedRow]:
    """Return how often a drawn code keeps its factors when the other code is drawn anew.

    Nothing is encoded, so generators without an encoder can be compared, too. A dynamic factor
    agrees if the judge names the same class for one drawn d with two drawn s, a static one for one
    drawn s with two drawn d. A model whose samples all look alike agrees fully: look at the chance
    level, which is that of two sequences with nothing in common.

    Args:
        method: the model, in evaluation mode.
        judge: of the same data.
        split: gives the number of sequences and their length.
        draws: what is drawn, and how often.
    """
    c, device = draws or Draws(), next(method.parameters()).device
    pairs: dict[str, list[NDArray[Any]]] = {factor.name: [] for factor, _ in judge.factors}
    for repeat in range(c.repeats):
        seed_draws(c.seed, "use", repeat)
        parts: dict[str, list[NDArray[Any]]] = {name: [] for name in pairs}
        for batch in split.batches(BATCH, device):
            size = (len(batch), batch.x.shape[1])
            one, other = (method.sample(*size, means=c.means) for _ in range(2))
            mixed = (one, Codes(other.s, one.d), Codes(one.s, other.d))
            drawn, same_d, same_s = (
                judge.predict(batch.with_x(method.decode(codes))) for codes in mixed
            )
            for factor, role in judge.factors:
                both = (drawn, same_d if role == "dynamic" else same_s)
                parts[factor.name].append(np.stack([p[factor.name].argmax(-1) for p in both]))
        for name in pairs:
            pairs[name].append(np.concatenate(parts[name], 1))
    steps = split.existing
    return [
        JudgedRow("prior", factor.name, role, "agreement", *_agreement(classes, steps, c.seed))
        for (factor, role), classes in zip(
            judge.factors, map(np.stack, pairs.values()), strict=True
        )
    ]


def _agreement(classes: NDArray[Any], steps: NDArray[np.bool_], seed: int) -> Figure:
    """Return the share of equal classes of (R, 2, N) pairs, or (R, 2, N, T) over existing steps."""
    if classes.ndim == 3:
        classes, steps = classes[..., None], np.ones((classes.shape[-1], 1), dtype=bool)
    # Two sequences with nothing in common can agree because a step has a usual class.
    guess = 0.0
    for t, exists in enumerate(steps.T):
        shares = np.unique(classes[..., exists, t], return_counts=True)[1]
        guess += exists.sum() / steps.sum() * ((shares / shares.sum()) ** 2).sum()
    return *_share(classes[:, 0] == classes[:, 1], steps, seed), float(guess)


def leakage_table(rows: Sequence[JudgedRow]) -> list[LeakageRow]:
    """Return the accuracies of both directions, their chance levels and gaps."""
    table = []
    for code in ("s", "d"):
        accuracies = [row for row in rows if row.kept == code and row.metric == "accuracy"]
        static, dynamic = (_side(accuracies, role) for role in ("static", "dynamic"))
        own, other = (static, dynamic) if code == "s" else (dynamic, static)
        gap = None if own[0] is None or other[0] is None else own[0] - other[0]
        table.append(LeakageRow(code, *static, *dynamic, gap))
    return table


def _side(rows: Sequence[JudgedRow], role: str) -> tuple[float | None, float | None]:
    """Return mean accuracy and mean chance over the factors of a role."""
    factor_rows = [row for row in rows if row.role == role]
    if not factor_rows:
        return None, None
    return float(np.mean([r.mean for r in factor_rows])), float(
        np.mean([r.chance for r in factor_rows])
    )


def _rows(
    code: Kept, predictions: list[list[Predictions]], judge: Reader, split: Split, seed: int
) -> list[JudgedRow]:
    """Return every figure of every factor that is known; `predictions` is by repeat, then batch."""
    mask = split.existing
    rows = []
    for factor, role in judge.factors:
        p = np.stack(
            [np.concatenate([part[factor.name] for part in parts]) for parts in predictions]
        )
        labels = split.label(factor.name)
        known = where_known(labels, mask)
        if not known.any():
            continue
        figures = {"accuracy": _accuracy(p, labels, known, seed)}
        if labels.ndim == 1:
            figures |= _scores(p[:, known], labels[known], seed)
        for metric, values in figures.items():
            rows.append(JudgedRow(code, factor.name, role, metric, *values))
    return rows


def _accuracy(p: NDArray[Any], labels: NDArray[Any], known: NDArray[np.bool_], seed: int) -> Figure:
    """Return the share of right answers where labels are known; p is (R, N, K) or (R, N, T, K)."""
    return *_share(p.argmax(-1) == labels, known, seed), chance(labels[known])


def _share(
    hits: NDArray[np.bool_], counted: NDArray[np.bool_], seed: int
) -> tuple[float, float, float, float]:
    """Return mean, std, low and high of the share of hits; (R, N) or (R, N, T), where counted."""
    hits, count = hits & counted, counted
    if counted.ndim == 2:
        hits, count = hits.sum(-1), counted.sum(-1)
    each = hits.sum(1) / count.sum()
    pooled = np.stack([hits.mean(0), count], -1)[count > 0]  # (N, 2)
    low, high = bootstrap_interval(pooled, seed=seed, of=lambda m: m[:, 0] / m[:, 1])
    return float(each.mean()), float(each.std()), low, high


def _scores(p: NDArray[Any], labels: NDArray[Any], seed: int) -> dict[str, Figure]:
    """Return IS, H(y|x) and H(y) of p (R, N, K), every class cut to the smallest."""
    balanced_rows = balanced(labels, seed)
    p, classes = p[:, balanced_rows], p.shape[-1]
    # All three are functions of two means over sequences: of p and of the entropy of p.
    pooled = np.concatenate([p.mean(0), entropy(p).mean(0)[:, None]], -1)  # (N, K + 1)
    metrics = {
        "inception_score": (
            inception_score,
            lambda m: np.exp(entropy(m[:, :-1]) - m[:, -1]),
            1.0,
        ),
        "intra_entropy": (intra_entropy, lambda m: m[:, -1], float(np.log(classes))),
        "inter_entropy": (inter_entropy, lambda m: entropy(m[:, :-1]), float(np.log(classes))),
    }
    figures = {}
    for name, (score, of, guess) in metrics.items():
        each = np.array([score(repeat) for repeat in p])
        ends = bootstrap_interval(pooled, seed=seed, of=of, groups=labels[balanced_rows])
        figures[name] = (float(each.mean()), float(each.std()), *ends, guess)
    return figures
