"""A confusion matrix shows shares of the true class."""

import numpy as np
import pytest

from unbraid.figures.charts.confusion import confusion_matrix, row_shares
from unbraid.shapes import ShapeError

COUNTS = np.array([[6, 2, 0], [0, 5, 5], [0, 0, 0]])


def test_cells_are_shares_of_their_row_written_in_percent():
    axis = confusion_matrix(COUNTS, ("a", "b", "c"), "letters").axes[0]
    shown = np.ma.filled(axis.images[0].get_array(), np.nan)
    np.testing.assert_array_equal(shown, [[0.75, 0.25, 0], [0, 0.5, 0.5], [np.nan] * 3])
    written = {text.get_position(): text.get_text() for text in axis.texts}  # (column, row)
    assert written == {(0, 0): "75", (1, 0): "25", (1, 1): "50", (2, 1): "50"}
    assert [tick.get_text() for tick in axis.get_yticklabels()] == ["a", "b", "c"]
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("judged as", "true")


def test_more_than_twelve_classes_have_no_numbers():
    axis = confusion_matrix(np.eye(13)).axes[0]
    assert not axis.texts
    np.testing.assert_array_equal(axis.images[0].get_array(), np.eye(13))
    assert len(confusion_matrix(np.eye(12)).axes[0].texts) == 12


def test_a_table_that_is_not_square_is_refused():
    with pytest.raises(ShapeError, match="square"):
        row_shares(np.ones((2, 3)))
