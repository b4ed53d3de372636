"""The cross grid puts every pair where its sources meet."""

import io

import numpy as np
import pytest
from PIL import Image

from unbraid.figures.sequences.cross_grid import APART, cross_gif, cross_grid, cross_spectrograms
from unbraid.figures.sequences.frames import GAP, gif_bytes
from unbraid.shapes import ShapeError

N, M, T, SIDE = 2, 3, 4, 5


def _video() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Every sequence has a grey of its own that darkens by 3 % a step."""
    fade = -0.03 * np.arange(T)[:, None, None, None] * np.ones((T, 1, SIDE, SIDE))
    level = 0.95 - 0.1 * np.arange(N * M).reshape(N, M)
    statics, dynamics = np.array([0.4, 0.35]), np.array([0.3, 0.2, 0.1])
    return tuple(grey[..., None, None, None, None] + fade for grey in (level, statics, dynamics))


def _cell(picture: np.ndarray, line: int, column: int, *, zoom: int) -> np.ndarray:
    side = zoom * SIDE
    top = line * (side + GAP) + (APART if line else 0)
    right = picture.shape[1] - (M - column) * (side + GAP)
    left = right - side - (0 if column else APART)
    return picture[top : top + side, left : left + side]


@pytest.mark.parametrize(("frame", "step"), [(None, 2), (0, 0), (-1, 3)])
def test_each_cell_shows_its_pair_at_the_chosen_frame(frame, step):
    decoded, statics, dynamics = _video()
    picture = cross_grid(decoded, statics, dynamics, frame=frame, zoom=3)
    sources = [(0, j + 1, dynamics[j]) for j in range(M)]
    sources += [(i + 1, 0, statics[i]) for i in range(N)]
    cells = [(i + 1, j + 1, decoded[i, j]) for i in range(N) for j in range(M)]
    for line, column, x in [*sources, *cells]:
        wanted = round(255 * float(x[step, 0, 0, 0]))
        assert (abs(_cell(picture, line, column, zoom=3).astype(int) - wanted) <= 1).all()
    assert (_cell(picture, 0, 0, zoom=3) == 255).all()  # no source at the corner


def test_the_animation_plays_every_cell_where_the_picture_has_it():
    decoded, statics, dynamics = _video()
    lines = [[np.ones_like(statics[0]), *dynamics]]
    lines += [[who, *row] for who, row in zip(statics, decoded, strict=True)]
    cells = np.stack([cell for line in lines for cell in line]).astype(np.float32)
    made = cross_gif(decoded, statics, dynamics, rate=5.0)
    assert made == gif_bytes(cells, rate=5.0, columns=M + 1)
    assert Image.open(io.BytesIO(made)).n_frames == T


def test_spectrograms_of_a_pair_stand_where_their_sources_meet():
    rng = np.random.default_rng(0)
    decoded, statics, dynamics = (rng.random((*lead, 6, 8)) for lead in ((N, M), (N,), (M,)))
    axes = cross_spectrograms(decoded, statics, dynamics, step=0.5).axes
    assert not axes[0].images
    shown = {i: axis.images[0] for i, axis in enumerate(axes[: (N + 1) * (M + 1)]) if i}
    np.testing.assert_allclose(shown[1].get_array(), dynamics[0].T, rtol=1e-6)
    np.testing.assert_allclose(shown[M + 1].get_array(), statics[0].T, rtol=1e-6)
    np.testing.assert_allclose(shown[2 * (M + 1) + 3].get_array(), decoded[1, 2].T, rtol=1e-6)
    assert len({image.get_clim() for image in shown.values()}) == 1
    assert axes[1].get_title() == "d from 1"
    assert axes[M + 1].get_ylabel() == "s from 1"
    assert axes[1].get_xlim() == (0.0, 3.0)


def test_sources_that_do_not_fit_are_refused():
    decoded, statics, dynamics = _video()
    with pytest.raises(ShapeError, match=r"dynamics must have shape \(3, 4, 1, 5, 5\)"):
        cross_grid(decoded, statics, dynamics[:2])
    with pytest.raises(ShapeError, match="N, M, T, F"):
        cross_spectrograms(decoded, statics, dynamics)
