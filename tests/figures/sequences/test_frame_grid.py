import io

import numpy as np
import pytest
from PIL import Image

from unbraid.figures.sequences.frames import frame_grid, picture_bytes, save_picture, to_pixels
from unbraid.shapes import ShapeError

RNG = np.random.default_rng(0)


def _video(*, steps: int = 3, channels: int = 3, height: int = 8) -> np.ndarray:
    return RNG.random((steps, channels, height, 6)).astype(np.float32)


def test_a_pixel_of_the_grid_is_the_frame_s_value_at_that_place():
    a, b = _video(), _video()
    grid = frame_grid([("", a), ("", b)], zoom=1)
    assert grid.shape == (8 + 2 + 8, 3 * 6 + 2 * 2, 3)
    # row 1 of the grid, frame 2, pixel (5, 4): one gap down, two to the right
    expected = np.rint(255 * b[2, :, 5, 4])
    np.testing.assert_array_equal(grid[10 + 5, 2 * 8 + 4], expected)


def test_gaps_between_frames_are_white():
    grid = frame_grid([("", np.zeros((3, 3, 8, 6))), ("", np.zeros((3, 3, 8, 6)))], zoom=1)
    assert (grid[:, 6:8] == 255).all()
    assert (grid[8:10] == 255).all()
    assert (grid == 255).all(2).sum() == 2 * 22 + 2 * 2 * 16


def test_zoom_makes_every_pixel_a_square():
    x = _video(steps=1)
    grid = frame_grid([("", x)], zoom=3)
    np.testing.assert_array_equal(grid[::3, ::3], to_pixels(x)[0])
    np.testing.assert_array_equal(grid[2::3, 1::3], to_pixels(x)[0])


def test_labels_stand_left_of_the_frames_in_their_own_row():
    x = np.zeros((2, 1, 20, 20))
    plain = frame_grid([("", x), ("", x)], zoom=1)
    named = frame_grid([("", x), ("swap", x)], zoom=1)
    column = named[:, : -plain.shape[1]]
    np.testing.assert_array_equal(named[:, -plain.shape[1] :], plain)
    assert (column[:21] == 255).all()  # the first row has no label
    assert (column[22:] < 128).any()


def test_a_shorter_sequence_leaves_paper_at_its_end():
    grid = frame_grid([("", np.zeros((3, 1, 4, 4))), ("", np.zeros((1, 1, 4, 4)))], zoom=1)
    assert (grid[6:, :4] == 0).all()
    assert (grid[6:, 4:] == 255).all()


def test_grey_frames_become_grey_pixels_and_values_outside_are_clipped():
    x = np.array([-1.0, 0.5, 2.0, np.nan]).reshape(1, 1, 2, 2)
    pixels = to_pixels(x)[0]
    np.testing.assert_array_equal(pixels[..., 0].ravel(), [0, 128, 255, 0])
    assert (pixels == pixels[..., :1]).all()


def test_frames_of_two_sizes_bytes_and_odd_channels_are_refused():
    with pytest.raises(ShapeError, match="one size"):
        frame_grid([("", _video()), ("", _video(height=4))])
    with pytest.raises(ShapeError, match="1 or 3 channels"):
        to_pixels(_video(channels=2))
    with pytest.raises(ValueError, match="Divide by 255"):
        to_pixels(np.zeros((1, 3, 4, 4), dtype=np.uint8))
    with pytest.raises(ValueError, match="nothing to draw"):
        frame_grid([])


def test_a_saved_picture_is_exact_and_has_its_numbers_beside_it(tmp_path):
    x = _video()
    grid = frame_grid([("a", x)])
    save_picture(tmp_path / "new" / "grid.png", grid, {"x": x})
    with Image.open(tmp_path / "new" / "grid.png") as image:
        np.testing.assert_array_equal(np.array(image), grid)
    with np.load(tmp_path / "new" / "grid.npz") as file:
        np.testing.assert_array_equal(file["x"], x)
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == ["grid.npz", "grid.png"]
    np.testing.assert_array_equal(np.array(Image.open(io.BytesIO(picture_bytes(grid)))), grid)
