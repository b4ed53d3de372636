import numpy as np
import pytest

from unbraid.figures.charts.agreement import agreement_figure
from unbraid.shapes import ShapeError


def test_every_cost_has_a_panel_with_a_dot_per_trial():
    costs = {"nats": np.array([3.0, 1.0, 2.0]), "leakage": np.array([0.3, 0.1, 0.2])}
    figure = agreement_figure(costs, np.array([0.5, 0.9, 0.7]), "gap")
    assert len(figure.axes) == 2
    for axis in figure.axes:
        assert len(axis.collections[0].get_offsets()) == 3
        assert axis.get_title(loc="left") == "rank correlation +1.00"
        np.testing.assert_allclose(axis.collections[1].get_offsets()[0][1], 0.9)  # the choice


def test_costs_and_scores_of_other_trials_are_refused():
    with pytest.raises(ShapeError, match=r"nats must have shape \(2,\), got \(3,\)"):
        agreement_figure({"nats": np.ones(3)}, np.ones(2), "gap")
