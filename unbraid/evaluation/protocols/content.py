"""Speech: does d still hold what is said? LibriSpeech has no labels of sounds to probe.

An equal error rate near 50 % of d is also reached by a d that holds nothing. Two numbers say
whether that is so:

* `dynamic_r2`: how much of the spectrum's variation within a speaker is linear in d_t. Frames and
  codes are taken less their mean over the speaker. A ridge regression learns the one from the other
  on half of the utterances and predicts the other half, and the reverse; explained variance.
* `reconstruction_error`: squared error of decoding the posterior means, as a share of the variance
  around the mean frame of the split.

In no paper.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from unbraid.data.corpus import Split
from unbraid.evaluation.manipulate import Embedding, reconstruct
from unbraid.evaluation.protocols.speakers import average
from unbraid.methods.base import Method

Floats = NDArray[np.float64]
RIDGE = 1e-3  # of the mean variance of d's dimensions


@dataclass(frozen=True, slots=True)
class ContentResult:
    """Shares, 0 to 1 (R² can be negative)."""

    dynamic_r2: float
    """More is better."""
    reconstruction_error: float
    """Less is better; 1 is the mean frame."""


def probe_content(
    method: Method,
    codes: Embedding,
    split: Split,
    *,
    speaker: str = "speaker",
    utterance: str = "utterance",
) -> ContentResult:
    """Return what d tells of the frames, and how well both codes redraw them.

    Args:
        method: the model.
        codes: of the split, from `embed`.
        split: sequences of feature vectors, axes (N, T, F).
        speaker: label that names the speaker of each segment.
        utterance: label that names its utterance.
    """
    x, x_hat = _frames(method, split)
    who, half = (
        np.unique(split.label(name), return_inverse=True)[1] for name in (speaker, utterance)
    )
    steps = codes.mask
    rows = np.broadcast_to(np.arange(len(steps))[:, None], steps.shape)[steps]
    x, x_hat, d = x[steps], x_hat[steps], codes.d[steps].astype(np.float64)
    d, within = (values - average(values, who[rows])[who[rows]] for values in (d, x))
    error = float(np.square(x - x_hat).sum() / np.square(x - x.mean(0)).sum())
    return ContentResult(r2_by_halves(d, within, half[rows] % 2), error)


def r2_by_halves(inputs: Floats, targets: Floats, half: NDArray[Any]) -> float:
    """Return the share of the targets' variance that a ridge regression on the other half predicts.

    >>> x = np.arange(12.0)[:, None]
    >>> round(r2_by_halves(x, 3 * x - 1, np.arange(12) % 2), 3)
    1.0
    """
    left = whole = 0.0
    for other in (0, 1):
        train, test = half == other, half != other
        centre, mean = inputs[train].mean(0), targets[train].mean(0)
        a = inputs[train] - centre
        gram = a.T @ a
        gram += RIDGE * max(gram.trace() / len(gram), 1e-12) * np.eye(len(gram))
        weights = np.linalg.solve(gram, a.T @ (targets[train] - mean))
        guess = (inputs[test] - centre) @ weights + mean
        left += float(np.square(targets[test] - guess).sum())
        whole += float(np.square(targets[test] - mean).sum())
    return 1 - left / whole


def _frames(method: Method, split: Split) -> tuple[Floats, Floats]:
    """Return true and decoded frames, (N, T, F) each."""
    device = next(method.parameters()).device
    pairs = [
        (batch.x.cpu(), reconstruct(method, batch).cpu()) for batch in split.batches(128, device)
    ]
    true, decoded = (torch.cat(column).double().numpy() for column in zip(*pairs, strict=True))
    return true, decoded
