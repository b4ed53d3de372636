"""One true sequence and what comes out when one of its codes is kept and the other is drawn."""

from typing import Any, Literal

from numpy.typing import NDArray

from unbraid.figures.sequences.frames import Pixels, frame_grid
from unbraid.shapes import check_axes

OTHER = {"static": "d", "dynamic": "s"}


def fixed_grid(
    true: NDArray[Any], drawn: NDArray[Any], *, fixed: Literal["static", "dynamic"], zoom: int = 2
) -> Pixels:
    """Return a picture (H, W, 3): the true sequence, below it one row per draw.

    Args:
        true: (T, C, H, W) in [0, 1], whose code is kept.
        drawn: (R, T', C, H, W) decoded from the kept code and R draws of the other one.
        fixed: which code; with "static" all rows should be one identity, with "dynamic" one motion.
        zoom: every pixel of a frame becomes a square of this side.
    """
    check_axes("true", true.shape, "T C H W")
    check_axes("drawn", drawn.shape, "R T C H W")
    rows = [(f"{OTHER[fixed]} drawn {i + 1}", x) for i, x in enumerate(drawn)]
    return frame_grid([("true", true), *rows], zoom=zoom)
