"""The drawn trade-off is the measured one."""

import numpy as np

from unbraid.evaluation.metrics.verification import det_curve, equal_error_rate
from unbraid.figures.charts.det import det_plot

RNG = np.random.default_rng(0)
SAME = RNG.random(500) < 0.2
GOOD, POOR = RNG.normal(size=500) + 2.0 * SAME, RNG.normal(size=500)


def test_curves_are_the_rates_and_points_the_equal_error_rates():
    curves = {"s": det_curve(GOOD, SAME), "d": det_curve(POOR, SAME)}
    (axis,) = det_plot(curves).axes
    lines = axis.lines[1:]  # the first is the diagonal
    for line, point, scores in ((*lines[:2], GOOD), (*lines[2:], POOR)):
        np.testing.assert_array_equal(line.get_xydata().T, det_curve(scores, SAME)[1:])
        rate = equal_error_rate(scores, SAME)
        np.testing.assert_allclose(point.get_xydata(), [[rate, rate]])
    assert lines[0].get_label() == f"s: {100 * equal_error_rate(GOOD, SAME):.1f} %"
    assert lines[0].get_color() != lines[2].get_color()


def test_a_perfect_code_is_drawn_at_the_edge():
    figure = det_plot({"s": det_curve(SAME.astype(float), SAME)})
    assert figure.axes[0].lines[2].get_xydata().tolist() == [[0.0, 0.0]]
    figure.draw_without_rendering()
