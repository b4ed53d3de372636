"""What is good or bad about data for training, from what they hold; and what to do about it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from unbraid.data.checks.balance import Label
from unbraid.data.checks.examine import Contents, SplitSummary
from unbraid.data.checks.overlaps import is_named_group, leaking_groups
from unbraid.data.checks.problems import (
    MORE,
    find_outcomes,
    find_problems,
    label_option,
    listed,
)
from unbraid.data.checks.tally import FAR

Level = Literal["problem", "warning", "note"]
FEW = 100  # training sequences
DARK = 0.05  # of white: the brightest pixel of pictures that were scaled wrongly
SPARSE = 0.9  # share missing
UNEVEN = 0.95  # share of the most frequent value
# What the reader of tables says of rows, not of files or records.
ROWS = ("repeated rows", "rows without a sequence", "rows without a time", "ends of sequences")


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem keeps the data from being trained on; a warning and a note do not."""

    level: Level
    what: str
    do: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodPlan:
    """What `unbraid fit` would do with a method.

    Attributes:
        method: its name.
        preset: that would be taken; "none" if the method's defaults are.
        parameters: trained numbers; 0 if the method refuses these data.
        batch_size: sequences per step.
        budget: in words.
        refusal: why it cannot be trained on these data; empty if it can.
    """

    method: str
    preset: str = "none"
    parameters: int = 0
    batch_size: int = 0
    budget: str = ""
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class CheckInput:
    """All there is to judge by: the contents, what methods would do, the data set's settings."""

    contents: Contents
    methods: tuple[MethodPlan, ...]
    settings: dict[str, Any]
    published: bool

    @property
    def parts(self) -> list[tuple[str, SplitSummary]]:
        """The splits by name."""
        return list(self.contents.parts.items())

    @property
    def train(self) -> SplitSummary:
        """The training split."""
        return self.contents.parts["train"]


def run_checks(data: CheckInput) -> tuple[Finding, ...]:
    """Return the findings: problems first, then warnings, then notes, by importance."""
    findings = [finding for rule in RULES for finding in rule(data)]
    return tuple(
        sorted(findings, key=lambda finding: ("problem", "warning", "note").index(finding.level))
    )


def _problems(data: CheckInput) -> Iterator[Finding]:
    """Yield what `unbraid fit` refuses, too."""
    contents = data.contents
    for problem in find_problems(contents.kind, contents.parts, contents.channels):
        yield Finding("problem", problem.what, problem.do)


def _sizes(data: CheckInput) -> Iterator[Finding]:
    if data.train.shortest == 1 < data.train.longest:
        yield Finding("note", "some sequences have one step only: nothing moves in them.")


def _few(data: CheckInput) -> Iterator[Finding]:
    count = data.train.sequences
    if 2 <= count < FEW:
        yield Finding("warning", f"only {count} sequences to train on: expect overfitting.", MORE)


def _refusals(data: CheckInput) -> Iterator[Finding]:
    refused = [plan for plan in data.methods if plan.refusal]
    if not refused:
        return
    level: Level = "problem" if len(refused) == len(data.methods) else "warning"
    names = "no method" if level == "problem" else ", ".join(plan.method for plan in refused)
    size = next((name for name in ("size", "height", "resize") if name in data.settings), "")
    do = (
        f"The reader resizes: --set data.{size}=64."
        if size and data.contents.kind == "video"
        else ""
    )
    verb = "can be trained" if level == "problem" else "cannot be trained"
    yield Finding(level, f"{names} {verb} on these data: {refused[0].refusal}", do)


def _values(data: CheckInput) -> Iterator[Finding]:
    dead = [c for c in data.contents.channels if c.low is None or c.constant]
    if 0 < len(dead) < len(data.contents.channels):
        yield from _dead_channels(data)
    if data.contents.kind == "video":
        yield from _brightness(data)
    if not data.published:
        yield from _constant_within(data)


def _dead_channels(data: CheckInput) -> Iterator[Finding]:
    lost = [c.name for c in data.contents.channels if c.low is None]
    same = [c.name for c in data.contents.channels if c.constant]
    do = "Leave out what tells nothing: it only costs capacity."
    if lost:
        yield Finding("warning", f"{listed(lost)}: no value is known in training.", do)
    if same:
        yield Finding("warning", f"{listed(same)}: the same value throughout training.", do)


def _constant_within(data: CheckInput) -> Iterator[Finding]:
    outcomes = find_outcomes(data.contents.channels, data.settings)
    if outcomes:
        yield Finding("warning", outcomes.what, outcomes.do)


def _brightness(data: CheckInput) -> Iterator[Finding]:
    high = data.train.high_seen
    if high is None:
        return
    if high < DARK:
        what = f"the brightest pixel has {100 * high:.1f} % of white: pictures are all but black."
        yield Finding("warning", what, "Multiply by 255, or give floats in [0, 1].")
    if data.contents.frame[0] not in (1, 3):
        what = (
            f"frames have {data.contents.frame[0]} channels: they train, but reports draw 1 or 3."
        )
        yield Finding("warning", what, "Give grey or RGB frames.")


def _twins(data: CheckInput) -> Iterator[Finding]:
    twins = data.contents.twins
    do = "Remove one of each, or keep them together: --set data.split.by=LABEL."
    for pair, count in sorted(twins.across.items(), key=lambda item: "test" not in item[0]):
        first, second = pair.split(" in ")
        shown = [
            example for example in twins.examples if example.startswith(first) and second in example
        ]
        what = f"{first} sequences that are in {second}, too, byte for byte: {count:,}"
        some = f" ({', '.join(shown[:2])}, counted from 0)" if shown else ""
        yield Finding("warning", f"{what}{some}.", "" if data.published else do)
    inside = {name: count for name, count in twins.inside.items() if count}
    if inside:
        example = ", ".join(f"{count:,} in {name}" for name, count in inside.items())
        yield Finding("note", f"sequences that repeat another of the same split: {example}.")


def _groups(data: CheckInput) -> Iterator[Finding]:
    for group in leaking_groups(data.contents.groups):
        what = (
            f"{group.shared:,} of {group.test_values:,} values of '{group.name}' in test are in "
            "training, too: results will not tell how a model does on new ones."
        )
        if not data.published:
            yield Finding("warning", what, f"To keep them apart: --set data.split.by={group.name}.")
        elif is_named_group(group):
            yield Finding("note", f"{what} The data set is cut like that.")


def _skipped(data: CheckInput) -> Iterator[Finding]:
    skipped = data.contents.skipped
    columns = {name: why for name, why in skipped.items() if name.startswith("column ")}
    rows = {name: why for name, why in skipped.items() if name in ROWS}
    words = [name.removeprefix("column ") for name, why in columns.items() if "words" in why]
    if columns:
        do = f"To measure with words: {label_option(data.settings, words)}." if words else ""
        yield Finding("note", f"not used: {listed(list(columns))}.", do)
    for name, why in rows.items():
        yield Finding("warning", f"{name}: {why}.", "Check the export.")
    count = len(skipped) - len(columns) - len(rows)
    what = f"not used: {count:,} of the files or records; they are listed with the reason."
    if count and data.published:
        yield Finding("note", what)
    elif count:
        yield Finding("warning", what, "Repair or remove them, unless you can do without.")


def _oddities(data: CheckInput) -> Iterator[Finding]:
    far = sum(part.far for _, part in data.parts)
    if far:
        most = sorted((c for c in data.contents.channels if c.far), key=lambda c: -c.far)
        where = f", most in {listed([c.name for c in most])}" if most else " (outside training)"
        what = f"values beyond {FAR:.0f} standard deviations from the mean: {far:,}{where}."
        yield Finding("warning", what, "If they are faults of measurement, make them NaN: missing.")
    for field, what in (("empty", "no value is known"), ("still", "nothing ever changes")):
        count = sum(getattr(part, field) for _, part in data.parts)
        if count:
            examined = sum(part.examined for _, part in data.parts)
            sentence = f"in {count:,} of {examined:,} examined sequences {what}."
            yield Finding("warning", sentence, "Look whether they should be there.")
    if data.train.missing > SPARSE:
        what = f"{100 * data.train.missing:.0f} % of all values are missing."
        yield Finding("warning", what, "Larger windows or fewer channels leave fewer gaps.")


def _labels(data: CheckInput) -> Iterator[Finding]:
    factors = [label for label in data.contents.labels if label.role != "other"]
    if not factors:
        do = "For probes and judges, give labels; `unbraid diagnose` needs none."
        yield Finding("note", "there are no labels of factors.", do)
    for label in factors:
        yield from _label(label)


def _label(label: Label) -> Iterator[Finding]:
    if label.values == 1:
        yield Finding("note", f"'{label.name}' has one value only: there is nothing to tell apart.")
    elif label.values and label.largest > UNEVEN:
        what = f"'{label.name}': {100 * label.largest:.0f} % of training has one value."
        yield Finding("note", what, "Compare results with chance, which is as high.")
    if label.unknown > 0:
        yield Finding(
            "note", f"'{label.name}' is unknown in {100 * label.unknown:.1f} % of training."
        )
    in_test = len(label.counts.get("test", ()))
    if 0 < len(label.unseen) < in_test:  # all of them: a split by that label
        what = f"'{label.name}': test has values that training lacks: {listed(label.unseen)}."
        yield Finding("note", what, "A judge cannot know them.")


def _origin(data: CheckInput) -> Iterator[Finding]:
    if data.contents.stand_in:
        what = f"these data stand in for {data.contents.stand_in}: results are labelled so and are "
        yield Finding("note", f"{what}not those of the benchmark.")


Rule = Callable[[CheckInput], Iterator[Finding]]
RULES: tuple[Rule, ...] = (
    _problems,
    _sizes,
    _refusals,
    _twins,
    _groups,
    _values,
    _oddities,
    _skipped,
    _few,
    _labels,
    _origin,
)
