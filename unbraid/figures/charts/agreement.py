"""Label-free costs against a labelled score: a dot per trial."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from unbraid.evaluation.metrics.agreement import spearman
from unbraid.figures.style import DATA, FAINT, MODEL, panels, style_axes
from unbraid.shapes import ShapeError

if TYPE_CHECKING:
    import matplotlib.figure


def agreement_figure(
    costs: Mapping[str, NDArray[Any]], score: NDArray[Any], metric: str
) -> "matplotlib.figure.Figure":
    """Draw a panel per cost; the trial each would choose is rust, the best by labels ringed.

    Args:
        costs: name -> (N,) label-free numbers of the trials, less is better.
        score: (N,) labelled numbers of the same trials, more is better.
        metric: name of the score.
    """
    for name, cost in costs.items():
        if cost.shape != score.shape:
            raise ShapeError(f"{name} must have shape {score.shape}, got {cost.shape}.")
    figure, axes = panels(len(costs), 2, width=3.6, height=3.0)
    for axis, (name, cost) in zip(axes, costs.items(), strict=True):
        style_axes(axis, f"rank correlation {spearman(-cost, score):+.2f}")
        chosen, best = cost.argmin(), score.argmax()
        axis.scatter(cost, score, s=22, color=DATA, linewidths=0, alpha=0.8)
        axis.scatter(cost[chosen], score[chosen], s=34, color=MODEL, linewidths=0)
        axis.scatter(cost[best], score[best], s=90, facecolors="none", edgecolors=FAINT)
        axis.set(xlabel=f"{name} (less is better)", ylabel=f"{metric} (more is better)")
        axis.invert_xaxis()  # better to the right, as better is up
    return figure
