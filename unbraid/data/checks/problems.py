"""What keeps data from being trained on: shown by `unbraid data check`, refused by training."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from unbraid.data.checks.examine import Channel, SplitSummary, examine_values
from unbraid.data.corpus import Corpus

MORE = "Bring more sequences, or cut long ones into several."


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong, and what to do about it."""

    what: str
    do: str


def check_trainable(corpus: Corpus) -> None:
    """Raise `ValueError` if the data cannot be trained on, with every reason."""
    problems = list(find_problems(corpus.spec.kind, *examine_values(corpus)))
    if problems:
        reasons = " ".join(f"{problem.what} {problem.do}" for problem in problems)
        raise ValueError(f"{corpus.spec.name} cannot be trained on: {reasons}")


def find_problems(
    kind: str, parts: Mapping[str, SplitSummary], channels: Sequence[Channel]
) -> Iterator[Problem]:
    """Yield the problems of data.

    Args:
        kind: video, audio or series.
        parts: the splits.
        channels: of training.
    """
    yield from _sizes(parts)
    broken = sum(part.not_finite for part in parts.values())
    if broken:
        yield Problem(
            f"values that are NaN or infinite: {broken:,}. The first step would fail on them.",
            "Replace them; in series, NaN is read as missing if no `observed` says otherwise.",
        )
    if parts["train"].sequences and all(c.low is None or c.constant for c in channels):
        yield Problem(
            "no channel has two different known values in training: there is nothing to learn.",
            "Look at them: `unbraid data preview`.",
        )
    low, high = parts["train"].low_seen, parts["train"].high_seen
    if kind == "video" and low is not None and high is not None and (low < 0 or high > 1):
        yield Problem(
            f"a model would see pixels from {low:.3g} to {high:.3g}; it can show 0 to 1 only.",
            "Give uint8, or floats in [0, 1].",
        )


def _sizes(parts: Mapping[str, SplitSummary]) -> Iterator[Problem]:
    train = parts["train"]
    if train.sequences < 2:
        yield Problem(f"training has {train.sequences} sequence, a batch needs 2.", MORE)
    for name, part in parts.items():
        if not part.sequences:
            yield Problem(f"{name} is empty.", "Give every split a sequence.")
    if train.longest == 1:
        yield Problem(
            "every sequence has one step: there is nothing that moves.",
            "Give sequences of several steps, or a smaller window.",
        )
