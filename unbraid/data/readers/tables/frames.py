"""People's own tables: CSV, TSV and Parquet files, folders of them, data frames, data sets.

Long form: one row per time step, with columns for the sequence, the time, the values and, if there
are any, the labels. An empty value is unobserved. Which column is which is guessed from its name
unless `Config` says so; `none` says that there is no such column. Without one for sequences, a file
is one long recording, which `piece` cuts. Parquet files, data frames and data sets may have one row
per sequence instead, whose cells hold the lists of its values.

A large file is read in parts, of which only numbers are kept, four bytes each, and written to a
memory-mapped cache; data frames stay in memory.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from unbraid.data.cache import Arrays, NewArray, content_key, listing_key, open_or_build
from unbraid.data.collection import Collection
from unbraid.data.corpus import Array, Corpus
from unbraid.data.labels import encode_labels
from unbraid.data.readers.media import from_media, media_columns
from unbraid.data.readers.paths import LABEL_TABLE, SPLIT_WORDS, file_labels
from unbraid.data.readers.tables.columns import NONE, Config, find_columns, table_library
from unbraid.data.readers.tables.files import HEAD, SUFFIXES, table_head, table_parts
from unbraid.data.readers.tables.fill import fill
from unbraid.data.readers.tables.nested import Nested, find_nested
from unbraid.data.readers.tables.rows import Gathered
from unbraid.settings import as_table, build

__all__ = ["Config", "from_dataset", "from_frame", "read"]

VERSION = 3  # goes up when the same files are prepared in another way
LOOKED_AT = 10  # tables of a folder, to tell what the columns mean


@dataclass(frozen=True, slots=True)
class _Table:
    """A table of several that are gathered.

    Attributes:
        name: of its sequence, if no column tells.
        head: returns its first rows.
        parts: yields all of it, given the columns to take (None: all) and those that are words.
        path_labels: labels of all its rows that are in no column.
    """

    name: str
    head: Callable[[], Any]
    parts: Callable[[tuple[str, ...] | None, tuple[str, ...]], Iterator[Any]]
    path_labels: Mapping[str, str] = field(default_factory=dict)


def read(path: Path, config: Config) -> Collection:
    """Return the sequences of a table, or of a folder of tables with one sequence in each.

    In a folder the file is the sequence, unless `sequence` names a column, and paths (`pattern`)
    and the table `labels.csv` tell labels, too.
    """
    files = _files(path)
    root = path if path.is_dir() else path.parent
    options = {k: v for k, v in as_table(config).items() if k not in ("split", "dynamic")}
    beside = [root / LABEL_TABLE] if path.is_dir() and (root / LABEL_TABLE).is_file() else []
    listing = listing_key(root, [*files, *beside], times=True)
    key = content_key(listing=listing, options=options, folder=path.is_dir(), version=VERSION)
    prepared = open_or_build("tables", key, lambda new: _build(path, files, config, new))
    return _collection(path.stem, prepared.arrays, prepared.facts, config)


def from_frame(
    frame: Any, *, name: str = "frame", options: Mapping[str, Any] | None = None
) -> Corpus:
    """Return a pandas data frame as a corpus: 80 % training, 10 % validation, 10 % test.

    Args:
        frame: long form, or one row per sequence with lists in its cells; or anything that has
            `to_pandas()`. An index that has a name, or dates, is a column like the others.
        name: what to call it.
        options: of `Config`, e.g. `{"sequence": "patient", "every": "1h"}`.
    """
    config = build(Config, options or {}, where="from_frame")
    return _from_memory([_in_memory(name, frame)], name, config).deal(config.split)


def from_dataset(
    dataset: Any, *, name: str = "dataset", options: Mapping[str, Any] | None = None
) -> Corpus:
    """Return a table of the Hugging Face library `datasets` as a corpus.

    Args:
        dataset: a `Dataset` or `IterableDataset` in long form, with one row per sequence and lists
            in its cells, or with a column of sounds or videos; or a `DatasetDict` whose keys train,
            validation and test decide the splits.
        name: what to call it.
        options: of `Config`; of the readers of sounds and videos if a column holds such files.
    """
    tables = _named_tables(dataset)
    if media_columns(tables):
        several = tables if len(tables) > 1 else {"": next(iter(tables.values()))}
        return from_media(several, name=name, options=options or {})
    config = build(Config, options or {}, where="from_dataset")
    parts = [
        _in_memory(key or name, part, {"split": key} if len(tables) > 1 else {})
        for key, part in tables.items()
    ]
    return _from_memory(parts, name, config).deal(config.split)


def _named_tables(dataset: Any) -> dict[str, Any]:
    """Return split -> table; a table alone has the empty key."""
    if not isinstance(dataset, Mapping):
        return {"": dataset}
    keys = [str(key) for key in dataset]
    if not keys or any(key.lower() not in SPLIT_WORDS for key in keys):
        raise ValueError(
            f"the tables of a data set must be called train, validation and test, got "
            f"{', '.join(keys) or 'none'}. Give one of them, or rename them."
        )
    return dict(zip(keys, dataset.values(), strict=True))


def _from_memory(tables: Sequence[_Table], title: str, config: Config) -> Collection:
    arrays: Arrays = {}

    def new(name: str, shape: tuple[int, ...], dtype: Any) -> Array:
        arrays[name] = np.zeros(shape, dtype)
        return arrays[name]

    return _collection(title, arrays, _prepare(tables, config, new, apart=True), config)


def _in_memory(name: str, table: Any, path_labels: Mapping[str, str] | None = None) -> _Table:
    """Return a data frame, or what can be made one, as a table."""
    pandas = table_library()
    if hasattr(table, "to_pandas"):
        table = table.to_pandas()
    elif not isinstance(table, pandas.DataFrame) and hasattr(table, "column_names"):
        table = pandas.DataFrame(list(table))  # a data set that comes as a stream
    if not isinstance(table, pandas.DataFrame):
        raise ValueError(f"a data frame or data set is wanted, got {type(table).__name__}.")
    frame = table
    if isinstance(frame.index, pandas.DatetimeIndex) and frame.index.name is None:
        frame = frame.rename_axis("time")
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    if not len(frame):
        raise ValueError(f"{name} holds no rows.")
    return _Table(
        name, lambda: frame.head(HEAD), lambda columns, words: iter([frame]), path_labels or {}
    )


def _files(path: Path) -> list[Path]:
    """Return the tables of a folder, hidden ones and `labels.csv` left out; or the file itself."""
    if path.is_file():
        return [path]
    files = [
        file
        for file in sorted(path.rglob("*"))
        if file.suffix.lower() in SUFFIXES
        and file.is_file()
        and file != path / LABEL_TABLE
        and not any(part.startswith(".") for part in file.relative_to(path).parts)
    ]
    if not files:
        raise ValueError(f"the folder {path} holds no tables: {', '.join(SUFFIXES)}.")
    return files


def _build(path: Path, files: list[Path], config: Config, new: NewArray) -> dict[str, Any]:
    if path.is_file():
        return _prepare([_on_disk(path, path.stem, {})], config, new, apart=False)
    labels = file_labels(files, path, config.pattern)
    names = labels.pop("name")
    tables = [
        _on_disk(file, name, {label: words[place] for label, words in labels.items()})
        for place, (file, name) in enumerate(zip(files, names, strict=True))
    ]
    config = replace(config, sequence=config.sequence or NONE)
    return _prepare(tables, config, new, apart=False)


def _on_disk(path: Path, name: str, path_labels: Mapping[str, str]) -> _Table:
    return _Table(
        name,
        lambda: table_head(path),
        lambda columns, words: table_parts(path, columns=columns, words=words),
        path_labels,
    )


def _prepare(
    tables: Sequence[_Table], config: Config, new: NewArray, *, apart: bool
) -> dict[str, Any]:
    """Fill the arrays from tables; `apart`: the same id in two tables means two sequences."""
    is_strict = apart or len(tables) == 1
    rows, nested, settings = _understand(tables, config, is_strict)
    skipped: dict[str, str] = {}
    for table in tables:
        begun = len(rows.values)
        try:
            _gather(rows, table, nested, apart=len(tables) > 1 and (apart or nested is not None))
        except ValueError as error:
            if is_strict:
                raise
            rows.rewind(begun)
            skipped[table.name] = str(error)
    if len(skipped) > config.broken * len(tables):
        examples = "; ".join(f"{name}: {reason}" for name, reason in list(skipped.items())[:3])
        raise ValueError(
            f"{len(skipped)} of {len(tables)} tables cannot be used, more than data.broken="
            f"{config.broken:g} allows. {examples}"
        )
    unused = {f"column {name}": reason for name, reason in rows.columns.unused.items()}
    facts = fill(rows, settings, new)
    columns = {"sequence": rows.columns.sequence, "time": " ".join(rows.columns.time)}
    return facts | {"columns": columns, "skipped": skipped | unused | facts["skipped"]}


def _understand(
    tables: Sequence[_Table], config: Config, is_strict: bool
) -> tuple[Gathered, Nested | None, Config]:
    """Return what the columns mean in most of the first tables, and room for their rows."""
    heads: list[Any] = []
    for place, table in enumerate(tables):
        try:
            heads.append(table.head())
        except ValueError:
            if is_strict or (place == len(tables) - 1 and not heads):
                raise
        if len(heads) == LOOKED_AT:
            break
    names = Counter(tuple(head.columns) for head in heads)
    usual = names.most_common(1)[0][0]
    head = next(head for head in heads if tuple(head.columns) == usual)
    nested = find_nested(head, config)
    settings = nested.config if nested else config
    columns = find_columns(nested.flatten(head, 0) if nested else head, settings)
    path_names = tuple(name for name in tables[0].path_labels if name not in columns.all)
    room = Gathered(replace(columns, labels=(*columns.labels, *path_names)), config.missing)
    return room, nested, settings


def _gather(rows: Gathered, table: _Table, nested: Nested | None, *, apart: bool) -> None:
    """Add all parts of a table."""
    columns = rows.columns
    wanted = tuple(name for name in columns.all if name not in table.path_labels)
    words = tuple({columns.sequence, *columns.labels} & set(wanted) - set(columns.time))
    first = 0
    for part in table.parts(None if nested else wanted, words):
        long = nested.flatten(part, first) if nested else part
        if apart and columns.sequence:
            ids = long[columns.sequence]
            named = (f"{table.name}/" + ids.astype(str)).where(ids.notna())
            long = long.assign(**{columns.sequence: named})
        if len(part):
            rows.add(long, name=table.name, first=first, path_labels=table.path_labels)
        first += len(part)
    if not first:
        raise ValueError(f"{table.name} holds no rows.")


def _collection(name: str, arrays: Arrays, facts: Mapping[str, Any], config: Config) -> Collection:
    """Return prepared arrays with their labels."""
    labels = {label: arrays[f"label{place}"] for place, label in enumerate(facts["labels"])}
    arrays_by_label, static, dynamic = encode_labels(
        {"name": arrays["name"], **labels}, dynamic=config.dynamic
    )
    lengths = np.asarray(arrays["lengths"])
    return Collection(
        name=name,
        kind="series",
        x=arrays["x"],
        observed=arrays.get("observed"),
        lengths=None if (lengths == arrays["x"].shape[1]).all() else lengths,
        labels=arrays_by_label,
        static=static,
        dynamic=dynamic,
        rate=float(facts["window"]),
        channels=tuple(facts["channels"]),
        pieces=facts["pieces"],
        skipped=facts["skipped"],
        columns=facts["columns"],
    )
