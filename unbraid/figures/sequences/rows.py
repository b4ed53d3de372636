"""Several multivariate series under each other, for comparing by eye."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from unbraid.figures.style import panels, style_axes
from unbraid.shapes import check_axes

if TYPE_CHECKING:
    import matplotlib.figure

MOST_CHANNELS = 8


def series_rows(
    rows: Sequence[tuple[str, NDArray[Any]]], *, channels: Sequence[str] = ()
) -> "matplotlib.figure.Figure":
    """Draw every series in a panel of its own, one line per channel; gaps where a value is NaN.

    Args:
        rows: (label, values) with values (T, W, F); windows are joined along time.
        channels: F names; numbers if there are none.
    """
    figure, axes = panels(len(rows), 1, width=7.5, height=1.4)
    for axis, (label, x) in zip(axes, rows, strict=True):
        check_axes("x", x.shape, "T W F")
        flat = x.reshape(-1, x.shape[-1])
        for channel in range(min(flat.shape[1], MOST_CHANNELS)):
            name = channels[channel] if channels else f"channel {channel}"
            axis.plot(flat[:, channel], linewidth=1.0, label=name)
        style_axes(axis, label)
    axes[-1].set_xlabel("row")
    figure.legend(
        *axes[0].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=4,
        frameon=False,
        fontsize=8,
    )
    return figure
