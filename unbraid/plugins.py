"""What other installed packages add: entry points, looked up by name and loaded when asked for."""

from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

Group = Literal["unbraid.methods", "unbraid.datasets"]


def plugin_names(group: Group) -> list[str]:
    """Return the names that installed packages offer, without loading anything."""
    return sorted({point.name for point in entry_points(group=group)})


def load_plugin(group: Group, name: str) -> Any:
    """Return what a package offers under a name; None if no package does.

    Raises:
        ValueError: if the package cannot be imported; the sentence names it.
    """
    point = next(iter(entry_points(group=group, name=name)), None)
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
