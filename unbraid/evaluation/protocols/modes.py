"""Koopman modes of SKD: which of them carries which factor, and what changing one does.

A mode is an invariant subspace of the operator: one number of the codes for a real eigenvalue, two
for a conjugate pair. Codes split by modes can be finer than static and dynamic.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from unbraid.data.corpus import Split
from unbraid.evaluation.manipulate import Embedding, decode, encode
from unbraid.evaluation.metrics.classification import chance
from unbraid.evaluation.metrics.separation import above_chance
from unbraid.evaluation.protocols.probes import ProbeExamples, frequent_classes, probe_accuracy
from unbraid.methods import Method
from unbraid.methods.baselines.skd import SKD
from unbraid.records import Batch, Codes, Factor, Sequences


@dataclass(frozen=True, slots=True)
class Mode:
    """Some numbers of the codes that belong to one eigenvalue, or to a conjugate pair."""

    columns: tuple[int, ...]
    """Places in (s, d_t): those below the size of s are part of s."""
    real: float
    imag: float
    code: str
    """s, d, or "s, d" for a pair that the split cuts."""


def modes_of(method: Method) -> list[Mode]:
    """Return the modes of a trained SKD model, those that stay first.

    Raises:
        ValueError: the method has no modes.
    """
    if not isinstance(method, SKD):
        raise ValueError(
            f"{type(method).__name__} has no modes: only skd has an operator of its codes. "
            "Train one: unbraid fit DATA --method skd."
        )
    modes: list[Mode] = []
    values, size = method.koopman.values.tolist(), method.config.static_dim
    i = 0
    while i < len(values):
        real, imag = values[i]
        columns = (i,) if imag == 0 or i + 1 == len(values) else (i, i + 1)
        parts = dict.fromkeys("s" if column < size else "d" for column in columns)
        modes.append(Mode(columns, real, abs(imag), ", ".join(parts)))
        i += len(columns)
    return modes


def mode_shares(
    modes: Sequence[Mode], codes: Embedding, split: Split, *, seeds: int = 1, limit: int = 1000
) -> dict[str, list[float]]:
    """Return for every factor how well each mode tells it, by k-NN.

    Shares of the way from chance (0) to certainty (1), mean over random 80/20 splits. A mode of d
    is read as its whole path. Factors with a label per step are left out.

    Args:
        modes: from `modes_of`.
        codes: of the split, from `embed`.
        split: the test split.
        seeds: number of random splits.
        limit: so many sequences at most.
    """
    factors = [f for f in (*split.spec.static, *split.spec.dynamic) if f.classes > 1]
    return {
        factor.name: [_share(_features(mode, codes), split, factor, seeds, limit) for mode in modes]
        for factor in factors
        if split.label(factor.name).ndim == 1
    }


def _features(mode: Mode, codes: Embedding) -> NDArray[np.float32]:
    size = codes.s.shape[1]
    d = codes.d * codes.mask[..., None]
    parts = [codes.s[:, [c]] if c < size else d[..., c - size] for c in mode.columns]
    return np.concatenate(parts, 1)


def _share(
    features: NDArray[np.float32], split: Split, factor: Factor, seeds: int, limit: int
) -> float:
    labels = split.label(factor.name)
    chosen = frequent_classes(labels)[0]
    chosen = chosen[np.random.default_rng(0).permutation(len(chosen))[:limit]]
    examples = ProbeExamples(features[chosen], labels[chosen], np.arange(len(chosen)), 0)
    scores = [probe_accuracy("knn", examples, seed, by_group=False) for seed in range(seeds)]
    return above_chance(float(np.mean(scores)), chance(examples.labels))


def swap_modes(method: Method, a: Batch, b: Batch, modes: Sequence[Mode]) -> Sequences:
    """Return the sequences of a with some modes of b; both have as many steps.

    The steps that count are those both have.
    """
    z, other = encode(method, a), encode(method, b)
    size = z.s.shape[1]
    both = [torch.cat([c.s[:, None].expand(-1, c.d.shape[1], -1), c.d], -1) for c in (z, other)]
    columns = [column for mode in modes for column in mode.columns]
    joined = both[0].clone()
    joined[..., columns] = both[1][..., columns]
    return decode(method, Codes(joined[:, 0, :size], joined[..., size:]))
