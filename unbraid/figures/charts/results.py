"""Our numbers beside the published ones, method by method."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unbraid.figures.style import DATA, INK, MODEL, MUTED, panels, style_axes

if TYPE_CHECKING:
    import matplotlib.figure

COLUMNS = 3


def result_dots(
    rows: Sequence[Mapping[str, Any]], targets: Mapping[str, float]
) -> "matplotlib.figure.Figure":
    """Draw a panel for each metric: a dot per method, its spread over seeds, what was published.

    Args:
        rows: of one comparison and protocol, as in `results.json`.
        targets: metric -> what the best method should reach, a dashed line. If there are any,
            metrics without one are left out.
    """
    measured = [row for row in rows if row["mean"] is not None]
    metrics = list(dict.fromkeys(row["metric"] for row in measured))
    metrics = [name for name in metrics if name in targets] or metrics
    methods = list(dict.fromkeys(row["method"] for row in measured))
    figure, axes = panels(len(metrics), COLUMNS, width=3.4, height=0.9 + 0.3 * len(methods))
    for i, (axis, metric) in enumerate(zip(axes, metrics, strict=True)):
        some = [row for row in measured if row["metric"] == metric]
        for row in some:
            _mark(axis, methods.index(row["method"]), row)
        if metric in targets:
            axis.axvline(targets[metric], color=MUTED, linewidth=0.8, linestyle=(0, (4, 3)))
        better = "more" if some[0]["better"] == "up" else "less"
        style_axes(axis, f"{metric.replace('_', ' ')} ({better} is better)")
        axis.set_ylim(len(methods) - 0.5, -0.5)
        axis.set_yticks(range(len(methods)), methods if i % COLUMNS == 0 else [""] * len(methods))
        axis.tick_params(axis="y", length=0, labelsize=8, labelcolor=INK)
        axis.margins(x=0.12)
    published = any(row["published"] is not None for row in rows)
    _legend(figure, published=published, targets=bool(targets))
    return figure


def _mark(axis: Any, place: int, row: Mapping[str, Any]) -> None:
    """Draw one method: ours with one standard deviation to either side, and the published value."""
    if row["published"] is not None:
        axis.plot(row["published"], place, "D", ms=5, mfc="none", mec=MODEL)
    axis.errorbar(
        row["mean"], place, xerr=row["std"] or None, fmt="o", ms=5, color=DATA, elinewidth=1.2
    )


def _legend(figure: Any, *, published: bool, targets: bool) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=DATA, marker="o", ms=5, linewidth=1.2, label="here, ± std over seeds")
    ]
    if published:
        handles.append(
            Line2D([], [], color=MODEL, marker="D", ms=5, mfc="none", ls="", label="published")
        )
    if targets:
        dashed = Line2D([], [], color=MUTED, linewidth=0.8, linestyle=(0, (4, 3)), label="target")
        handles.append(dashed)
    figure.legend(
        handles=handles, loc="outside upper right", ncols=len(handles), frameon=False, fontsize=8
    )
