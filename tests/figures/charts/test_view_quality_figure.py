"""Bars for one checkpoint, curves for several."""

import numpy as np
import pytest

from unbraid.evaluation.protocols.view_quality import ViewRow
from unbraid.figures.charts.view_quality import view_quality_figure


def _rows(step: int, share: float) -> list[ViewRow]:
    return [
        ViewRow(step, "s", "who", "static", share, 0.25),
        ViewRow(step, "s", "what", "dynamic", 0.5, 0.5),
        ViewRow(step, "d", "who", "static", 0.25, 0.25),
        ViewRow(step, "d", "what", "dynamic", share, 0.5),
    ]


def test_bars_of_one_checkpoint_are_shares_with_chance_across_them():
    axes = view_quality_figure(_rows(0, 0.75)).axes
    assert [[bar.get_width() for bar in axis.patches] for axis in axes] == [[75, 50], [25, 75]]
    assert [[line.get_xdata()[0] for line in axis.lines] for axis in axes] == [[25, 50]] * 2
    assert [tick.get_text() for tick in axes[0].get_yticklabels()] == ["who", "what"]
    wanted, leak = (bar.get_facecolor() for bar in axes[0].patches)
    assert [bar.get_facecolor() for bar in axes[1].patches] == [leak, wanted]


def test_several_checkpoints_become_curves_in_the_order_of_steps():
    axes = view_quality_figure(_rows(200, 1.0) + _rows(100, 0.75)).axes
    who, chance, what, _ = axes[0].lines
    np.testing.assert_array_equal(who.get_xydata(), [[100, 75], [200, 100]])
    np.testing.assert_array_equal(chance.get_ydata(), [25, 25])
    assert (who.get_linestyle(), what.get_linestyle()) == ("-", "--")
    assert axes[1].lines[0].get_linestyle() == "--"  # who, by d: not to be shared
    assert not axes[0].patches


def test_data_without_labels_give_nothing_to_draw():
    with pytest.raises(ValueError, match="nothing to draw"):
        view_quality_figure([])
