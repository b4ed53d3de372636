"""Series: what are frozen codes good for? A small predictor of a labelled target.

The protocol of GLR, SPYL and DBSE (mortality, ICU type, month, rain, oil temperature): the
representation never saw the labels; a predictor learns them from the codes of the training
split, is chosen on validation and scored once on test. The same predictors on raw values are the
reference.

Departures: inputs are standardised by the training split, validation picks the epoch (the authors
use the last), masks are obeyed (their extraction ignores them), codes are means, not samples.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from unbraid.data.corpus import Split
from unbraid.evaluation.manipulate import Embedding
from unbraid.evaluation.metrics.classification import accuracy, chance
from unbraid.evaluation.metrics.prediction import auprc, auroc, mae
from unbraid.evaluation.predictors import PREDICTORS, Array, Examples, Predictor
from unbraid.records import Factor


@dataclass(frozen=True, slots=True)
class Score:
    """One metric over seeds, and what guessing would give."""

    metric: str
    """accuracy, auroc, auprc: more is better; mae: less is."""
    mean: float
    std: float
    chance: float


@dataclass(frozen=True, slots=True)
class TaskRow:
    """How well a target is predicted on test."""

    factor: str
    source: str
    predictor: str
    scores: tuple[Score, ...]
    seeds: int
    examples: int
    """Number of test examples: sequences, or steps for a target per step."""


def code_examples(
    codes: Embedding, split: Split, factor: Factor, *, use: Literal["both", "s", "d"] = "both"
) -> Examples:
    """Return codes of a split, from `embed`, with the target."""
    s = codes.s[:, :0] if use == "d" else codes.s
    d = codes.d[..., :0] if use == "s" else codes.d
    source = "codes" if use == "both" else use
    return Examples(source, s, d, codes.mask, split.label(factor.name))


def raw_examples(split: Split, factor: Factor, *, flags: bool = True) -> Examples:
    """Return the data, standardised, zero where unobserved.

    Args:
        split: of the data.
        factor: the target.
        flags: join what is observed, as models see it. The published rows do not.
    """
    batch = split.take(slice(None))
    x = batch.x.where(batch.valid, 0.0).flatten(2).numpy()
    if flags and batch.observed is not None:
        x = np.concatenate([x, batch.observed.flatten(2).numpy()], -1, dtype=np.float32)
    empty = np.zeros((len(x), 0), np.float32)
    return Examples("raw", empty, x, batch.mask.numpy(), split.label(factor.name))


def predict_target(
    parts: Sequence[Examples],
    factor: Factor,
    *,
    predictor: Predictor = "net",
    seeds: int | Sequence[int] = 3,
) -> TaskRow:
    """Learn a target from the codes of train, chosen on validation, and score it on test.

    Args:
        parts: training, validation and test, from `code_examples` or `raw_examples`.
        factor: the target: `classes` of it, or 0 for a number.
        predictor: see `evaluation/predictors.py`.
        seeds: number of predictors, or a seed for each ("net" only; others draw nothing).
    """
    k, source = factor.classes, parts[0].source
    parts = [_known(part, k) for part in parts]
    if min(len(part.target) for part in parts) < 1 or (k and len(set(parts[0].target)) < 2):
        raise ValueError(
            f"'{factor.name}' must be known in every split, and with two classes in training."
        )
    parts = _standardise(parts)
    tries = (range(seeds) if isinstance(seeds, int) else seeds)[: None if predictor == "net" else 1]
    fit = PREDICTORS[predictor]
    y, true = parts[0].target, parts[2].target
    rows = [_measure(fit(parts, k, seed), true, k) for seed in tries]
    scores = _summary(rows, y, true)
    return TaskRow(factor.name, source, predictor, scores, len(tries), len(true))


def _known(part: Examples, classes: int) -> Examples:
    """Drop unknown targets; a target per step becomes one example (s, d_t) per existing step."""
    target = part.target
    known = target >= 0 if classes else np.isfinite(target)
    if target.ndim == 1:
        arrays = (array[known] for array in (part.s, part.d, part.mask, target))
        return Examples(part.source, *arrays)
    steps = part.mask & known
    s = np.repeat(part.s[:, None], part.d.shape[1], axis=1)
    joined = np.concatenate([s, part.d], -1)[steps]
    empty = np.zeros((len(joined), 1, 0), np.float32)
    return Examples(part.source, joined, empty, np.ones((len(joined), 1), bool), target[steps])


def _standardise(parts: list[Examples]) -> list[Examples]:
    """Bring codes to mean 0 and deviation 1 on the existing steps of training; zeros at padding."""
    train = parts[0]
    s_mean, s_std = _moments(train.s)
    d_mean, d_std = _moments(train.d[train.mask])
    standardised = []
    for part in parts:
        s = (part.s - s_mean) / s_std
        d = np.where(part.mask[..., None], (part.d - d_mean) / d_std, 0.0)
        standardised.append(replace(part, s=s.astype(np.float32), d=d.astype(np.float32)))
    return standardised


def _moments(rows: Array) -> tuple[Array, Array]:
    std = rows.std(0, dtype=np.float64)
    return rows.mean(0, dtype=np.float64), np.where(std > 1e-6, std, 1.0)


def _measure(guess: Array, target: Array, classes: int) -> dict[str, float]:
    """Return the metrics of class probabilities (N, K), or of numbers (N,)."""
    if not classes:
        return {"mae": mae(guess, target)}
    scores = {"accuracy": accuracy(guess.argmax(1), target)}
    if classes == 2 and len(np.unique(target)) == 2:
        scores |= {"auroc": auroc(guess[:, 1], target), "auprc": auprc(guess[:, 1], target)}
    return scores


def _summary(rows: list[dict[str, float]], train: Array, test: Array) -> tuple[Score, ...]:
    """Return mean and std of every metric over the seeds."""
    return tuple(
        Score(name, float(np.mean(values)), float(np.std(values)), _guessing(name, train, test))
        for name in rows[0]
        for values in [[row[name] for row in rows]]
    )


def _guessing(metric: str, train: Array, test: Array) -> float:
    """Return the metric without knowledge; for "mae" that of the training median."""
    if metric == "mae":
        return mae(np.asarray(np.median(train)), test)
    return {"accuracy": chance(test), "auroc": 0.5, "auprc": float(np.mean(test == 1))}[metric]
