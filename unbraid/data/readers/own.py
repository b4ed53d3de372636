"""People's own files: a word on the command line becomes a reader and its settings.

A reader is a module with `Config`, a frozen dataclass of options that has a field
`split: SplitConfig`, and `read(path: Path, config: Config) -> Collection`.
"""

from collections import Counter
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from unbraid.data.collection import Collection
from unbraid.data.corpus import Corpus
from unbraid.settings import build, closest

READERS = {  # what a file's name ends with -> the module that reads it
    **dict.fromkeys((".npz", ".npy"), "arrays"),
    **dict.fromkeys((".csv", ".tsv", ".parquet"), "tables"),
    **dict.fromkeys((".mp4", ".avi", ".mov", ".mkv", ".webm", ".gif", ".m4v", ".mpg"), "videos"),
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".bmp"), "videos"),
    ".ts": "ts",
    **dict.fromkeys((".wav", ".flac", ".mp3", ".ogg"), "sounds"),
}
ROOMS = {"tables": "tables.frames"}  # readers with a folder of their own
KINDS = {"tables": "series", "ts": "series", "videos": "video", "sounds": "audio"}
LOOKED_AT = 2000  # files of a folder, to guess what it holds
_SIDE_FILES = ("labels.csv",)  # beside the sequences, not sequences themselves


def is_path(word: str) -> bool:
    """Say whether a word names a file or folder of sequences and not a data set."""
    path = Path(word or "-")  # no word is no path, and not the folder we are in
    return "/" in word or path.suffix.lower() in READERS or path.is_dir()


def _path(word: str) -> Path:
    """Return a path; `~` is the home folder."""
    return Path(word).expanduser()


def reader_of(path: Path) -> str:
    """Return the name of what reads this file or folder, or say what can be read."""
    if not path.exists():
        raise ValueError(f"there is no file or folder {path}.")
    name = _folder_reader(path) if path.is_dir() else READERS.get(path.suffix.lower(), "")
    if not name:
        raise ValueError(f"{path} cannot be read as sequences. Readable: {', '.join(READERS)}.")
    return name


def reader_for(path: Path) -> ModuleType:
    """Return the module that reads this file or folder, or say what can be read."""
    return find_reader(reader_of(path))


def reader_name(word: str) -> str:
    """Return the name of the reader of a path, e.g. "sounds"; `find_reader` takes it back."""
    return reader_of(_path(word))


def find_reader(name: str) -> ModuleType:
    """Return a reader by its name: the path it read before may be gone."""
    if name not in READERS.values():
        raise ValueError(f"there is no reader '{name}'.{closest(name, set(READERS.values()))}")
    return import_module(f"unbraid.data.readers.{ROOMS.get(name, name)}")


def _folder_reader(folder: Path) -> str:
    """Return the reader of most files of a folder."""
    counts: Counter[str] = Counter()
    for seen, path in enumerate(folder.rglob("*")):
        if seen >= LOOKED_AT:
            break
        reader = READERS.get(path.suffix.lower(), "")
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if reader and not hidden and path.name not in _SIDE_FILES and path.is_file():
            counts[reader] += 1
    if not counts:
        raise ValueError(
            f"the folder {folder} holds nothing that can be read as sequences: tables, videos, "
            f"folders of frames, or sound files. Readable: {', '.join(READERS)}."
        )
    return counts.most_common(1)[0][0]


def own_options(word: str, table: Mapping[str, Any], *, where: str) -> Any:
    """Return the settings of a path, checked: the `Config` of its reader."""
    return build(reader_for(_path(word)).Config, table, where=where)


def read_own(word: str, table: Mapping[str, Any] | None = None) -> Collection:
    """Return the sequences of a file or folder, not cut into splits."""
    path = _path(word)
    reader = reader_for(path)
    return reader.read(path, build(reader.Config, table or {}, where=word))


def load_own(
    word: str, table: Mapping[str, Any] | None = None, *, name: str | None = None
) -> Corpus:
    """Return the corpus of a file or folder, read by the reader of this name if one is given."""
    path = _path(word)
    if not path.exists():
        raise ValueError(f"there is no file or folder {path}.")
    reader = find_reader(name) if name else reader_for(path)
    config = build(reader.Config, table or {}, where=word)
    return reader.read(path, config).deal(config.split)


def kind_of(word: str, table: Mapping[str, Any] | None = None) -> str:
    """Return video, audio or series; a file of arrays has to be opened to tell."""
    return KINDS.get(reader_name(word)) or read_own(word, table).kind
