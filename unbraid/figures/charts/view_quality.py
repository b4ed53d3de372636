"""How many positive views share the anchor's labels, next to chance."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from unbraid.evaluation.protocols.view_quality import ViewRow
from unbraid.figures.style import COLOURS, DATA, FAINT, INK, panels, style_axes

if TYPE_CHECKING:
    import matplotlib.figure

TITLES = {"s": "positives by s", "d": "positives by d"}


def view_quality_figure(rows: Sequence[ViewRow]) -> "matplotlib.figure.Figure":
    """Draw bars for one checkpoint, curves over steps for several; a panel per code.

    Args:
        rows: from `view_quality`.
    """
    codes = list(dict.fromkeys(row.code for row in rows))
    several = len({row.step for row in rows}) > 1
    factors = len({row.factor for row in rows})
    height = 2.9 if several else 1.1 + 0.36 * factors
    figure, axes = panels(len(codes), 2, width=4.4, height=height)
    for axis, code in zip(axes, codes, strict=True):
        style_axes(axis, TITLES[code])
        (_curves if several else _bars)(axis, [row for row in rows if row.code == code])
    _legend(figure, axes[0], several)
    return figure


def _bars(axis: Any, rows: Sequence[ViewRow]) -> None:
    places = list(range(len(rows)))
    for place, row in zip(places, rows, strict=True):
        axis.barh(place, 100 * row.share, height=0.7, color=DATA if row.wanted else FAINT)
        axis.plot([100 * row.chance] * 2, [place - 0.4, place + 0.4], color=INK, linewidth=1.4)
        end = 100 * max(row.share, row.chance)
        axis.text(end + 1.5, place, f"{100 * row.share:.1f}", va="center", fontsize=8, color=INK)
    axis.set_yticks(places, [row.factor for row in rows])
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.set(xlim=(0, 116), xticks=range(0, 101, 20))
    axis.set_xlabel("positives with the anchor's label, %")
    axis.tick_params(axis="y", length=0, labelsize=9, labelcolor=INK)


def _curves(axis: Any, rows: Sequence[ViewRow]) -> None:
    """Draw a factor that should be shared as a full line, another dashed; chance is dotted."""
    for place, name in enumerate(dict.fromkeys(row.factor for row in rows)):
        mine = sorted((row for row in rows if row.factor == name), key=lambda row: row.step)
        steps, colour = [row.step for row in mine], COLOURS[place % len(COLOURS)]
        axis.plot(
            steps,
            [100 * row.share for row in mine],
            color=colour,
            marker="o",
            markersize=3,
            linewidth=1.4,
            linestyle="-" if mine[0].wanted else "--",
            label=name,
        )
        axis.plot(
            steps, [100 * row.chance for row in mine], color=colour, linewidth=1, linestyle=":"
        )
    axis.set_ylim(0, 104)
    axis.set_xlabel("step")
    axis.set_ylabel("positives with the anchor's label, %")


def _legend(figure: Any, first: Any, several: bool) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    if several:
        handles = first.get_legend_handles_labels()[0]
        for style, label in (("-", "to be shared"), ("--", "not to be"), (":", "chance")):
            handles.append(Line2D([], [], color=INK, linewidth=1.2, linestyle=style, label=label))
    else:
        handles = [
            Patch(color=DATA, label="should be high"),
            Patch(color=FAINT, label="should be at chance"),
            Line2D([], [], color=INK, linewidth=1.4, label="chance"),
        ]
    columns = min(8, len(handles))
    figure.legend(
        handles=handles, loc="outside upper right", ncols=columns, frameon=False, fontsize=8
    )
