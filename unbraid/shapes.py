"""The one guard for tensors and arrays that come from outside."""

from collections.abc import Sequence


class ShapeError(ValueError):
    """An array has other axes than the caller was asked for."""


def check_axes(name: str, shape: Sequence[int], axes: str) -> None:
    """Raise `ShapeError` unless `shape` has the named axes.

    Args:
        name: what the caller calls the array, for the message.
        shape: its shape.
        axes: names separated by spaces, e.g. `"B T C H W"`; a number is a size that must match.

    >>> check_axes("x", (8, 4, 3, 64, 64), "B T 3 H W")
    >>> check_axes("x", (8, 3, 64, 64), "B T C H W")
    Traceback (most recent call last):
    ...
    unbraid.shapes.ShapeError: x must have axes (B, T, C, H, W), got shape (8, 3, 64, 64). \
Add a batch axis with x[None].
    """
    names = axes.split()
    wanted = f"{name} must have axes ({', '.join(names)}), got shape {tuple(shape)}."
    if len(shape) == len(names) - 1:
        raise ShapeError(f"{wanted} Add a batch axis with {name}[None].")
    if len(shape) != len(names):
        raise ShapeError(wanted)
    for axis, size in zip(names, shape, strict=True):
        if axis.isdigit() and int(axis) != size:
            raise ShapeError(wanted)
        if size == 0:
            raise ShapeError(f"{wanted} Axis {axis} is empty: there is nothing to work on.")
