"""Figures made with matplotlib show exactly the numbers they were given."""

import subprocess
import sys

import numpy as np
import pytest

from unbraid.evaluation.protocols.probes import ProbeRow
from unbraid.figures.charts.bars import probe_bars
from unbraid.figures.charts.curves import as_numbers, loss_curves, training_curves
from unbraid.figures.sequences.series import series_plot
from unbraid.figures.sequences.spectrograms import spectrogram_grid
from unbraid.shapes import ShapeError

ROWS = [
    {"step": 10.0, "minutes": 0.1, "loss": 900.0, "reconstruction": 890.0},
    {"step": 20.0, "minutes": 0.2, "loss": 90.0, "reconstruction": 80.0, "kl_static": 10.0},
    {"step": 30.0, "minutes": 0.3, "loss": 9.0, "reconstruction": 4.0, "kl_static": 5.0},
]


def test_loss_curves_have_a_panel_per_term_with_the_logged_values():
    axes = loss_curves(ROWS).axes
    assert [axis.get_title(loc="left") for axis in axes] == ["loss", "reconstruction", "kl static"]
    np.testing.assert_array_equal(axes[0].lines[0].get_xydata(), [[10, 900], [20, 90], [30, 9]])
    np.testing.assert_array_equal(axes[2].lines[0].get_xydata(), [[20, 10], [30, 5]])


def test_validation_is_dashed_and_only_where_it_was_measured():
    axes = loss_curves(ROWS, [{"step": 30.0, "loss": 12.0}]).axes
    assert [len(axis.lines) for axis in axes] == [2, 1, 1]
    assert axes[0].lines[0].get_linestyle() == "-"
    assert axes[0].lines[1].get_linestyle() == "--"
    np.testing.assert_array_equal(axes[0].lines[1].get_xydata(), [[30, 12]])


def test_only_wide_positive_terms_get_a_log_scale():
    assert [axis.get_yscale() for axis in loss_curves(ROWS).axes] == ["log", "log", "linear"]
    below = [{"step": 1.0, "loss": -1.0}, {"step": 2.0, "loss": 1e4}]
    assert loss_curves(below).axes[0].get_yscale() == "linear"


def test_training_curves_have_a_line_for_every_seed_and_a_name_for_every_method():
    figure = training_curves({"DSVAE": [ROWS, ROWS[:2]], "SPYL": [ROWS]})
    axes = figure.axes
    names = [axis.get_title(loc="left") for axis in axes]
    assert names == ["reconstruction", "kl static", "kl dynamic"]
    lines = [line.get_xydata().tolist() for line in axes[1].lines]
    assert lines == [[[0.2, 10], [0.3, 5]], [[0.2, 10]], [[0.2, 10], [0.3, 5]]]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["DSVAE", "SPYL"]
    first, second, third = (line.get_color() for line in axes[0].lines)
    assert first == second != third


def test_training_curves_want_one_run():
    with pytest.raises(ValueError, match="nothing to draw"):
        training_curves({})


def test_a_csv_row_with_an_empty_cell_can_be_drawn():
    rows = as_numbers([{"step": "1", "loss": "2", "kl": ""}, {"step": "2", "loss": "1", "kl": "3"}])
    axes = loss_curves(rows).axes
    np.testing.assert_array_equal(axes[1].lines[0].get_xydata(), [[2, 3]])


def test_a_log_without_rows_says_that_there_is_nothing_to_draw():
    with pytest.raises(ValueError, match="nothing to draw"):
        loss_curves([])


def _probe(code: str, role: str, mean: float, *, std: float = 0.0, chance: float = 0.2) -> ProbeRow:
    return ProbeRow(code, f"a {role} one", role, "svc", mean, std, chance)


def test_probe_bars_are_accuracies_with_chance_across_them():
    rows = [_probe("s", "static", 0.9, std=0.05), _probe("d", "static", 0.25, chance=0.125)]
    (axis,) = probe_bars(rows).axes
    assert [bar.get_width() for bar in axis.patches] == [90.0, 25.0]
    marks = [line.get_xdata()[0] for line in axis.lines if len(line.get_xdata()) == 2]
    assert marks == [20.0, 12.5]
    assert [text.get_text() for text in axis.texts] == ["90.0", "25.0"]
    assert [tick.get_text() for tick in axis.get_yticklabels()] == [
        "s → a static one",
        "d → a static one",
    ]


def test_what_a_code_should_tell_has_another_colour_than_what_it_should_not():
    pairs = [("s", "static"), ("d", "static"), ("s", "dynamic"), ("d", "dynamic")]
    (axis,) = probe_bars([_probe(code, role, 0.5) for code, role in pairs]).axes
    colours = [bar.get_facecolor() for bar in axis.patches]
    assert colours[0] == colours[3] != colours[1] == colours[2]


def test_series_are_joined_along_time_and_unobserved_values_left_out():
    x = np.arange(12.0).reshape(3, 2, 2)
    observed = np.ones_like(x, dtype=bool)
    observed[1, 0, 1] = False
    axes = series_plot(x, x + 100.0, observed=observed, channels=("a", "b")).axes
    assert [axis.get_title(loc="left") for axis in axes] == ["a", "b"]
    lines = {line.get_label(): line.get_ydata() for line in axes[1].lines}
    np.testing.assert_array_equal(lines["data"], [1, 3, np.nan, 7, 9, 11])
    np.testing.assert_array_equal(lines["reconstruction"], [101, 103, 105, 107, 109, 111])


def test_windows_end_at_light_lines_between_two_rows():
    (axis,) = series_plot(np.zeros((3, 4, 1))).axes
    upright = [line.get_xdata() for line in axis.lines if len(line.get_xdata()) == 2]
    assert upright == [[3.5, 3.5], [7.5, 7.5]]


def test_only_chosen_channels_are_drawn_and_eight_if_none_are():
    x = np.random.default_rng(0).random((2, 3, 12))
    assert len(series_plot(x).axes) == 8
    (axis,) = series_plot(x, shown=(10,)).axes
    np.testing.assert_array_equal(axis.lines[-1].get_ydata(), x[..., 10].ravel())


def test_a_reconstruction_of_another_shape_is_refused():
    with pytest.raises(ShapeError, match="x_hat must have the shape of x"):
        series_plot(np.zeros((3, 2, 2)), np.zeros((3, 2, 1)))


def test_spectrograms_share_one_scale_and_low_bands_are_below():
    quiet, loud = np.zeros((4, 3)), np.full((6, 3), 5.0)
    quiet[0, 0] = -2.0
    figure = spectrogram_grid([("a", quiet), ("b", loud)], step=0.5)
    images = [axis.images[0] for axis in figure.axes[:2]]
    assert [image.get_clim() for image in images] == [(-2.0, 5.0)] * 2
    assert images[0].origin == "lower"
    assert images[0].get_array()[0, 0] == -2.0  # (band, step)
    assert images[0].get_array().shape == (3, 4)
    assert [axis.get_xlim() for axis in figure.axes[:2]] == [(0.0, 3.0)] * 2


def test_drawing_leaves_no_global_state_behind():
    """Neither pyplot nor, on import alone, matplotlib itself is loaded."""
    code = (
        "import io, sys, numpy as np\n"
        "from unbraid.figures import save, style\n"
        "from unbraid.figures.charts import curves\n"
        "from unbraid.figures.sequences import series, spectrograms\n"
        "assert 'matplotlib' not in sys.modules\n"
        "series.series_plot(np.zeros((2, 2, 1))).savefig(io.BytesIO(), dpi=save.DPI)\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
