import sys

import pytest
import torch
from torch.nn import functional as F

from unbraid.views import video
from unbraid.views.video import distort

BACKENDS = ("tensor", "kornia")


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


def _video(channels: int = 3) -> torch.Tensor:
    coarse = torch.rand(6, 5 * channels, 8, 8)
    return F.interpolate(coarse, 32, mode="bilinear").unflatten(1, (5, channels))


@pytest.mark.parametrize("backend", BACKENDS)
def test_equal_frames_stay_equal_and_sequences_differ(backend):
    still = _video()[:1, :1].expand(6, 5, 3, 32, 32)
    y = distort(still, backend=backend)
    torch.testing.assert_close(y, y[:, :1].expand_as(y), atol=1e-6, rtol=0)
    gaps = (y[:, None, 0] - y[None, :, 0]).flatten(2).abs().amax(-1)
    assert (gaps + torch.eye(6) > 0.05).all()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("channels", [1, 3])
def test_shape_and_range_are_kept(backend, channels):
    x = _video(channels).round()  # the hardest case: only zeros and ones
    y = distort(x, strength=1.0, backend=backend)
    assert y.shape == x.shape
    assert y.min() >= 0
    assert y.max() <= 1
    assert not torch.equal(x, y)


@pytest.mark.parametrize("backend", BACKENDS)
def test_one_seed_gives_one_result(backend):
    x = _video()
    torch.manual_seed(3)
    first = distort(x, backend=backend)
    torch.manual_seed(3)
    assert torch.equal(first, distort(x, backend=backend))
    assert not torch.equal(first, distort(x, backend=backend))


def test_no_gradient_is_kept():
    assert not distort(_video().requires_grad_()).requires_grad


def test_oblong_frames_work():
    assert distort(torch.rand(2, 3, 3, 16, 24)).shape == (2, 3, 3, 16, 24)


def test_padding_never_changes_the_frames_that_count():
    x = _video()
    spoilt = x.clone()
    spoilt[:, 3:] = torch.nan
    torch.manual_seed(3)
    first = distort(x)[:, :3]
    torch.manual_seed(3)
    torch.testing.assert_close(distort(spoilt)[:, :3], first)


def test_cropping_equals_bilinear_sampling(monkeypatch):
    monkeypatch.setattr(video, "SIGMA", (1e-3, 1e-3))  # no blur
    monkeypatch.setattr(video, "AREA", (0.49, 0.49))
    monkeypatch.setattr(video, "ASPECT", (1.0, 1.0))
    monkeypatch.setattr(video, "_uniform", lambda x, low, high: x.new_full((len(x),), high))
    x = _video(1)
    corner = torch.tensor([[0.7, 0.0, 0.3], [0.0, 0.7, 0.3]]).expand(6, 2, 3)  # bottom right
    grid = F.affine_grid(corner, [6, 5, 32, 32], align_corners=False)
    expected = F.grid_sample(x[:, :, 0], grid, padding_mode="border", align_corners=False)
    torch.testing.assert_close(distort(x)[:, :, 0], expected, atol=1e-4, rtol=0)


def test_recolouring_keeps_grey_grey_and_a_fifth_lose_their_colour():
    grey = torch.rand(1, 1, 1, 8, 8).expand(4, 2, 3, 8, 8)
    y = distort(grey, strength=1.0)
    torch.testing.assert_close(y, y[:, :, :1].expand_as(y), atol=1e-4, rtol=0)
    many = distort(torch.rand(1, 1, 3, 8, 8).expand(1000, 1, 3, 8, 8) * 0.5)
    colourless = (many.amax(2) - many.amin(2)).flatten(1).amax(-1) < 1e-4
    assert 0.14 < colourless.float().mean() < 0.26


def test_without_strength_colours_stay():
    flat = torch.rand(6, 1, 3, 1, 1).expand(6, 5, 3, 16, 16)
    torch.testing.assert_close(distort(flat, strength=0.0), flat)


def test_mistakes_are_named(monkeypatch):
    with pytest.raises(ValueError, match=r"strength must lie between 0 and 1, got 2\.0"):
        distort(_video(), strength=2.0)
    monkeypatch.setitem(sys.modules, "kornia", None)
    with pytest.raises(ImportError, match=r"unbraid\[video\]"):
        distort(_video(), backend="kornia")
