"""Which methods and presets are measured."""

from collections.abc import Sequence
from pathlib import Path

import unbraid

PRESETS = ("sprites/authors", "sprites/fast")
FOLDER = Path(unbraid.__file__).parent / "presets"


def methods_of(preset: str, wanted: Sequence[str] = ()) -> list[str]:
    """Return the methods that have a preset, or those of them that are wanted.

    Raises:
        ValueError: a wanted method or the preset is not there.
    """
    known = sorted(path.stem for path in (FOLDER / preset).glob("*.toml"))
    if not known:
        raise ValueError(f"there is no preset '{preset}', or no method has it.")
    for method in wanted:
        if method not in known:
            raise ValueError(f"{method} has no preset '{preset}'. Those that have: {known}.")
    return list(wanted) or known
