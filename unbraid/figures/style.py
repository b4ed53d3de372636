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
DARK = 0.5  # share of a colour above which text on it is white
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


def write_share(axes: Any, column: int, line: int, share: float, *, size: int = 8) -> None:
    """Write a share in percent into a cell of a matrix, in white on dark cells."""
    colour = "white" if share > DARK else INK
    text = f"{100 * share:.0f}"
    axes.text(column, line, text, ha="center", va="center", fontsize=size, color=colour)


def draw_spectrogram(axes: Any, x: Any, *, step: float, limits: tuple[float, float]) -> Any:
    """Draw features (T, F) over seconds and bands; return the image, for `add_colour_bar`."""
    return axes.imshow(
        x.T,
        origin="lower",
        aspect="auto",
        interpolation="nearest",
        cmap="magma",
        vmin=limits[0],
        vmax=limits[1],
        extent=(0.0, len(x) * step, 0.0, x.shape[1]),
    )


def add_colour_bar(figure: "matplotlib.figure.Figure", image: Any, axes: list[Any]) -> None:
    """Add a narrow colour bar beside axes that share their colours."""
    bar = figure.colorbar(image, ax=axes, shrink=0.6, aspect=30, pad=0.01)
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=MUTED, labelsize=8, length=3, width=0.6)
