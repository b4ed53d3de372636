"""What probes read from each code, next to chance."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from unbraid.evaluation.protocols.probes import ProbeRow
from unbraid.figures.style import DATA, FAINT, INK, MUTED, panels, style_axes

if TYPE_CHECKING:
    import matplotlib.figure


def probe_bars(rows: Sequence[ProbeRow]) -> "matplotlib.figure.Figure":
    """Draw a bar per row, in the order given: blue should be long, grey should end at chance.

    The thin dark line across a bar is chance; whiskers are one standard deviation to either side.
    """
    figure, (axis,) = panels(1, 1, width=7.2, height=0.8 + 0.34 * len(rows))
    places = _places(rows)
    for place, row in zip(places, rows, strict=True):
        axis.barh(
            place,
            100 * row.mean,
            height=0.72,
            color=DATA if row.wanted else FAINT,
            xerr=100 * row.std or None,
            error_kw={"ecolor": MUTED, "elinewidth": 1.0},
        )
        _mark(axis, place, row)
    axis.set_yticks(places, [_label(row, rows) for row in rows])
    axis.set_ylim(max(places, default=0.0) + 0.6, -0.6)
    axis.set_xlim(0, 112)
    axis.set_xticks(range(0, 101, 20))
    axis.set_xlabel("accuracy, %")
    style_axes(axis)
    axis.tick_params(axis="y", length=0, labelsize=9, labelcolor=INK)
    _legend(figure)
    return figure


def _mark(axis: Any, place: float, row: ProbeRow) -> None:
    """Write the accuracy after the bar and draw chance across it."""
    axis.plot([100 * row.chance] * 2, [place - 0.42, place + 0.42], color=INK, linewidth=1.4)
    end = 100 * max(row.mean + row.std, row.chance)
    axis.text(end + 1.2, place, f"{100 * row.mean:.1f}", va="center", fontsize=8, color=INK)


def _label(row: ProbeRow, rows: Sequence[ProbeRow]) -> str:
    several = len({other.classifier for other in rows}) > 1
    return f"{row.code} → {row.factor}" + (f" ({row.classifier})" if several else "")


def _places(rows: Sequence[ProbeRow]) -> list[float]:
    """Return heights one apart, with a gap where the factor changes."""
    places: list[float] = []
    for i, row in enumerate(rows):
        gap = 1.0 if not i or rows[i - 1].factor == row.factor else 1.45
        places.append(places[-1] + gap if places else 0.0)
    return places


def _legend(figure: Any) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles = [
        Patch(color=DATA, label="should be high"),
        Patch(color=FAINT, label="should be at chance"),
        Line2D([], [], color=INK, linewidth=1.4, label="chance"),
    ]
    figure.legend(handles=handles, loc="outside upper right", ncols=3, frameon=False, fontsize=8)
