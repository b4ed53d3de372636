"""Histograms of thirds hold every pair once."""

import numpy as np

from unbraid.evaluation.protocols.thirds import Thirds
from unbraid.figures.charts.thirds import BINS, thirds_histogram


def test_each_third_is_a_histogram_of_shares_over_common_bins():
    rng = np.random.default_rng(0)
    parts = [rng.normal(centre, 0.1, count) for centre, count in ((0.7, 50), (0.2, 60), (-0.4, 70))]
    figure = thirds_histogram({"s": Thirds(*parts), "d": Thirds(*reversed(parts))})
    assert [axis.get_title(loc="left") for axis in figure.axes] == ["s", "d"]
    lines = {p.get_label(): p for p in figure.axes[0].patches if not p.get_fill()}
    edges = np.linspace(np.concatenate(parts).min(), np.concatenate(parts).max(), BINS + 1)
    for name, values in zip(("first", "middle", "last"), parts, strict=True):
        drawn = lines[f"{name} third"].get_data()
        np.testing.assert_allclose(drawn.edges, edges, atol=1e-5)
        assert abs(drawn.values.sum() - 1) < 1e-12
        np.testing.assert_allclose((drawn.values * edges[:-1]).sum(), values.mean(), atol=0.06)


def test_codes_that_are_all_alike_can_be_drawn():
    same = Thirds(*(np.ones(4) for _ in range(3)))
    thirds_histogram({"s": same}).draw_without_rendering()
