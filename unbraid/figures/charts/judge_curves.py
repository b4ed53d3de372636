"""What a judge sees of generations over minutes of training."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from unbraid.figures.style import class_colour, panels, style_axes

if TYPE_CHECKING:
    import matplotlib.figure

Points = Sequence[Mapping[str, float]]


def judge_curves(curves: Mapping[str, Points], title: str) -> "matplotlib.figure.Figure":
    """Draw a panel for every judged factor, a line for every run.

    Args:
        curves: run -> points with `minutes` and accuracies named `d kept: factor` or
            `s kept: factor`.
        title: of the data.
    """
    names = [
        name
        for name in dict.fromkeys(n for points in curves.values() for p in points for n in p)
        if " kept: " in name
    ]
    figure, axes = panels(len(names), 5, width=2.6, height=2.2)
    for axis, name in zip(axes, names, strict=True):
        for i, (run, points) in enumerate(curves.items()):
            curve = [(p["minutes"], 100 * p[name]) for p in points if name in p]
            colour = class_colour(i, len(curves))
            axis.plot(*zip(*curve, strict=True), color=colour, linewidth=1.3, marker=".", label=run)
        axis.set_ylim(0, 102)
        style_axes(axis, name)
    for axis in axes[-5:]:
        axis.set_xlabel("minutes")
    axes[0].set_ylabel("judged right, %")
    figure.suptitle(title, fontsize=10)
    handles = axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper right", ncols=len(curves), frameon=False, fontsize=8)
    return figure
