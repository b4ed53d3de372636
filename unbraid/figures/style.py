"""The common look of drawn figures: few colours, light axes, no state outside the figure."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import matplotlib.figure

INK = "#22262b"
MUTED = "#5c6570"
LINE = "#dcdad4"
DATA = "#23577f"  # blue: what was measured, or is wanted
MODEL = "#c2571a"  # rust: what the model says
FAINT = "#c9c5bb"
COLOURS = (
    "#23577f",
    "#c2571a",
    "#4c9a6a",
    "#8d5fb0",
    "#d0a31f",
    "#5bb0d0",
    "#b5304f",
    "#8a6d4b",
    "#9dbb3c",
    "#e193b8",
    "#3f444b",
    "#9fa6b0",
)
"""Told apart up to so many classes."""


def panels(
    count: int, columns: int, *, width: float, height: float
) -> tuple["matplotlib.figure.Figure", list[Any]]:
    """Return a figure of equal panels, in rows of at most `columns`.

    Args:
        count: how many panels; a last row may be shorter.
        columns: the most panels in a row.
        width: of one panel, in inches.
        height: of one panel, in inches.
    """
    from matplotlib.figure import Figure

    if count < 1:
        raise ValueError("there is nothing to draw: give one row at least.")
    columns = min(columns, count)
    lines = -(-count // columns)
    figure = Figure(
        figsize=(width * columns, height * lines), layout="constrained", facecolor="white"
    )
    grid = figure.add_gridspec(lines, columns)
    return figure, [figure.add_subplot(grid[divmod(i, columns)]) for i in range(count)]


def style_axes(axes: Any, title: str = "") -> None:
    """Give axes the common look: two thin spines, small muted ticks, the title at the left."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(LINE)
    axes.tick_params(colors=MUTED, labelsize=8, length=3, width=0.6)
    axes.xaxis.label.set(color=MUTED, fontsize=8)
    axes.yaxis.label.set(color=MUTED, fontsize=8)
    if title:
        axes.set_title(title, loc="left", fontsize=9, color=INK)


def class_colour(place: int, count: int) -> Any:
    """Return the colour of one of `count` classes; many get a place on a rainbow."""
    if count <= len(COLOURS):
        return COLOURS[place]
    from matplotlib import colormaps

    return colormaps["turbo"](place / (count - 1))
