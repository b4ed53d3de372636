"""A figure goes to disk with its numbers beside it, so that it can be drawn or checked again."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unbraid.files import json_values, write_text, write_whole

if TYPE_CHECKING:
    import matplotlib.figure

DPI = 150


def save_figure(figure: "matplotlib.figure.Figure", path: Path, numbers: Mapping[str, Any]) -> Path:
    """Write a figure and, under the same name, what it shows.

    Args:
        figure: drawn by a function of this folder.
        path: where; the suffix chooses the format, e.g. `.png` or `.svg`.
        numbers: name -> array or plain value, see `save_numbers`.

    Returns:
        The path of the numbers.
    """
    save_picture(figure, path)
    return save_numbers(path, numbers)


def save_picture(figure: "matplotlib.figure.Figure", path: Path) -> None:
    """Write a figure alone, where its numbers are kept elsewhere."""
    write_whole(path, lambda aside: figure.savefig(aside, dpi=DPI))


def save_numbers(path: Path, numbers: Mapping[str, Any]) -> Path:
    """Write numbers beside a picture: `<name>.npz` if an array is among them, else `<name>.json`.

    In JSON a number that is not finite becomes null, as the format has no other word for it.
    """
    if any(isinstance(value, np.ndarray) for value in numbers.values()):
        arrays: dict[str, Any] = {name: np.asarray(value) for name, value in numbers.items()}
        target = path.with_suffix(".npz")
        write_whole(target, lambda aside: np.savez_compressed(aside, **arrays))
        return target
    text = json.dumps(json_values(numbers), indent=1, allow_nan=False)
    target = path.with_suffix(".json")
    write_text(target, text + "\n")
    return target
