"""Which code tells which factor: one picture of what is kept apart and what leaks."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unbraid.figures.style import DATA, INK, MODEL, MUTED, panels, write_share

if TYPE_CHECKING:
    import matplotlib.figure


def leak_matrix(factors: Sequence[Mapping[str, Any]]) -> "matplotlib.figure.Figure":
    """Draw a row per factor and a column per code; blue is wanted, rust is a leak.

    Args:
        factors: rows of a `Separation` as plain values: factor, role, and s and d as shares of the
            way from chance to certainty.
    """
    from matplotlib.patches import Rectangle

    figure, (axis,) = panels(1, 1, width=3.6, height=0.9 + 0.42 * len(factors))
    axis.set(xlim=(-0.5, 1.5), ylim=(len(factors) - 0.5, -0.5))
    for line, row in enumerate(factors):
        for column, code in enumerate(("s", "d")):
            wanted = (row["role"] == "static") == (code == "s")
            share = float(np.clip(row[code], 0.0, 1.0))
            box = Rectangle(
                (column - 0.47, line - 0.45),
                0.94,
                0.9,
                facecolor=DATA if wanted else MODEL,
                alpha=0.08 + 0.9 * share,
                linewidth=0,
            )
            axis.add_patch(box)
            write_share(axis, column, line, share, size=9)
    axis.set_xticks([0, 1], ["static code s", "dynamic code d"])
    axis.set_yticks(range(len(factors)), [f"{row['factor']} ({row['role']})" for row in factors])
    axis.xaxis.tick_top()
    axis.tick_params(colors=INK, labelsize=8, length=0)
    axis.spines[:].set_visible(False)
    axis.set_xlabel(
        "% of the way from chance to certainty\nblue: wanted, rust: leak", fontsize=7, color=MUTED
    )
    return figure
