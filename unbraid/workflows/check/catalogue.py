"""The data sets there are, and which of them are at hand."""

from dataclasses import asdict, replace
from typing import Any

from unbraid.data import DATASETS, data_module, dataset_names, is_dataset
from unbraid.data.cache import find_prepared


def data_facts() -> list[dict[str, Any]]:
    """Return the catalogue with two more fields: `prepared`, a cache, and `files`, a folder.

    Both are paths, empty where there is none.
    """
    return [_facts(name) for name in dataset_names() if is_dataset(name)]


def _facts(name: str) -> dict[str, Any]:
    entry = DATASETS[name]
    if not isinstance(entry.module, str):
        entry = replace(entry, module=entry.module.__name__)
    return {"name": name, **asdict(entry), "prepared": _prepared(name), "files": _files(name)}


def origin(fact: dict[str, Any]) -> str:
    """Say where a data set comes from."""
    if fact["embedded"]:
        return "embedded"
    got = "apply to publisher" if fact["gated"] else "open"
    return f"{got}, stand-in for {fact['stand_in']}" if fact["stand_in"] else got


def at_hand(fact: dict[str, Any]) -> str:
    """Say whether a data set can be trained on at once."""
    if fact["embedded"]:
        return "always"
    if fact["prepared"]:
        return "prepared"
    return "files there" if fact["files"] else "no"


def _prepared(name: str) -> str:
    try:
        cache = find_prepared(name, {})
    except ValueError:
        return ""  # damaged, or of another version: it would be made anew
    return str(cache.folder) if cache else ""


def _files(name: str) -> str:
    if DATASETS[name].embedded:
        return ""
    try:
        published = getattr(data_module(name), "SET", None)
        root = published.root("") if published else None
    except ImportError:
        return ""  # one data set that cannot be imported must not hide the others
    return str(root) if root else ""
