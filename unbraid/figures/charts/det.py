"""Detection error trade-off: false accepts against false rejects over all thresholds."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unbraid.evaluation.metrics.verification import equal_rate
from unbraid.figures.style import COLOURS, FAINT, LINE, MUTED, panels, style_axes

if TYPE_CHECKING:
    import matplotlib.figure

Floats = NDArray[np.float64]
LEAST = 0.002  # rates nearer than this to 0 or 1 are drawn at the edge
TICKS = (0.005, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.98, 0.995)


def det_plot(curves: Mapping[str, tuple[Floats, Floats, Floats]]) -> "matplotlib.figure.Figure":
    """Draw a curve per code with its equal error rate marked, on axes of normal deviates.

    On such axes two normal distributions of scores give a straight line. A good s lies at the
    lower left, a d that knows no speaker on the falling diagonal (50 %).

    Args:
        curves: code -> what `det_curve` returns: thresholds, false accepts, false rejects.
    """
    figure, (axis,) = panels(1, 1, width=4.6, height=4.4)
    for name, label in (("x", "false accepts, %"), ("y", "false rejects, %")):
        getattr(axis, f"set_{name}label")(label)
        _deviates(axis, name)
    axis.plot([0, 1], [0, 1], color=FAINT, linewidth=0.8)
    for (code, (_, accept, reject)), colour in zip(curves.items(), COLOURS, strict=False):
        rate = equal_rate(accept, reject)
        axis.plot(accept, reject, color=colour, linewidth=1.6, label=f"{code}: {100 * rate:.1f} %")
        axis.plot(
            [rate], [rate], "o", color=colour, markersize=6, markeredgecolor="white", clip_on=False
        )
    style_axes(axis)
    axis.set_aspect("equal")
    axis.grid(color=LINE, linewidth=0.5)
    legend = axis.legend(
        title="equal error rate",
        loc="upper right",
        frameon=True,
        fontsize=9,
        title_fontsize=8,
        edgecolor="white",
        framealpha=1.0,
    )
    legend.get_title().set_color(MUTED)
    return figure


def _deviates(axis: Any, name: str) -> None:
    """Scale an axis so that a rate stands at its quantile of the standard normal."""
    from scipy.special import ndtr, ndtri

    def forward(rate: Floats) -> Floats:
        return ndtri(np.clip(rate, LEAST, 1 - LEAST))

    getattr(axis, f"set_{name}scale")("function", functions=(forward, ndtr))
    getattr(axis, f"set_{name}ticks")(TICKS, [f"{100 * tick:g}" for tick in TICKS])
    getattr(axis, f"set_{name}lim")(LEAST, 1 - LEAST)
