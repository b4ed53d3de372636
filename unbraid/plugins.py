"""What other installed packages add, and how a catalogue takes a new entry."""

from collections.abc import Callable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from operator import eq
from typing import Any, Literal, TypeVar

Group = Literal["unbraid.methods", "unbraid.datasets"]
T = TypeVar("T")
CHARACTERS = set("abcdefghijklmnopqrstuvwxyz0123456789-_")


@cache
def _points(group: Group) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name; looked up once, as that reads many files."""
    return {point.name: point for point in reversed(list(entry_points(group=group)))}


def plugin_names(group: Group) -> list[str]:
    """Return the names that installed packages offer, without loading anything."""
    return sorted(_points(group))


def load_plugin(group: Group, name: str) -> Any:
    """Return what a package offers under a name; None if no package does.

    Raises:
        ValueError: if the package cannot be imported; the sentence names it.
    """
    point = _points(group).get(name)
    if point is None:
        return None
    try:
        return point.load()
    except Exception as error:
        raise ValueError(
            f"'{name}' comes from {_package(point)}, which cannot be loaded: {error}. Mend or "
            "uninstall that package."
        ) from error


def _package(point: EntryPoint) -> str:
    return f"the package {point.dist.name}" if point.dist else point.value


def add_entry(
    catalogue: dict[str, T],
    name: str,
    entry: T,
    *,
    what: str,
    same: Callable[[T, T], bool] = eq,
) -> None:
    """Add an entry to a catalogue under a name that is free, or that it has already.

    Args:
        catalogue: name -> entry.
        name: small letters, digits, dashes and underscores.
        entry: what is added.
        what: what the catalogue holds, for the message: "method".
        same: whether an entry of this name is the new one, given again.
    """
    if not name or set(name) - CHARACTERS:
        raise ValueError(f"a name has small letters, digits and dashes, got {name!r}.")
    if name in catalogue and not same(catalogue[name], entry):
        raise ValueError(
            f"there is a {what} '{name}' already: {catalogue[name]!r}. Choose another name."
        )
    catalogue[name] = entry
