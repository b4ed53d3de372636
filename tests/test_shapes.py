import pytest

from unbraid.shapes import ShapeError, check_axes


@pytest.mark.parametrize(
    ("shape", "axes"),
    [((8, 4, 3, 64, 64), "B T C H W"), ((8, 4, 3, 64, 64), "B T 3 H W"), ((1, 1), "B T")],
)
def test_right_axes_pass(shape: tuple[int, ...], axes: str):
    check_axes("x", shape, axes)


@pytest.mark.parametrize(
    ("shape", "axes", "sentence"),
    [
        (
            (8, 3, 64, 64),
            "B T C H W",
            "x must have axes (B, T, C, H, W), got shape "
            "(8, 3, 64, 64). Add a batch axis with x[None].",
        ),
        ((8, 3), "B T C H W", "x must have axes (B, T, C, H, W), got shape (8, 3)."),
        ((8, 3, 2), "B T", "x must have axes (B, T), got shape (8, 3, 2)."),
        (
            (8, 4, 1, 6, 6),
            "B T 3 H W",
            "x must have axes (B, T, 3, H, W), got shape (8, 4, 1, 6, 6).",
        ),
        (
            (8, 0),
            "B T",
            "x must have axes (B, T), got shape (8, 0). "
            "Axis T is empty: there is nothing to work on.",
        ),
    ],
)
def test_wrong_axes_are_told_what_was_wanted(shape: tuple[int, ...], axes: str, sentence: str):
    with pytest.raises(ShapeError) as error:
        check_axes("x", shape, axes)
    assert str(error.value) == sentence


def test_a_shape_error_is_a_value_error():
    assert issubclass(ShapeError, ValueError)
