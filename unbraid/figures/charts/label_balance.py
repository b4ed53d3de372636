"""How often labels and lengths occur, on one page."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unbraid.data.checks.balance import Label
from unbraid.figures.style import DATA, INK, MODEL, MUTED, panels, style_axes

if TYPE_CHECKING:
    import matplotlib.figure

MOST_NAMES = 20  # more values than this leave no room for their names


def label_balance(
    labels: Sequence[Label],
    lengths: Mapping[str, NDArray[Any]],
    numbers: Mapping[str, NDArray[Any]] | None = None,
) -> "matplotlib.figure.Figure":
    """Draw a panel per label, bars for training and dots for test, and one of lengths.

    One length of all sequences, and labels of too many values to be counted, are said at the
    bottom.

    Args:
        labels: from `weigh_labels`.
        lengths: split -> (sequences,) steps.
        numbers: label -> its values in training, for labels that are numbers.
    """
    numbers = numbers or {}
    counted = [label for label in labels if label.has_balance]
    every = np.concatenate(list(lengths.values()))
    differ = len(np.unique(every)) > 1 or not (counted or numbers)
    most = max((x.values for x in counted if x.values <= MOST_NAMES), default=4)
    count = len(counted) + len(numbers) + differ
    figure, axes = panels(count, 3, width=3.6, height=max(2.2, 0.9 + 0.17 * most))
    for axis, label in zip(axes, counted, strict=False):
        _bars(axis, label)
    for axis, (name, values) in zip(axes[len(counted) :], numbers.items(), strict=False):
        axis.hist(values, bins=30, color=DATA)
        style_axes(axis, f"{name}, training")
    if differ:
        _lengths(axes[-1], lengths)
    notes = [] if differ else [f"all {len(every):,} sequences have {int(every[0])} steps"]
    notes += [f"{x.name}: {x.values:,} values" for x in labels if x.values and not x.has_balance]
    figure.supxlabel("; ".join(notes), fontsize=8, color=MUTED)
    _legend(figure)
    return figure


def _bars(axis: Any, label: Label) -> None:
    """Draw the share of every value: by name if there are few, else from frequent to rare."""
    train, test = (label.counts.get(part, {}) for part in ("train", "test"))
    names = list(dict.fromkeys([*train, *test]))
    few = len(names) <= MOST_NAMES
    shares = [
        100 * np.array([counts.get(name, 0) for name in names]) / max(1, sum(counts.values()))
        for counts in (train, test)
    ]
    style_axes(axis, f"{label.name} ({label.role}, per {'step' if label.per_step else 'sequence'})")
    if few:
        places = np.arange(len(names))
        axis.barh(places, shares[0], height=0.7, color=DATA)
        axis.plot(shares[1], places, "o", color=MODEL, markersize=4)
        axis.set_yticks(places, [name[:22] for name in names])
        axis.set_ylim(len(names) - 0.4, -0.6)
        axis.tick_params(axis="y", length=0, labelcolor=INK)
        axis.set_xlabel("share, %")
        axis.locator_params(axis="x", nbins=5)
    else:
        order = np.argsort(-shares[0], kind="stable")
        axis.bar(np.arange(len(names)), shares[0][order], width=1.0, color=DATA)
        there = np.flatnonzero(shares[1][order])
        axis.plot(there, shares[1][order][there], ".", color=MODEL, markersize=3)
        axis.set_xlabel(f"{len(names)} values, most frequent first")
        axis.set_ylabel("share, %")


def _lengths(axis: Any, lengths: Mapping[str, NDArray[Any]]) -> None:
    style_axes(axis, "length, steps")
    every = np.concatenate(list(lengths.values()))
    low, high = int(every.min()), int(every.max())
    edges = np.linspace(low - 0.5, high + 0.5, min(high - low + 1, 40) + 1)
    for part, colour in (("train", DATA), ("test", MODEL)):
        share = np.histogram(lengths[part], edges)[0] / max(1, len(lengths[part]))
        fill = part == "train"
        axis.stairs(100 * share, edges, fill=fill, color=colour, linewidth=1.4)
    axis.locator_params(axis="x", integer=True)
    axis.set_ylabel("share, %")


def _legend(figure: Any) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    dot = Line2D([], [], marker="o", linestyle="", color=MODEL, markersize=4, label="test")
    figure.legend(
        handles=[Patch(color=DATA, label="training"), dot],
        loc="outside upper right",
        ncols=2,
        frameon=False,
        fontsize=8,
    )
