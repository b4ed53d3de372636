"""Points on a plane, coloured by a label."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unbraid.figures.style import COLOURS, MUTED, class_colour, panels, style_axes
from unbraid.shapes import ShapeError, check_axes

if TYPE_CHECKING:
    import matplotlib.figure


def scatter_by_label(
    points: NDArray[Any], labels: NDArray[Any], names: Sequence[str] = (), title: str = ""
) -> "matplotlib.figure.Figure":
    """Draw points; up to 12 classes get a colour and a line in the legend each.

    More classes are coloured along a rainbow, without a legend. Labels that are fractions get a
    colour bar.

    Args:
        points: (N, 2), from `tsne_points` for example; rows with NaN are left out.
        labels: (N,) classes, or numbers.
        names: of classes 0, 1, ...; the labels themselves if there are none.
        title: over the axes.
    """
    check_axes("points", points.shape, "N 2")
    if labels.shape != points.shape[:1]:
        raise ShapeError(f"labels must have shape ({len(points)},), got {labels.shape}.")
    there = np.isfinite(points).all(1)
    figure, (axis,) = panels(1, 1, width=5.6, height=4.4)
    style_axes(axis, title)
    axis.set(xticks=[], yticks=[], aspect="equal")
    axis.set_adjustable("datalim")
    if np.issubdtype(labels.dtype, np.floating):
        _by_number(figure, axis, points[there], labels[there])
    else:
        _by_class(figure, axis, (points[there], labels[there]), (np.unique(labels), names))
    return figure


def _by_class(figure: Any, axis: Any, drawn: tuple[Any, Any], known: tuple[Any, Any]) -> None:
    (points, labels), (classes, names) = drawn, known
    for place, label in enumerate(classes):
        chosen = labels == label
        axis.scatter(
            *points[chosen].T,
            s=_size(points),
            color=class_colour(place, len(classes)),
            linewidths=0,
            alpha=0.85,
            label=str(names[label] if len(names) else label),
        )
    if len(classes) <= len(COLOURS):
        figure.legend(
            loc="outside right upper",
            frameon=False,
            fontsize=8,
            markerscale=1.6,
            handletextpad=0.2,
        )
    else:
        axis.set_xlabel(f"{len(classes)} classes")


def _by_number(figure: Any, axis: Any, points: NDArray[Any], labels: NDArray[Any]) -> None:
    dots = axis.scatter(*points.T, s=_size(points), c=labels, cmap="viridis", linewidths=0)
    bar = figure.colorbar(dots, ax=axis, shrink=0.7, aspect=30, pad=0.02)
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=MUTED, labelsize=8, length=3, width=0.6)


def _size(points: NDArray[Any]) -> float:
    """Return the area of a dot: smaller where there are many."""
    return float(np.clip(6000 / max(1, len(points)), 6, 30))
