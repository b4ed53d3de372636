import io

import numpy as np
import pytest
from PIL import Image, ImageSequence

from unbraid.figures.sequences.frames import gif_bytes, save_gif

LEVELS = np.linspace(0, 1, 5)


def _steps(*, count: int = 2, side: int = 16) -> np.ndarray:
    """Sequence n at step t has the one brightness LEVELS[(t + n) % 5] everywhere."""
    level = LEVELS[(np.arange(5) + np.arange(count)[:, None]) % 5]
    return np.broadcast_to(level[:, :, None, None, None], (count, 5, 3, side, side))


def _frames(data: bytes) -> tuple[Image.Image, list[np.ndarray], list[int]]:
    image = Image.open(io.BytesIO(data))
    shown = [
        (np.array(frame.convert("RGB")), frame.info["duration"])
        for frame in ImageSequence.Iterator(image)
    ]
    return image, [pixels for pixels, _ in shown], [time for _, time in shown]


def test_a_gif_has_a_frame_per_step_at_the_given_rate_and_loops():
    image, frames, times = _frames(gif_bytes(_steps(), rate=10.0))
    assert image.format == "GIF"
    assert image.info["loop"] == 0  # for ever
    assert len(frames) == 5
    assert times == [100] * 5


def test_small_sequences_stand_side_by_side_twice_as_large():
    _, frames, _ = _frames(gif_bytes(_steps(), rate=10.0))
    assert frames[0].shape == (32, 32 + 2 + 32, 3)
    for t, frame in enumerate(frames):
        for left, n in ((0, 0), (34, 1)):
            expected = round(255 * LEVELS[(t + n) % 5])
            assert np.abs(frame[:, left : left + 32].astype(int) - expected).max() <= 1


def test_columns_break_the_sequences_into_rows():
    _, frames, _ = _frames(gif_bytes(_steps(count=3), rate=10.0, columns=2))
    assert frames[0].shape == (32 + 2 + 32, 32 + 2 + 32, 3)
    assert (frames[0][34:, 34:] == 255).all()  # no fourth sequence
    assert np.abs(frames[0][34:, :32].astype(int) - round(255 * LEVELS[2])).max() <= 1


def test_large_frames_keep_their_size():
    _, frames, _ = _frames(gif_bytes(_steps(count=1, side=65), rate=10.0))
    assert frames[0].shape == (65, 65, 3)


def test_a_gif_is_never_faster_than_browsers_play_it():
    assert _frames(gif_bytes(_steps(), rate=200.0))[2] == [20] * 5


def test_equal_frames_do_not_change_how_long_a_gif_plays():
    still = np.full((1, 6, 1, 8, 8), 0.5)
    still[:, 5] = 1.0
    assert sum(_frames(gif_bytes(still, rate=10.0))[2]) == 600


def test_a_saved_gif_has_its_numbers_beside_it(tmp_path):
    save_gif(tmp_path / "a.gif", _steps(), rate=10.0, numbers={"x": _steps(), "rate": 10.0})
    assert (tmp_path / "a.gif").read_bytes() == gif_bytes(_steps(), rate=10.0)
    with np.load(tmp_path / "a.npz") as file:
        assert file["rate"] == 10.0


def test_a_rate_of_zero_is_refused():
    with pytest.raises(ValueError, match="rate must be positive"):
        gif_bytes(_steps(), rate=0.0)
