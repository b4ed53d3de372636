"""`.ts` files of the UEA and UCR archives (aeon, sktime): a line per sequence, channels by colons.

`@` lines say what follows; of them `@classLabel`, `@targetLabel` and `@timestamps` count here. A
value `?` or NaN is missing. A class label becomes the label `class`.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from unbraid.data.collection import Collection, SplitConfig
from unbraid.data.corpus import Array
from unbraid.data.readers import arrays
from unbraid.settings import at_least


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """How the sequences are cut."""

    window: int = 0  # rows of a step; 0 = chosen for about 20 steps
    split: SplitConfig = field(default_factory=SplitConfig)

    def __post_init__(self) -> None:
        at_least(self, 0, "window")


def read(path: Path, config: Config) -> Collection:
    """Return the sequences of a `.ts` file.

    With `NAME_TRAIN.ts` the file `NAME_TEST.ts` beside it is read, too, and is the test split.
    """
    if path.is_dir():
        raise ValueError(f"{path} is a folder: give one .ts file.")
    files = [path]
    if path.stem.endswith("_TRAIN") and (test := _test_file(path)).is_file():
        files.append(test)
    sequences, words, parts = [], [], []
    for file, part in zip(files, ("train", "test"), strict=False):
        x, classes = read_ts(file)
        sequences += x
        words += classes
        parts += [part] * len(x)
    labels = {"class": np.array(words)} if any(words) else {}
    if len(files) > 1:
        labels["split"] = np.array(parts)
    return arrays.collect(
        sequences,
        lengths=None,
        observed=None,
        labels=labels,
        name=path.stem.removesuffix("_TRAIN"),
        config=arrays.Config(kind="series", window=config.window, split=config.split),
    )


def _test_file(path: Path) -> Path:
    return path.with_name(f"{path.stem.removesuffix('_TRAIN')}_TEST{path.suffix}")


def read_ts(path: Path) -> tuple[list[Array], list[str]]:
    """Return sequences (T_i, F) and their class labels, empty words without any."""
    has_label, sequences, labels, in_data = False, [], [], False
    for number, line in enumerate(_lines(path), 1):
        lowered = line.lower()
        if not line or line.startswith("#"):
            continue
        if lowered.startswith("@data"):
            in_data = True
        elif line.startswith("@"):
            _check_header(path, lowered)
            if lowered.startswith(("@classlabel", "@targetlabel")):
                has_label = "true" in lowered.split()
        elif in_data:
            *channels, word = line.split(":") if has_label else [*line.split(":"), ""]
            sequences.append(_channels(path, number, channels))
            labels.append(word.strip())
        else:
            raise ValueError(f"{path}, line {number}: a .ts file has @data before its sequences.")
    if not sequences:
        raise ValueError(f"{path} holds no sequences: there is nothing after @data.")
    return sequences, labels


def _lines(path: Path) -> Any:
    try:
        with path.open(encoding="utf-8") as file:
            yield from (line.strip() for line in file)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not a .ts file: it is no text ({error}).") from None


def _check_header(path: Path, line: str) -> None:
    if line.startswith("@timestamps") and "true" in line.split():
        raise ValueError(
            f"{path} has a time stamp at every value, which is not read. Write it as a long table "
            "(CSV or Parquet) with a column for time."
        )


def _channels(path: Path, number: int, texts: list[str]) -> Array:
    """Return a line as (T, F); a short channel is missing at its end."""
    try:
        rows = [
            np.array([np.nan if v.strip() in ("?", "") else float(v) for v in text.split(",")])
            for text in texts
        ]
    except ValueError as error:
        raise ValueError(f"{path}, line {number}: {error}.") from None
    x = np.full((max(map(len, rows), default=0), len(rows)), np.nan, dtype=np.float32)
    for channel, row in enumerate(rows):
        x[: len(row), channel] = row
    if not x.size:
        raise ValueError(f"{path}, line {number}: a sequence has no values.")
    return x
