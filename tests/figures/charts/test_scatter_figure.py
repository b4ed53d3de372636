"""Points keep their places and get the colour of their class."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

from unbraid.figures.charts.scatter import COLOURS, scatter_by_label
from unbraid.shapes import ShapeError

RNG = np.random.default_rng(0)
POINTS = RNG.random((60, 2))


def test_each_class_is_drawn_at_its_points_in_its_colour():
    labels = np.arange(60) % 3
    figure = scatter_by_label(POINTS, labels, ("cat", "dog", "bird"), "animals")
    (axis,) = figure.axes
    assert axis.get_title(loc="left") == "animals"
    for k, drawn in enumerate(axis.collections):
        np.testing.assert_array_equal(drawn.get_offsets(), POINTS[labels == k])
        assert to_hex(drawn.get_facecolor()[0]) == COLOURS[k]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["cat", "dog", "bird"]


def test_rows_without_a_place_are_left_out_but_their_class_keeps_its_colour():
    points, labels = POINTS.copy(), np.arange(60) % 3
    points[labels == 0] = np.nan
    (axis,) = scatter_by_label(points, labels).axes
    assert [len(drawn.get_offsets()) for drawn in axis.collections] == [0, 20, 20]
    assert to_hex(axis.collections[1].get_facecolor()[0]) == COLOURS[1]


def test_labels_may_be_words():
    figure = scatter_by_label(POINTS, np.array(["b", "a"] * 30))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b"]


def test_more_than_twelve_classes_have_no_legend_and_different_colours():
    figure = scatter_by_label(POINTS, np.arange(60) % 20)
    assert not figure.legends
    (axis,) = figure.axes
    assert axis.get_xlabel() == "20 classes"
    assert len({to_hex(drawn.get_facecolor()[0]) for drawn in axis.collections}) == 20


def test_fractions_get_a_colour_bar():
    values = RNG.random(60)
    figure = scatter_by_label(POINTS, values)
    axis, bar = figure.axes
    np.testing.assert_array_equal(axis.collections[0].get_array(), values)
    assert not figure.legends
    figure.draw_without_rendering()
    assert bar.get_ylim() == (values.min(), values.max())


def test_labels_of_another_length_are_refused():
    with pytest.raises(ShapeError, match=r"labels must have shape \(60,\)"):
        scatter_by_label(POINTS, np.zeros(59, dtype=int))
