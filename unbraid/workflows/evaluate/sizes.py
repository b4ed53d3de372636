"""Whether a test split is large enough for probes, and what its factors allow."""

from collections.abc import Iterator

import numpy as np

from unbraid.data import is_dataset
from unbraid.data.corpus import Split
from unbraid.evaluation.protocols.separation import count_classes

FEW_SEQUENCES = 50  # a probe is scored on a fifth of them
FEW_GROUPS = 10  # whose sequences are on one side of every split


def size_warnings(test: Split, data: str) -> Iterator[str]:
    """Say what makes probe accuracies of a test split uncertain.

    Args:
        test: the split.
        data: name of the data set, or a path, whose splits can be cut otherwise.
    """
    if not test.labels:
        return
    groups = len(np.unique(test.label(test.group))) if test.group else FEW_GROUPS
    few = f"{len(test)} sequences" if len(test) < FEW_SEQUENCES else ""
    if groups < FEW_GROUPS:
        few = f"{len(test)} sequences of {groups} values of '{test.group}'"
    if few:
        do = "" if is_dataset(data) else " (--set data.split.test=0.3)"
        yield f"Too few test sequences for probes ({few}): make the test split larger{do}."


def constant_factors(split: Split) -> tuple[str, ...]:
    """Return the factors with classes of which a split has one value only."""
    factors = (*split.spec.static, *split.spec.dynamic)
    return tuple(factor.name for factor in factors if count_classes(split, factor) == 1)
