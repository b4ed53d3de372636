"""Series: what are frozen codes good for? A small predictor of a labelled target.

The protocol of GLR, SPYL and DBSE (mortality, ICU type, month, rain, oil temperature): the
representation never saw the labels; a predictor learns them from the codes of the training
split, is chosen on validation and scored once on test. The same predictors on raw values are the
reference.

Predictors:
* "net": an LSTM of 32 over d, its last state joined with s, 16 ReLU units, dropout 0.5; 40
  epochs, rate 1e-3, gradients clipped at 1, the epoch of the best validation loss kept. With no
  steps to read (targets per step, where (s, d_t) is one vector; codes of s alone): 32 ReLU units.
* "linear" (logistic or ridge; strength chosen) and "boosted" (gradient-boosted trees; number of
  trees chosen) on s joined with mean and last of d. They draw nothing: one fit, std 0.

Departures: inputs are standardised by the training split, validation picks the epoch (the authors
use the last), masks are obeyed (their extraction ignores them), codes are means, not samples.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, l1_loss

from unbraid.data.corpus import Split
from unbraid.evaluation.manipulate import Embedding
from unbraid.evaluation.metrics.classification import accuracy, chance
from unbraid.evaluation.metrics.prediction import auprc, auroc, mae
from unbraid.latents.recurrent import run_recurrent
from unbraid.records import Factor
from unbraid.seeding import seed_draws

Predictor = Literal["net", "linear", "boosted"]
Array = NDArray[Any]
EPOCHS, RATE, CLIP, BATCH = 40, 1e-3, 1.0, 64
STRENGTHS = (0.01, 0.1, 1.0, 10.0)  # of the linear predictors, tried on validation
TREES = 100  # at most


@dataclass(frozen=True, slots=True)
class Examples:
    """What a predictor sees: s (N, S), d (N, T, D), mask (N, T), target (N,) or (N, T).

    A target that is NaN, or a negative class, is unknown and does not count.
    """

    source: str
    s: Array
    d: Array
    mask: Array
    target: Array


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


def raw_examples(split: Split, factor: Factor) -> Examples:
    """Return the data as a model sees them: standardised, zeros and a flag where unobserved."""
    batch = split.take(slice(None))
    x = batch.x.where(batch.valid, 0.0).flatten(2).numpy()
    if batch.observed is not None:
        x = np.concatenate([x, batch.observed.flatten(2).numpy()], -1, dtype=np.float32)
    empty = np.zeros((len(x), 0), np.float32)
    return Examples("raw", empty, x, batch.mask.numpy(), split.label(factor.name))


def predict_target(
    train: Examples,
    validation: Examples,
    test: Examples,
    factor: Factor,
    *,
    predictor: Predictor = "net",
    seeds: int | Sequence[int] = 3,
) -> TaskRow:
    """Learn a target from the codes of train, chosen on validation, and score it on test.

    Args:
        train: from `code_examples` or `raw_examples`.
        validation: likewise.
        test: likewise.
        factor: the target: `classes` of it, or 0 for a number.
        predictor: see the head of this file.
        seeds: number of predictors, or a seed for each ("net" only; others draw nothing).
    """
    k = factor.classes
    parts = [_known(part, k) for part in (train, validation, test)]
    if min(len(part.target) for part in parts) < 1 or (k and len(set(parts[0].target)) < 2):
        raise ValueError(
            f"'{factor.name}' must be known in every split, and with two classes in training."
        )
    parts = _standardise(parts)
    tries = (range(seeds) if isinstance(seeds, int) else seeds)[: None if predictor == "net" else 1]
    fit = {"net": _fit_net, "linear": _fit_linear, "boosted": _fit_boosted}[predictor]
    y, true = parts[0].target, parts[2].target
    rows = [_measure(fit(parts, k, seed), true, k) for seed in tries]
    scores = _summary(rows, y, true)
    return TaskRow(factor.name, train.source, predictor, scores, len(tries), len(true))


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
    done = []
    for part in parts:
        s = (part.s - s_mean) / s_std
        d = np.where(part.mask[..., None], (part.d - d_mean) / d_std, 0.0)
        done.append(replace(part, s=s.astype(np.float32), d=d.astype(np.float32)))
    return done


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


def _prediction_error(guess: Array, target: Array, classes: int) -> float:
    """Return what is compared on validation: mean −log p(class), or the absolute error."""
    if not classes:
        return mae(guess, target)
    return float(-np.log(guess[np.arange(len(target)), target] + 1e-9).mean())


class _Net(nn.Module):
    """(s, d) -> class logits or one number, as the papers' predictors."""

    def __init__(self, static: int, dynamic: int, out: int) -> None:
        super().__init__()
        self.reader = nn.LSTM(dynamic, 32, batch_first=True) if dynamic else None
        features = static + (32 if dynamic else 0)
        units, dropout = (16, 0.5) if dynamic else (32, 0.0)
        self.head = nn.Sequential(
            nn.Linear(features, units), nn.ReLU(), nn.Dropout(dropout), nn.Linear(units, out)
        )

    def forward(
        self, s: Float[Tensor, "B S"], d: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "B K"]:
        """Return the outputs of every sequence."""
        if self.reader is not None:
            s = torch.cat([run_recurrent(self.reader, d, mask)[1], s], -1)
        return self.head(s)


def _fit_net(parts: list[Examples], classes: int, seed: int) -> Array:
    """Return the outputs on test of the net as it was after the best epoch on validation."""
    target = parts[0].target
    centre, spread = (0, 1) if classes else (target.mean(), target.std() or 1.0)
    y = torch.from_numpy((target - centre) / spread).to(torch.long if classes else torch.float)
    train, held_out, test = (
        tuple(map(torch.from_numpy, (part.s, part.d, part.mask))) for part in parts
    )
    best, outputs = np.inf, np.zeros(0)
    with torch.random.fork_rng(devices=[]):
        seed_draws(seed, "use")
        net = _Net(train[0].shape[1], train[1].shape[2], classes or 1)
        optimiser = torch.optim.Adam(net.parameters(), lr=RATE)
        for _ in range(EPOCHS):
            for rows in torch.randperm(len(y)).split(max(BATCH, len(y) // BATCH)):  # many: larger
                out = net.train()(*(part[rows] for part in train))
                loss = cross_entropy(out, y[rows]) if classes else l1_loss(out[:, 0], y[rows])
                optimiser.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(net.parameters(), CLIP)
                optimiser.step()
            guess = _outputs(net, held_out, classes) * spread + centre
            error = _prediction_error(guess, parts[1].target, classes)
            if error < best:
                best, outputs = error, _outputs(net, test, classes) * spread + centre
    return outputs


@torch.inference_mode()
def _outputs(net: _Net, inputs: Sequence[Tensor], classes: int) -> Array:
    out = net.eval()(*inputs)
    return (out.softmax(1) if classes else out[:, 0]).numpy()


def _table(parts: list[Examples]) -> tuple[Array, Array, Array]:
    """Return features and target of training, and the features of validation, then test.

    The features are s joined with the mean and the last of d over existing steps.
    """
    pooled = []
    for part in parts:
        count = part.mask.sum(1).clip(min=1)
        last = part.d[np.arange(len(part.d)), count - 1]
        pooled.append(np.concatenate([part.s, part.d.sum(1) / count[:, None], last], 1))
    return pooled[0], parts[0].target, np.concatenate(pooled[1:])


def _fit_linear(parts: list[Examples], classes: int, seed: int) -> Array:
    from sklearn.linear_model import LogisticRegression, Ridge

    x, y, unseen = _table(parts)
    if not classes:
        models = (Ridge(alpha=1 / strength).fit(x, y) for strength in STRENGTHS)
        return _best((model.predict(unseen) for model in models), parts, classes)
    models = (LogisticRegression(C=c, max_iter=5000).fit(x, y) for c in STRENGTHS)
    outputs = (_all_classes(m.predict_proba(unseen), m.classes_, classes) for m in models)
    return _best(outputs, parts, classes)


def _fit_boosted(parts: list[Examples], classes: int, seed: int) -> Array:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    x, y, unseen = _table(parts)
    settings = {"max_iter": TREES, "early_stopping": False, "random_state": 0}
    if not classes:
        model = HistGradientBoostingRegressor(loss="absolute_error", **settings).fit(x, y)
        return _best(model.staged_predict(unseen), parts, classes)
    model = HistGradientBoostingClassifier(**settings).fit(x, y)
    outputs = model.staged_predict_proba(unseen)
    return _best((_all_classes(p, model.classes_, classes) for p in outputs), parts, classes)


def _best(outputs: Iterable[Array], parts: list[Examples], classes: int) -> Array:
    """Return, for test, the outputs of the candidate that is best on validation."""
    y = parts[1].target
    return min(outputs, key=lambda out: _prediction_error(out[: len(y)], y, classes))[len(y) :]


def _all_classes(probabilities: Array, labels: Array, classes: int) -> Array:
    """Return (N, classes) probabilities, zero for classes that training never showed."""
    every = np.zeros((len(probabilities), classes))
    every[:, labels] = probabilities
    return every
