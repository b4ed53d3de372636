"""Columns of sounds and videos in a table of the Hugging Face library `datasets`.

The library is asked for the files, not for decoded values, which would need its own decoders: the
readers of sounds and of videos decode them. Other columns with one value per row are labels.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from unbraid.data.audio.speech import open_segments, write_segments
from unbraid.data.audio.waves import Recording
from unbraid.data.cache import Arrays, NewArray, Prepared
from unbraid.data.collection import Collection
from unbraid.data.corpus import Array, Corpus
from unbraid.data.readers import sounds, videos
from unbraid.data.readers.decoding import Source
from unbraid.data.readers.paths import SPLIT_WORDS
from unbraid.settings import build

COLUMNS = ("Audio", "Video")
SIMPLE = (str, int, float, bool, type(None))

Tables = Mapping[str, Any]
"""Split -> table; one table alone has the empty key."""


def media_columns(tables: Tables) -> dict[str, str]:
    """Return column -> Audio or Video, for the columns that hold files."""
    return {
        name: type(feature).__name__
        for table in tables.values()
        for name, feature in (getattr(table, "features", None) or {}).items()
        if type(feature).__name__ in COLUMNS
    }


def from_media(tables: Tables, *, name: str, options: Mapping[str, Any]) -> Corpus:
    """Return a column of sounds or videos as a corpus, prepared in memory.

    Args:
        tables: split -> table; streams are gone through once for videos, twice for sounds.
        name: what to call it.
        options: of the readers of sounds or videos, see `Config` there.

    Raises:
        ValueError: there are several such columns, or too many files cannot be read.
    """
    columns = media_columns(tables)
    if len(columns) > 1:
        raise ValueError(
            f"columns {', '.join(columns)} hold sounds or videos: choose one with "
            "dataset.select_columns or dataset.remove_columns."
        )
    ((column, kind),) = columns.items()
    rows = _Rows(tables, column)
    reader = sounds if kind == "Audio" else videos
    config = build(reader.Config, options, where="from_dataset")
    collect: Callable[..., Collection] = _sounds if kind == "Audio" else _videos
    return collect(name, rows, config).deal(config.split)


@dataclass(slots=True)
class _Rows:
    """The files of a column, and the labels of the rows that have passed by.

    Attributes:
        tables: split -> table.
        column: that holds the files.
        labels: name of a row -> column -> value.
    """

    tables: Tables
    column: str
    labels: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[tuple[str, Source]]:
        for split, table in self.tables.items():
            feature = table.features[self.column]
            words = {name: getattr(part, "names", None) for name, part in table.features.items()}
            files = table.cast_column(self.column, type(feature)(decode=False))
            for number, row in enumerate(files):
                file = row.pop(self.column) or {}
                name = "/".join(
                    part for part in (split, f"{number:06d}", _base(file.get("path"))) if part
                )
                split_label = {"split": SPLIT_WORDS.get(split.lower(), split)} if split else {}
                self.labels[name] = _labels(row, words) | split_label
                yield name, _source(file, self.column, number)

    def words(self) -> dict[str, list[Any]]:
        """Return the labels by column, after the rows have passed by."""
        names = list(self.labels)
        keys = dict.fromkeys(key for row in self.labels.values() for key in row)
        columns = {key: [self.labels[name].get(key) for name in names] for key in keys}
        simple = {
            key: _unknown(column)
            for key, column in columns.items()
            if all(isinstance(value, SIMPLE) for value in column) and key != "name"
        }
        return {"name": names, **simple}


def _sounds(title: str, rows: _Rows, config: sounds.Config) -> Collection:
    made, new = _memory()
    facts = write_segments(lambda: (Recording(*row) for row in rows), new, config.cut)
    prepared = Prepared(Path(), made, {}, facts)
    return sounds.collect_segments(title, open_segments(prepared, config.cut), rows.words(), config)


def _videos(title: str, rows: _Rows, config: videos.Config) -> Collection:
    made, new = _memory()
    facts = videos.write_clips(rows, new, config)
    return videos.collect_clips(title, Prepared(Path(), made, {}, facts), rows.words(), config)


def _memory() -> tuple[Arrays, NewArray]:
    made: Arrays = {}

    def new(name: str, shape: tuple[int, ...], dtype: Any) -> Array:
        made[name] = np.zeros(shape, dtype)
        return made[name]

    return made, new


def _base(path: Any) -> str:
    """Return the last part of a path or address; a file in memory has none."""
    return str(path or "").replace("\\", "/").rsplit("/", 1)[-1].split("?")[0]


def _source(file: Mapping[str, Any], column: str, number: int) -> Source:
    """Return the bytes of a file, or where it is."""
    if file.get("bytes"):
        return bytes(file["bytes"])
    path = str(file.get("path") or "")
    if path and not Path(path).is_file():
        raise ValueError(
            f"column '{column}', row {number}: there is no file {path} on this machine. Download "
            "the data first."
        )
    return Path(path) if path else b""  # empty: the reader counts it as broken


def _labels(row: Mapping[str, Any], words: Mapping[str, list[str] | None]) -> dict[str, Any]:
    """Return the values of a row; class numbers become the names of their classes."""
    return {key: _name_of(value, words.get(key)) for key, value in row.items()}


def _name_of(value: Any, names: list[str] | None) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if names is None or not isinstance(value, int):
        return value
    return names[value] if 0 <= value < len(names) else ""


def _unknown(column: list[Any]) -> list[Any]:
    """Return a column in which nothing is None: an empty word, or NaN among numbers."""
    if None not in column:
        return column
    filler: Any = "" if any(isinstance(value, str) for value in column) else float("nan")
    return [filler if value is None else value for value in column]
