"""Curves of mutual information are the logged ones."""

from math import log

import numpy as np
import pytest

from unbraid.figures.charts.mi_curves import mi_curves

ROWS = [
    {"step": 10.0, "loss": 3.0, "mi_static_dynamic": 9.0},
    {"step": 20.0, "loss": 2.0, "mi_static_dynamic": 8.5, "mi_static": 1.0},
    {"step": 30.0, "loss": 1.0, "mi_static_dynamic": 8.0, "mi_static": 2.0},
]


def test_each_estimate_that_was_logged_has_a_panel_with_its_values():
    axes = mi_curves(ROWS).axes
    assert [axis.get_title(loc="left") for axis in axes] == ["I(s; x)", "I(s; d)"]
    np.testing.assert_array_equal(axes[0].lines[0].get_xydata(), [[20, 1], [30, 2]])
    np.testing.assert_array_equal(axes[1].lines[0].get_xydata(), [[10, 9], [20, 8.5], [30, 8]])


def test_the_range_of_mws_is_shaded_only_where_it_holds():
    bounds = (log(1000), log(1000 * 64))
    axes = mi_curves(ROWS, mws_range=bounds).axes
    assert not axes[0].patches
    (band,) = axes[1].patches
    assert (band.get_y(), band.get_y() + band.get_height()) == pytest.approx(bounds)
    both = mi_curves(ROWS, mws_range=bounds, by_mws=("mi_static", "mi_static_dynamic")).axes
    assert [len(axis.patches) for axis in both] == [1, 1]


def test_a_log_without_estimates_is_refused_by_name():
    with pytest.raises(ValueError, match="none of mi_static, mi_dynamic"):
        mi_curves([{"step": 1.0, "loss": 2.0}])
