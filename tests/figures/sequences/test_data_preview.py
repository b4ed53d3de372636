"""Previews show the numbers they were given, and gaps as gaps."""

import numpy as np
import pytest

from unbraid.data.checks.balance import weigh_labels
from unbraid.data.readers.arrays import from_arrays
from unbraid.figures.charts.label_balance import label_balance
from unbraid.figures.sequences.data_preview import Shown, frame_sheet, lane_sheet, spectrogram_sheet
from unbraid.shapes import ShapeError

RNG = np.random.default_rng(0)


def _video(steps: int = 3, channels: int = 3) -> np.ndarray:
    return RNG.random((steps, channels, 8, 6)).astype(np.float32)


def test_frames_stand_right_of_what_is_known():
    rows = [Shown(("who: ann",), _video()), Shown(("who: bob",), _video())]
    bare = frame_sheet([Shown((), row.x) for row in rows], zoom=1)
    sheet = frame_sheet(rows, zoom=1)
    assert bare.shape == (8 + 2 + 8, 3 * 8 - 2, 3)
    np.testing.assert_array_equal(sheet[:, -bare.shape[1] :], bare)
    notes = sheet[:, : -bare.shape[1]]
    assert (notes < 128).any()


def test_of_a_long_video_sixteen_frames_are_shown_first_and_last_among_them():
    x = np.zeros((100, 1, 4, 4), np.float32)
    x[0], x[99] = 1.0, 0.5
    sheet = frame_sheet([Shown((), x)], zoom=1)
    assert sheet.shape[1] == 16 * 6 - 2
    assert (sheet[:, :4] == 255).all()
    assert (sheet[:, -4:] == 128).all()


def test_two_channels_are_shown_as_their_mean():
    x = np.zeros((1, 2, 4, 4), np.float32)
    x[:, 1] = 1.0
    assert (frame_sheet([Shown((), x)], zoom=1) == 128).all()


def test_a_lane_per_channel_breaks_where_nothing_was_observed():
    x = np.zeros((5, 2, 3), np.float32)
    x[2, :, 1] = np.nan
    (axis,) = lane_sheet([Shown(("a",), x)], channels=("p", "q", "r")).axes
    lanes = [line for line in axis.lines if len(line.get_xdata()) == 10]
    assert len(lanes) == 3
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(lanes[1].get_ydata())), [4, 5])
    assert [text.get_text() for text in axis.get_yticklabels()] == ["p", "q", "r"]
    grey = [part.get_paths() for part in axis.collections]
    assert [len(paths) for paths in grey] == [0, 1, 0]
    extent = grey[1][0].get_extents()
    assert (extent.x0, extent.x1) == (3.5, 5.5)


def test_more_channels_than_lanes_are_said():
    figure = lane_sheet([Shown((), np.zeros((2, 2, 14)))])
    assert "The first 10 of 14 channels" in figure._supxlabel.get_text()


def test_labels_of_steps_stand_where_they_begin_if_there_is_room():
    spans = ((0, "rest"), (10, "rise"), (19, "a name too long for one step"))
    (axis,) = lane_sheet([Shown((), np.zeros((20, 4, 2)), spans)]).axes
    texts = {text.get_text().strip(): text.get_position()[0] for text in axis.texts}
    assert texts == {"rest": -0.5, "rise": 39.5}
    figure = spectrogram_sheet([Shown((), RNG.random((20, 5)), spans)], step=0.01)
    texts = {text.get_text().strip(): text.get_position()[0] for text in figure.axes[0].texts}
    assert texts == {"rest": 0.0, "rise": pytest.approx(0.1)}


def test_axes_are_checked():
    with pytest.raises(ShapeError, match="T, W, F"):
        lane_sheet([Shown((), np.zeros((4, 2)))])
    with pytest.raises(ShapeError, match="T, C, H, W"):
        frame_sheet([Shown((), np.zeros((4, 2)))])


def test_bars_are_shares_of_training_and_dots_of_test():
    split = np.array(["train"] * 8 + ["validation", "test", "test"])
    who = np.array(["ann"] * 6 + ["bob"] * 2 + ["ann"] + ["ann", "bob"])
    corpus = from_arrays(RNG.normal(size=(11, 4, 2)), labels={"split": split, "who": who})
    lengths = {"train": np.full(8, 4), "validation": np.full(1, 4), "test": np.full(2, 4)}
    (axis,) = (figure := label_balance(weigh_labels(corpus), lengths)).axes
    assert [bar.get_width() for bar in axis.patches] == [75.0, 25.0]
    np.testing.assert_array_equal(axis.lines[0].get_xdata(), [50.0, 50.0])
    assert figure._supxlabel.get_text() == "all 11 sequences have 4 steps"


def test_lengths_that_differ_have_a_histogram():
    lengths = {"train": np.array([2, 2, 4, 5]), "validation": np.array([3]), "test": np.array([4])}
    (axis,) = label_balance((), lengths).axes
    train, test = axis.patches
    np.testing.assert_array_equal(train.get_data().values, [50, 0, 25, 25])
    np.testing.assert_array_equal(test.get_data().values, [0, 0, 100, 0])


def test_numbers_have_a_histogram_and_many_values_no_names():
    values = np.arange(30)
    labels = {"code": np.tile(values, 4), "dose": RNG.random(120)}
    corpus = from_arrays(RNG.normal(size=(120, 4, 2)), labels=labels)
    lengths = {
        name: np.full(len(corpus.split(name)), 4) for name in ("train", "validation", "test")
    }
    numbers = {"dose": corpus.train.label("dose")}
    axes = label_balance(weigh_labels(corpus), lengths, numbers).axes
    assert len(axes) == 2
    assert "30 values" in axes[0].get_xlabel()
    assert sum(bar.get_height() for bar in axes[1].patches) == len(corpus.train)
