"""Estimates of mutual information over training."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from unbraid.figures.style import DATA, FAINT, panels, style_axes

if TYPE_CHECKING:
    import matplotlib.figure

TERMS = {"mi_static": "I(s; x)", "mi_dynamic": "I(d; x)", "mi_static_dynamic": "I(s; d)"}


def mi_curves(
    rows: Sequence[Mapping[str, float]],
    *,
    mws_range: tuple[float, float] | None = None,
    by_mws: Sequence[str] = ("mi_static_dynamic",),
) -> "matplotlib.figure.Figure":
    """Draw the estimates there are, a panel each.

    Minibatch weighted sampling can only give values from log N (codes tell nothing) to log N·M
    (every sequence has codes of its own), with N training sequences and batches of M: where in
    that band a curve runs is what it says.

    Args:
        rows: of log.csv, with `step` and any of `TERMS`, in nats.
        mws_range: (log N, log N·M), to be shaded.
        by_mws: which terms were estimated so; contrastive estimates have another range.
    """
    names = [name for name in TERMS if any(name in row for row in rows)]
    if not names:
        raise ValueError(f"there is nothing to draw: the log has none of {', '.join(TERMS)}.")
    figure, axes = panels(len(names), 3, width=3.2, height=2.3)
    for axis, name in zip(axes, names, strict=True):
        points = np.array([(row["step"], row[name]) for row in rows if name in row])
        axis.plot(points[:, 0], points[:, 1], color=DATA, linewidth=1.3)
        if mws_range is not None and name in by_mws:
            label = "log N to log N·M"
            axis.axhspan(*mws_range, color=FAINT, alpha=0.4, linewidth=0, zorder=0, label=label)
            axis.legend(loc="best", frameon=False, fontsize=8)
        style_axes(axis, TERMS[name])
        axis.set_xlabel("step")
    axes[0].set_ylabel("nats")
    return figure
