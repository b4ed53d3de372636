import numpy as np
import pytest

from unbraid.data.windows import cut_windows, window_labels


def _reference_windows(x, window, observed, lengths):
    """Element by element: windows and what of them is known."""
    count, rows, width = x.shape
    steps = -(-rows // window)
    folded, known = np.zeros((count, steps, window, width)), np.zeros((count, steps, window, width))
    for n in range(count):
        for row in range(rows if lengths is None else lengths[n]):
            step, place = divmod(row, window)
            folded[n, step, place] = x[n, row]
            known[n, step, place] = 1 if observed is None else observed[n, row]
    return folded, known.astype(bool)


@pytest.mark.parametrize("window", [1, 2, 3, 4, 7, 9])
@pytest.mark.parametrize("ragged", [False, True])
@pytest.mark.parametrize("holes", [False, True])
def test_windows_agree_with_plain_loops(window, ragged, holes):
    rng = np.random.default_rng(window)
    x = rng.normal(size=(5, 7, 2)).astype(np.float32)
    lengths = np.array([7, 1, 4, 6, 3]) if ragged else None
    observed = rng.random(x.shape) < 0.6 if holes else None
    wanted, known = _reference_windows(x, window, observed, lengths)
    windows, windows_known, steps = cut_windows(x, window, observed=observed, lengths=lengths)
    exists = np.ones(windows.shape[:2], dtype=bool)
    if steps is not None:
        exists = np.arange(windows.shape[1]) < steps[:, None]
        assert steps.tolist() == [-(-n // window) for n in lengths]
    if windows_known is None:
        windows_known = np.broadcast_to(exists[..., None, None], windows.shape)
    assert np.array_equal(windows_known, known)
    assert np.array_equal(windows[windows_known], wanted[known])
    assert windows.dtype == np.float32


def test_full_windows_of_known_values_need_no_mask():
    x = np.zeros((2, 6, 1), np.float32)
    windows, observed, lengths = cut_windows(x, 3, lengths=np.array([3, 6]))
    assert windows.shape == (2, 2, 3, 1)
    assert observed is None
    assert lengths.tolist() == [1, 2]
    assert cut_windows(x, 3)[1:] == (None, None)


def test_a_sequence_shorter_than_a_window_is_one_window():
    windows, observed, lengths = cut_windows(np.ones((2, 3, 1), np.float32), 5)
    assert windows.shape == (2, 1, 5, 1)
    assert observed.sum() == 6
    assert lengths is None


def test_the_label_of_a_window_is_that_of_its_middle_row():
    label = np.arange(12).reshape(1, 12)
    assert window_labels(label, 4, 12).tolist() == [[2, 6, 10]]
    assert window_labels(label, 5, 12).tolist() == [[2, 7, 11]]  # rows 10 and 11: the second
    assert window_labels(label, 1, 12) is label


def test_words_are_labels_too():
    label = np.array([["rest", "run", "run", "walk"]])
    assert window_labels(label, 2, 4).tolist() == [["run", "walk"]]


def test_a_label_per_sequence_stays():
    label = np.array([3, 4])
    assert window_labels(label, 4, 12) is label


def test_the_label_of_a_window_is_the_mean_of_its_known_numbers():
    label = np.array([[1.0, 3.0, np.nan, 5.0, np.nan, np.nan, 8.0]])
    assert np.array_equal(window_labels(label, 2, 7), [[2.0, 5.0, np.nan, 8.0]], equal_nan=True)


def test_rows_beyond_the_end_do_not_label_the_last_window():
    label = np.array([[1, 1, 1, 2, 9, 9, 9, 9], [1, 1, 1, 1, 2, 2, 2, 2]])
    lengths = np.array([4, 8])
    assert window_labels(label, 3, 8, lengths=lengths)[:, :2].tolist() == [[1, 2], [1, 2]]
    numbers = window_labels(label.astype(float), 3, 8, lengths=lengths)
    assert numbers[0, :2].tolist() == [1.0, 2.0]
    assert np.isnan(numbers[0, 2])
    assert numbers[1].tolist() == [1.0, pytest.approx(5 / 3), 2.0]
