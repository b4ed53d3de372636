"""Data that can be chosen on the page: the catalogue, and files below the chosen folders."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from unbraid.safety.names import printable

MOST_ENTRIES = 500  # of a folder that are listed
SECONDS = 180.0  # of a data check
FREE = ("data.pattern",)  # settings of data that may hold a slash
NOT_DATA = ("data.root",)


def catalogue() -> list[dict[str, Any]]:
    """Return the data sets that can be trained on at once."""
    from unbraid.workflows.check.catalogue import at_hand, data_facts

    facts = [(fact, at_hand(fact)) for fact in data_facts()]
    return [
        {"name": fact["name"], "kind": fact["kind"], "about": fact["about"], "here": here}
        for fact, here in facts
        if here != "no"
    ]


def allowed_data(word: str, folders: tuple[Path, ...]) -> str:
    """Return a data set's name, or a path below one of the folders.

    Raises:
        ValueError: the path is elsewhere, by `..` or by a link, or is not there.
    """
    from unbraid.data import is_dataset
    from unbraid.data.readers.own import reader_of

    if is_dataset(word):
        return word
    path = inside(word, folders)
    reader_of(path)
    return str(path)


def inside(word: str, folders: tuple[Path, ...]) -> Path:
    """Return a path, its links followed, if it lies below one of the folders."""
    try:
        path = Path(word).expanduser().resolve()
    except (OSError, RuntimeError, ValueError):
        raise ValueError("that is not a path.") from None
    if not any(path.is_relative_to(folder.resolve()) for folder in folders):
        raise ValueError(
            "that path is outside of the folders the studio was started with (--folder), or it "
            "is not there."
        )
    if not path.exists():
        raise ValueError("there is no such file or folder.")
    return path


def listing(word: str, folders: tuple[Path, ...]) -> dict[str, Any]:
    """Return the folders and readable files of a folder; without one, the folders there are."""
    from unbraid.data.readers.own import READERS

    if not word:
        roots = [{"name": str(folder), "path": str(folder), "folder": True} for folder in folders]
        return {"path": "", "parent": None, "entries": roots}
    path = inside(word, folders)
    if not path.is_dir():
        raise ValueError("that is not a folder.")
    entries: list[dict[str, Any]] = []
    for entry in sorted(path.iterdir(), key=lambda one: (not one.is_dir(), one.name.lower())):
        if entry.name.startswith(".") or len(entries) >= MOST_ENTRIES:
            continue
        if entry.is_dir() or entry.suffix.lower() in READERS:
            fact = {"name": printable(entry.name), "path": str(entry), "folder": entry.is_dir()}
            entries.append(fact)
    parent = path.parent if any(path.parent.is_relative_to(f.resolve()) for f in folders) else None
    return {"path": str(path), "parent": str(parent) if parent else "", "entries": entries}


def check_sets(sets: tuple[str, ...]) -> None:
    """Raise `ValueError` for a setting that names a path: data are chosen, not typed."""
    for setting in sets:
        name, _, value = setting.partition("=")
        outside = name.startswith("data") and name not in FREE and set("/\\~") & set(value)
        if name in NOT_DATA or outside or len(setting) > 300:
            raise ValueError(f"{printable(name[:60])} cannot be set on the page.")


def check_data(data: str, sets: tuple[str, ...]) -> dict[str, Any]:
    """Return what `unbraid data check` finds; it reads the files in a process of its own."""
    words = [word for setting in sets if setting.startswith("data.") for word in ("--set", setting)]
    try:
        process = subprocess.run(
            [sys.executable, "-m", "unbraid", "data", "check", data, "--json", *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ValueError(
            f"the data could not be examined within {SECONDS:.0f} s. Check them on the command "
            "line: unbraid data check."
        ) from None
    try:
        examination = json.loads(process.stdout)
    except ValueError:
        errors = process.stderr.decode("utf-8", "replace").strip().splitlines()
        raise ValueError(
            (errors[-1] if errors else "the data check failed.").removeprefix("Error: ")
        ) from None
    return examination
