"""Small predictors of a labelled target from codes: a net, linear models, boosted trees.

* "net": an LSTM of 32 over d, its last state joined with s, 16 ReLU units, dropout 0.5; 40
  epochs, rate 1e-3, gradients clipped at 1, the epoch of the best validation loss kept. With no
  steps to read (targets per step, where (s, d_t) is one vector; codes of s alone): 32 ReLU units.
  Fewer than 640 examples of classes: up to 200 epochs with batches of 10, as the authors have on
  Air Quality (40 epochs with batches of 64 are 240 steps there, too few to learn twelve months),
  ended after 40 epochs without a better validation loss.
* "linear" (logistic or ridge; strength chosen) and "boosted" (gradient-boosted trees; number of
  trees chosen) on s joined with mean and last of d. They draw nothing: one fit, std 0.

Each is fitted on training and chosen on validation; what is returned are its outputs on test.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, l1_loss

from unbraid.evaluation.metrics.prediction import mae
from unbraid.latents.recurrent import run_recurrent
from unbraid.seeding import seed_draws

Predictor = Literal["net", "linear", "boosted"]
Array = NDArray[Any]
EPOCHS, RATE, CLIP, BATCH = 40, 1e-3, 1.0, 64
FEW, FEW_EPOCHS, FEW_BATCH = 640, 200, 10  # for classes, where there are fewer examples than FEW
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
        epochs, batch = _schedule(len(y), classes)
        best_epoch = 0
        for epoch in range(epochs):
            for rows in torch.randperm(len(y)).split(batch):
                out = net.train()(*(part[rows] for part in train))
                loss = cross_entropy(out, y[rows]) if classes else l1_loss(out[:, 0], y[rows])
                optimiser.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(net.parameters(), CLIP)
                optimiser.step()
            guess = _outputs(net, held_out, classes) * spread + centre
            error = _prediction_error(guess, parts[1].target, classes)
            if error < best:
                best, best_epoch = error, epoch
                outputs = _outputs(net, test, classes) * spread + centre
            if epoch - best_epoch >= EPOCHS:
                break
    return outputs


def _schedule(examples: int, classes: int) -> tuple[int, int]:
    """Return epochs and batch size, which grows with the number of examples.

    >>> _schedule(367, 12), _schedule(367, 0), _schedule(1190, 2), _schedule(10_000, 2)
    ((200, 10), (40, 64), (40, 64), (40, 156))
    """
    if classes and examples < FEW:
        return FEW_EPOCHS, FEW_BATCH
    return EPOCHS, max(BATCH, examples // BATCH)


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


PREDICTORS: dict[Predictor, Callable[[list[Examples], int, int], Array]] = {
    "net": _fit_net,
    "linear": _fit_linear,
    "boosted": _fit_boosted,
}
"""Name -> function of (training, validation, test), number of classes (0: a number) and seed."""
