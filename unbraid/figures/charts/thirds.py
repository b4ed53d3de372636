"""How alike codes are in the first, middle and last third of their posterior distances."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from unbraid.evaluation.protocols.thirds import Thirds
from unbraid.figures.style import DATA, MODEL, panels, style_axes

if TYPE_CHECKING:
    import matplotlib.figure

COLOURS = {"first": DATA, "middle": "#d0a31f", "last": MODEL}
BINS = 40


def thirds_histogram(by_code: Mapping[str, Thirds]) -> "matplotlib.figure.Figure":
    """Draw three overlaid histograms of cosine similarity per code.

    Args:
        by_code: code -> similarities, from `measure_thirds`; a panel each.
    """
    figure, axes = panels(len(by_code), 2, width=4.2, height=2.8)
    for axis, (code, thirds) in zip(axes, by_code.items(), strict=True):
        groups = {name: getattr(thirds, name) for name in COLOURS}
        ends = np.concatenate(list(groups.values()))
        edges = np.linspace(ends.min() - 1e-6, ends.max() + 1e-6, BINS + 1)
        for name, values in groups.items():
            shares = np.histogram(values, edges)[0] / len(values)
            colour = COLOURS[name]
            axis.stairs(shares, edges, fill=True, color=colour, alpha=0.3)
            axis.stairs(shares, edges, color=colour, linewidth=1.3, label=f"{name} third")
        axis.set_xlabel("cosine similarity with the anchor")
        axis.set_ylabel("share of pairs")
        axis.yaxis.set_major_formatter("{x:.0%}")
        style_axes(axis, code)
    figure.legend(
        *axes[0].get_legend_handles_labels(),
        loc="outside upper right",
        ncols=3,
        frameon=False,
        fontsize=8,
    )
    return figure
