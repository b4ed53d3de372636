"""What a judge takes each class for."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unbraid.figures.style import INK, MUTED, panels, write_share
from unbraid.shapes import ShapeError, check_axes

if TYPE_CHECKING:
    import matplotlib.figure

MOST_NUMBERS = 12  # more classes than this leave no room for numbers and names


def confusion_matrix(
    counts: NDArray[Any], names: Sequence[str] = (), title: str = ""
) -> "matplotlib.figure.Figure":
    """Draw the share of each true class (row) that was judged as each class (column).

    Up to 12 classes have their names at the edges and the share in percent in the cells. A class
    that never occurs has an empty row.

    Args:
        counts: (K, K), row = true, column = judged.
        names: K names of classes; numbers if there are none.
        title: over the axes.
    """
    shares = row_shares(counts)
    K, few = len(shares), len(shares) <= MOST_NUMBERS
    side = 1.6 + 0.5 * K if few else 5.0
    figure, (axis,) = panels(1, 1, width=side + 0.9, height=side)
    image = axis.imshow(shares, cmap="Blues", vmin=0, vmax=1, interpolation="nearest")
    if few:
        labels = list(names) or [str(k) for k in range(K)]
        steep = max(len(name) for name in labels) > 5
        turned = {"rotation": 40, "ha": "right"} if steep else {}
        axis.set_xticks(range(K), labels, **turned)
        axis.set_yticks(range(K), labels)
        _numbers(axis, shares)
    axis.set_xlabel("judged as", fontsize=9, color=MUTED)
    axis.set_ylabel("true", fontsize=9, color=MUTED)
    axis.set_title(title, loc="left", fontsize=9, color=INK)
    axis.tick_params(colors=INK if few else MUTED, labelsize=8, length=0 if few else 3)
    axis.spines[:].set_visible(False)
    bar = figure.colorbar(image, ax=axis, shrink=0.7, aspect=25, pad=0.02, format="{x:.0%}")
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=MUTED, labelsize=8, length=3, width=0.6)
    return figure


def row_shares(counts: NDArray[Any]) -> NDArray[np.float64]:
    """Return counts as shares of their row; NaN where a row is empty.

    >>> row_shares(np.array([[3, 1], [0, 2]])).tolist()
    [[0.75, 0.25], [0.0, 1.0]]
    """
    check_axes("counts", counts.shape, "K K")
    if counts.shape[0] != counts.shape[1]:
        raise ShapeError(f"counts must be square, got shape {counts.shape}.")
    total = counts.sum(1, keepdims=True)
    empty = np.full(counts.shape, np.nan)
    return np.divide(counts, total, out=empty, where=total > 0)


def _numbers(axis: Any, shares: NDArray[np.float64]) -> None:
    for (line, column), share in np.ndenumerate(shares):
        if share > 0:
            write_share(axis, column, line, share)
