"""Generated series become a corpus: scale from observed training values, splits in order."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbraid.data.corpus import Corpus, Split
from unbraid.records import Factor, Spec

Bools = NDArray[np.bool_]


def sticky_states(
    shape: tuple[int, int], classes: int, stay: float, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw a Markov chain per row: the next state is the same with probability `stay`.

    Otherwise it is any other one, all alike; so is the first.
    """
    moves = rng.integers(1, classes, shape)
    moves[rng.random(shape) < stay] = 0
    moves[:, 0] = rng.integers(0, classes, shape[0])
    return moves.cumsum(1) % classes


def series_corpus(
    name: str,
    x: NDArray[Any],
    known: Bools | None,
    labels: Mapping[str, NDArray[Any]],
    *,
    counts: tuple[int, int, int],
    facts: Mapping[str, Any],
) -> Corpus:
    """Return series (N, T, window, channels) as a corpus, cut in order.

    Args:
        name: of the data set.
        x: values; what is not known is set to zero.
        known: where they are, steps beyond a sequence's end excepted; None: everywhere.
        labels: of every sequence or step.
        counts: sequences of training, validation and test.
        facts: `static` and `dynamic` factors and `channels`; where there are any, `lengths`, the
            `group` of `Split` and `pieces` of `Spec`. `missing` is false if only steps beyond the
            end are not known.
    """
    missing = facts.get("missing", known is not None)
    values = x if known is None else np.where(known, x, 0.0)
    train = slice(0, counts[0])
    observed = np.ones(x.shape, bool) if known is None else known
    channels = [values[train, ..., k][observed[train, ..., k]] for k in range(x.shape[-1])]
    static: tuple[Factor, ...] = facts["static"]
    spec = Spec(
        name=name,
        kind="series",
        frame=x.shape[2:],
        length=x.shape[1],
        static=static,
        dynamic=facts["dynamic"],
        channels=facts["channels"],
        offset=tuple(float(part.mean(dtype=np.float64)) for part in channels),
        scale=tuple(float(part.std(dtype=np.float64)) for part in channels),
        size=counts[0],
        missing=missing,
        rate=float(x.shape[2]),
        pieces=facts.get("pieces", False),
    )
    shared: dict[str, Any] = {
        "spec": spec,
        "x": values.astype(np.float32),
        "observed": known if missing else None,
        "labels": dict(labels),
        "lengths": facts.get("lengths"),
        "group": facts.get("group", ""),
    }
    rows = np.split(np.arange(len(x)), np.cumsum(counts[:2]))
    parts = [Split(rows=part, **shared) for part in rows]
    return Corpus(spec=spec, train=parts[0], validation=parts[1], test=parts[2])
