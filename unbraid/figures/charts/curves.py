"""The terms of the loss over training, one small panel each: of one run, or of several methods."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unbraid.figures.style import DATA, MODEL, class_colour, panels, style_axes

if TYPE_CHECKING:
    import matplotlib.figure

Rows = Sequence[Mapping[str, float]]
NOT_TERMS = ("step", "minutes")
SHARED = ("reconstruction", "kl_static", "kl_dynamic")  # terms that every method has
WIDE = 10.0  # a positive term whose values differ by more than this factor is drawn on a log scale


def loss_curves(rows: Rows, validation: Rows = ()) -> "matplotlib.figure.Figure":
    """Draw every term over steps; the validation split dashed where it was measured.

    Args:
        rows: of log.csv: `step`, `loss`, then the terms; `minutes` is not drawn. A term may be
            missing from some rows (a warm-up, for example).
        validation: of validation.csv, with the same names.
    """
    names = term_names(rows)
    figure, axes = panels(len(names), 3, width=3.0, height=1.9)
    for axis, name in zip(axes, names, strict=True):
        train, held_out = _points(rows, "step", name), _points(validation, "step", name)
        axis.plot(*train, color=DATA, linewidth=1.3, label="training")
        if len(held_out[0]):
            axis.plot(*held_out, color=MODEL, linewidth=1.2, linestyle="--", label="validation")
        _scale(axis, np.concatenate([train[1], held_out[1]]))
        style_axes(axis, name.replace("_", " "))
    for axis in axes[-3:]:
        axis.set_xlabel("step")
    if validation:
        handles = axes[0].get_legend_handles_labels()
        figure.legend(*handles, loc="outside upper right", ncols=2, frameon=False, fontsize=8)
    return figure


def training_curves(runs: Mapping[str, Sequence[Rows]]) -> "matplotlib.figure.Figure":
    """Draw what all methods are trained on, before weights, over minutes: a line for every seed.

    Args:
        runs: method -> the rows of log.csv of each of its seeds.
    """
    figure, axes = panels(len(SHARED) if runs else 0, len(SHARED), width=3.2, height=2.6)
    for axis, name in zip(axes, SHARED, strict=True):
        drawn = []
        for i, (method, seeds) in enumerate(runs.items()):
            for rows in seeds:
                points = _points(rows, "minutes", name)
                axis.plot(*points, color=class_colour(i, len(runs)), linewidth=0.9, label=method)
                drawn.append(points[1])
        _scale(axis, np.concatenate([np.array([]), *drawn]))
        axis.set_xlabel("minutes of training")
        style_axes(axis, name.replace("_", " "))
    lines, names = axes[0].get_legend_handles_labels()
    once = dict(zip(names, lines, strict=True))
    columns = 3 if len(once) > 6 else max(1, len(once))
    figure.legend(
        once.values(), once, loc="outside lower center", ncols=columns, frameon=False, fontsize=8
    )
    return figure


def term_names(rows: Rows) -> list[str]:
    """Return the names of all terms in the order of their first appearance.

    >>> term_names([{"step": 1.0, "loss": 2.0}, {"step": 2.0, "loss": 1.0, "kl_static": 0.5}])
    ['loss', 'kl_static']
    """
    return list(dict.fromkeys(name for row in rows for name in row if name not in NOT_TERMS))


def as_numbers(rows: Sequence[Mapping[str, str]]) -> list[dict[str, float]]:
    """Return rows of a CSV file as numbers, without the cells that are empty.

    >>> as_numbers([{"step": "10", "loss": "2.5", "kl_static": ""}])
    [{'step': 10.0, 'loss': 2.5}]
    """
    return [{name: float(cell) for name, cell in row.items() if cell} for row in rows]


def read_curves(path: Path) -> list[dict[str, float]]:
    """Return the rows of a log.csv or validation.csv as numbers; none if there is no file."""
    from unbraid.rows import read_rows  # drawing alone does not want Lightning

    return as_numbers(read_rows(path)) if path.is_file() else []


def _points(rows: Rows, over: str, name: str) -> tuple[Any, Any]:
    points = [(row[over], row[name]) for row in rows if over in row and name in row]
    places, values = zip(*points, strict=True) if points else ((), ())
    return np.array(places, dtype=float), np.array(values, dtype=float)


def _scale(axis: Any, values: Any) -> None:
    """Make the axis logarithmic if the values are positive and far apart."""
    values = values[np.isfinite(values)]
    if len(values) and values.min() > 0 and values.max() > WIDE * values.min():
        axis.set_yscale("log")
        axis.minorticks_off()  # they would be labelled in full, one above the other
