"""What keeps data from being trained on: shown by `unbraid data check`, refused by training."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unbraid.data.checks.examine import Channel, SplitSummary, examine_values
from unbraid.data.corpus import Corpus

MORE = "Bring more sequences, or cut long ones into several."
NAMED = 5  # as many are named in a sentence


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong, and what to do about it."""

    what: str
    do: str


def check_trainable(corpus: Corpus) -> tuple[Channel, ...]:
    """Return the channels of training.

    Raises:
        ValueError: the data cannot be trained on; with every reason.
    """
    parts, channels = examine_values(corpus)
    problems = list(find_problems(corpus.spec.kind, parts, channels))
    if problems:
        reasons = " ".join(f"{problem.what} {problem.do}" for problem in problems)
        raise ValueError(f"{corpus.spec.name} cannot be trained on: {reasons}")
    return channels


def find_outcomes(channels: Sequence[Channel], settings: Mapping[str, Any]) -> Problem | None:
    """Return what is suspicious about inputs with one value per sequence; None without any.

    Args:
        channels: of training.
        settings: of the data; a reader of tables has `labels`, which can take them.
    """
    names = [channel.name for channel in channels if channel.per_sequence]
    if not names:
        return None
    what = f"{listed(names)}: one value per sequence, and an input of the model."
    do = "If that is a label, give it as one."
    if "labels" in settings:
        do = f"If that is a label: {label_option(settings, names)}."
    return Problem(what, do)


def label_option(settings: Mapping[str, Any], names: Sequence[str]) -> str:
    """Return the option that makes columns of a table labels, besides those that are."""
    words = json.dumps([*settings["labels"], *names], separators=(",", ":"))
    return f"--set {shlex.quote(f'data.labels={words}')}"


def listed(names: Sequence[str]) -> str:
    """Return a few names, and how many more there are.

    >>> listed(["a", "b"]), listed([str(i) for i in range(8)])
    ('a, b', '0, 1, 2, 3, 4 and 3 more')
    """
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


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
