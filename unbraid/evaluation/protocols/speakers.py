"""Speaker verification: equal error rates of s (low) and d (high).

The protocol of FHVAE, C-DSVAE, SPYL and DBSE on TIMIT: the codes of an utterance's segments are
averaged to one vector (d also over its steps); cosine similarity of all pairs of vectors; the
equal error rate of "same speaker". Static should be low, dynamic high (0.5 is no knowledge).

Departures: the rates are interpolated between thresholds; the authors bisect over a Python loop.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbraid.data.corpus import UNKNOWN, Split
from unbraid.evaluation.manipulate import Embedding
from unbraid.evaluation.metrics.verification import equal_error_rate

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SpeakerResult:
    """Equal error rates, 0 to 1, and what they were measured on."""

    static_eer: float
    dynamic_eer: float
    gap: float
    """Dynamic less static rate: more is better."""
    vectors: int
    """Number of utterances."""
    pairs: int


@dataclass(frozen=True, slots=True)
class Pairs:
    """All pairs of utterances: similarity by s, by d, and whether the speaker is one."""

    static: Floats
    dynamic: Floats
    same: NDArray[np.bool_]
    vectors: int


def verify_speakers(
    codes: Embedding, split: Split, *, speaker: str = "speaker", utterance: str = "utterance"
) -> SpeakerResult:
    """Return how well each code tells whether two utterances have one speaker.

    Args:
        codes: of the split, from `embed`; a row per segment.
        split: the test split.
        speaker: label that names the speaker of each segment.
        utterance: label that names its utterance; it need be unique within a speaker only.
    """
    pairs = pair_scores(codes, split, speaker=speaker, utterance=utterance)
    static, dynamic = (equal_error_rate(x, pairs.same) for x in (pairs.static, pairs.dynamic))
    return SpeakerResult(static, dynamic, dynamic - static, pairs.vectors, len(pairs.same))


def pair_scores(
    codes: Embedding, split: Split, *, speaker: str = "speaker", utterance: str = "utterance"
) -> Pairs:
    """Return the cosine similarity of every pair of utterances, by mean s and by mean d.

    Segments whose speaker or utterance is unknown are left out. A vector of zeros is similar to
    none (0).
    """
    from sklearn.metrics.pairwise import cosine_similarity

    labels = [split.label(speaker), split.label(utterance)]
    known = np.logical_and(*(values != UNKNOWN for values in labels))
    who, names = (_index(values[known]) for values in labels)
    groups, group = np.unique(np.stack([who, names]), axis=1, return_inverse=True)
    steps = codes.mask.sum(1, keepdims=True).clip(min=1)
    d = (codes.d * codes.mask[..., None]).sum(1, dtype=np.float64) / steps  # (N, D)
    first, second = np.triu_indices(groups.shape[1], k=1)
    static, dynamic = (
        cosine_similarity(average(code[known], group.ravel()))[first, second]
        for code in (codes.s, d)
    )
    return Pairs(static, dynamic, groups[0, first] == groups[0, second], groups.shape[1])


def average(values: NDArray[Any], group: NDArray[np.int64]) -> Floats:
    """Return (G, K) means of the rows of every group 0..G-1.

    >>> average(np.array([[1.0], [3.0], [5.0]]), np.array([0, 0, 1])).tolist()
    [[2.0], [5.0]]
    """
    total = np.zeros((int(group.max()) + 1, values.shape[1]))
    np.add.at(total, group, values)
    return total / np.bincount(group)[:, None]


def _index(labels: NDArray[Any]) -> NDArray[np.int64]:
    """Return names of any kind as numbers 0, 1, ..."""
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)
