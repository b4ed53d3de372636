import numpy as np
import pytest

from unbraid.data.labels import encode_label, encode_labels
from unbraid.shapes import ShapeError


def test_words_become_classes_in_alphabetical_order():
    codes, factor = encode_label("who", ["bob", "ann", "cid", "ann"])
    assert codes.tolist() == [1, 0, 2, 0]
    assert (factor.classes, factor.values, factor.per_step) == (3, ("ann", "bob", "cid"), False)


@pytest.mark.parametrize(
    "values",
    [
        ["ann", "", "bob"],
        ["ann", None, "bob"],
        ["ann", float("nan"), "bob"],
        ("ann", np.nan, "bob"),
        np.array(["ann", None, "bob"], dtype=object),
        np.array(["ann", np.nan, "bob"], dtype=object),
        np.array(["ann", "", "bob"]),
        np.array([b"ann", b"", b"bob"]),
    ],
)
def test_an_empty_word_none_and_nan_are_unknown(values):
    codes, factor = encode_label("who", values)
    assert codes.tolist() == [0, -1, 1]
    assert factor.values == ("ann", "bob")


def test_class_numbers_stay_and_negative_ones_are_unknown():
    codes, factor = encode_label("state", np.array([[0, 2], [1, -1]]))
    assert codes.tolist() == [[0, 2], [1, -1]]
    assert (factor.classes, factor.values, factor.per_step) == (3, (), True)
    assert codes.dtype == np.int64


def test_months_from_one_to_twelve_stay():
    codes, factor = encode_label("month", np.arange(1, 13))
    assert codes.tolist() == list(range(1, 13))
    assert factor.classes == 13  # class 0 is never used


def test_scattered_whole_numbers_become_classes_that_keep_their_names():
    codes, factor = encode_label("speaker", [1447, 1088, 1447, -1, 205])
    assert codes.tolist() == [2, 1, 2, -1, 0]
    assert factor.values == ("205", "1088", "1447")  # in order of number, not of letters


def test_true_and_false_are_two_classes():
    codes, factor = encode_label("dead", np.array([True, False]))
    assert codes.tolist() == [1, 0]
    assert factor.classes == 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_other_numbers_are_to_be_regressed(dtype):
    codes, factor = encode_label("rain", np.array([0.5, np.nan], dtype=dtype))
    assert codes.dtype == np.float64
    assert (codes[0], np.isnan(codes[1]), factor.classes) == (0.5, True, 0)


def test_numbers_among_words_are_words():
    codes, factor = encode_label("room", [1, "two", 1])
    assert codes.tolist() == [0, 1, 0]
    assert factor.values == ("1", "two")


def test_labels_of_unequal_length_are_refused():
    with pytest.raises(ShapeError, match="one entry per sequence, or T per sequence"):
        encode_label("state", [[1, 2], [1]])


def test_factors_are_static_unless_they_move():
    labels = {
        "who": ["a", "b"],
        "action": ["run", "walk"],
        "state": [[0, 1], [1, 0]],
        "load": [0.1, 0.2],
        "name": ["x.wav", "y.wav"],
        "split": ["train", "test"],
    }
    encoded, static, dynamic = encode_labels(labels, dynamic=["action"])
    assert [factor.name for factor in static] == ["who", "load"]
    assert [factor.name for factor in dynamic] == ["action", "state"]
    assert encoded["split"].tolist() == ["train", "test"]
    assert encoded["name"].tolist() == ["x.wav", "y.wav"]
    assert encoded["action"].tolist() == [0, 1]


@pytest.mark.parametrize("values", [["", ""], [-1, -1], [np.nan, np.nan]])
def test_a_label_that_is_unknown_everywhere_is_no_factor(values):
    encoded, static, dynamic = encode_labels({"who": values})
    assert (static, dynamic) == ((), ())
    assert len(encoded["who"]) == 2


def test_a_dynamic_label_must_exist():
    with pytest.raises(
        KeyError, match=r"dynamic: there is no label 'acton'\. Did you mean 'action'"
    ):
        encode_labels({"action": [0, 1]}, dynamic=["acton"])
