import pytest
import torch
from torch import nn

from unbraid.nets import patches
from unbraid.nets.patches import PatchDecoder, placement_distribution, placement_matrix
from unbraid.records import Batch, Codes

FRAME, SIDE = (3, 10, 12), 4
PLACES = [(0, 0), (6, 8), (2, 5)]  # upper left corners; the second is the last that fits


@pytest.fixture(autouse=True)
def _sharp(monkeypatch: pytest.MonkeyPatch):
    """Let places be so sharp that pixels are whole."""
    monkeypatch.setattr(patches, "MIN_WIDTH", 0.05)


class Chosen(nn.Module):
    """A placer that reads from d which of `PLACES` every patch has, and is as sure as can be."""

    def forward(self, d: torch.Tensor) -> torch.Tensor:
        corner = torch.tensor(PLACES)[d.long()]  # (N, K, 2)
        middle = (corner / torch.tensor([6.0, 8.0])).logit(eps=1e-6)
        return torch.stack([middle, torch.full_like(middle, -50.0)], -1).flatten(1)


def decoder(count: int = 1) -> PatchDecoder:
    torch.manual_seed(0)
    made = PatchDecoder(FRAME, (5, count), 8, patches=count, side=SIDE)
    made.placer = Chosen()
    return made


def pictures(made: PatchDecoder, s: torch.Tensor) -> torch.Tensor:
    return (made.painter(s) - 2.0).sigmoid().unflatten(1, made.patch_shape)


def test_a_place_that_is_not_sure_is_a_mean_of_places():
    place = torch.rand(6).softmax(0)
    rows = torch.randn(3)
    wanted = sum(
        p * torch.cat([torch.zeros(top), rows, torch.zeros(5 - top)]) for top, p in enumerate(place)
    )
    torch.testing.assert_close(placement_matrix(place, 3) @ rows, wanted)


def test_a_place_has_one_peak_whatever_is_told():
    places = placement_distribution(20 * torch.randn(200, 2), 9)
    torch.testing.assert_close(places.sum(-1), torch.ones(200))
    for place in places:
        peak = int(place.argmax())
        assert (place[: peak + 1].diff() >= 0).all() and (place[peak:].diff() <= 0).all()


def test_a_place_can_be_as_wide_as_the_frame_and_as_sharp_as_a_pixel():
    wide, sharp = placement_distribution(torch.tensor([[0.0, 50.0], [0.0, -50.0]]), 9)
    assert wide.max() < 2 * wide.min()
    assert sharp[4] > 0.99


def test_a_picture_stands_where_d_says_and_nowhere_else():
    made, s = decoder(), torch.randn(2, 5)
    which = torch.tensor([[0.0, 1.0, 2.0], [2.0, 0.0, 1.0]])[..., None]
    frames, patch = made(Codes(s, which)).mean, pictures(made, s)
    for i in range(2):
        for t in range(3):
            top, left = PLACES[int(which[i, t, 0])]
            wanted = torch.zeros(FRAME)
            wanted[:, top : top + SIDE, left : left + SIDE] = patch[i, 0]
            torch.testing.assert_close(frames[i, t], wanted)


def test_where_pictures_overlap_both_show():
    made, s = decoder(2), torch.randn(1, 5)
    frame = made(Codes(s, torch.full((1, 1, 2), 2.0))).mean[0, 0]
    a, b = pictures(made, s)[0]
    torch.testing.assert_close(frame[:, 2:6, 5:9], a + b - a * b)


def test_to_crop_is_the_transpose_of_to_place():
    made, s, x = decoder(), torch.randn(1, 5), torch.rand(1, 1, *FRAME)
    d = torch.full((1, 1, 1), 2.0)
    put, patch = made(Codes(s, d)).mean, pictures(made, s)
    seen = made.crop(Batch.full(x), d)
    torch.testing.assert_close((put * x).sum(), (patch.flatten() * seen[0]).sum())
    torch.testing.assert_close(seen[0].unflatten(0, (3, 4, 4)), x[0, 0, :, 2:6, 5:9])


def test_padded_steps_are_neither_decoded_nor_cropped():
    made, s, x = decoder(), torch.randn(2, 5), torch.rand(2, 3, *FRAME)
    d, mask = torch.full((2, 3, 1), 1.0), torch.tensor([[True, True, False], [True, False, False]])
    frames = made(Codes(s, d), mask).mean
    assert torch.equal(frames, made(Codes(s, d)).mean[mask])
    seen = made.crop(Batch(x.masked_fill(~mask[..., None, None, None], torch.nan), mask), d)
    torch.testing.assert_close(seen[0], x[0, :2, :, 6:, 8:].mean(0).flatten())
    torch.testing.assert_close(seen[1], x[1, 0, :, 6:, 8:].flatten())


def test_unobserved_pixels_are_not_cropped():
    made, x = decoder(), torch.rand(1, 2, *FRAME)
    observed, mask, d = torch.rand(x.shape) < 0.5, torch.ones(1, 2).bool(), torch.zeros(1, 2, 1)
    spoilt = x.where(observed, torch.nan)
    seen = [made.crop(Batch(values, mask, observed), d) for values in (x, spoilt)]
    assert torch.equal(*seen)


def test_a_patch_is_half_of_the_frame_unless_told():
    assert PatchDecoder(FRAME, (5, 2), 8, patches=2, side=0).patch_shape == (2, 3, 5, 5)


def test_a_patch_larger_than_the_frame_is_refused():
    with pytest.raises(ValueError, match=r"patch_side=11 is larger than frames of 10x12"):
        PatchDecoder(FRAME, (5, 2), 8, patches=2, side=11)
