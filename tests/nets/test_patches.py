import pytest
import torch
from torch import nn

from unbraid.nets import patches
from unbraid.nets.patches import (
    PatchDecoder,
    PatchReader,
    cropped_at,
    masked_median,
    placed_at,
    placement_distribution,
    placement_matrix,
)
from unbraid.nets.places import PlaceEncoder
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
        corner = torch.tensor(PLACES)[d[:, 0].long()]  # (N, 2)
        middle = (corner / torch.tensor([6.0, 8.0])).logit(eps=1e-6)
        return torch.stack([middle, torch.full_like(middle, -50.0)], -1).flatten(1)


def decoder(count: int = 1) -> PatchDecoder:
    torch.manual_seed(0)
    made = PatchDecoder(FRAME, (5 * count, count), patches=count, side=SIDE)
    made.placer = Chosen()
    return made


def pictures(made: PatchDecoder, s: torch.Tensor) -> torch.Tensor:
    return made.paint(s.reshape(-1, 5)).unflatten(0, (len(s), -1))


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
    made, s = decoder(2), torch.randn(1, 10)
    frame = made(Codes(s, torch.full((1, 1, 2), 2.0))).mean[0, 0]
    a, b = pictures(made, s)[0]
    torch.testing.assert_close(frame[:, 2:6, 5:9], a + b - a * b)


def test_to_crop_is_the_transpose_of_to_place():
    made, patch, x = decoder(), torch.rand(1, 3, SIDE, SIDE), torch.rand(1, *FRAME)
    at = made.placement(torch.full((1, 1), 2.0))
    seen = cropped_at(x, at)
    torch.testing.assert_close((placed_at(patch, at) * x).sum(), (patch * seen).sum())
    torch.testing.assert_close(seen[0], x[0, :, 2:6, 5:9])


def test_padded_steps_are_not_decoded():
    made, s = decoder(), torch.randn(2, 5)
    d, mask = torch.full((2, 3, 1), 1.0), torch.tensor([[True, True, False], [True, False, False]])
    assert torch.equal(made(Codes(s, d), mask).mean, made(Codes(s, d)).mean[mask])


def test_what_passes_over_an_object_is_not_in_the_median():
    torch.manual_seed(0)
    crops, mask = torch.rand(2, 1, 3, SIDE, SIDE).repeat(1, 6, 1, 1, 1), torch.ones(2, 6).bool()
    mask[1, 4:] = False
    covered = crops.clone()
    covered[:, 1], covered[0, 3], covered[1, 4:] = 1.0, 1.0, torch.nan  # a third; padding
    assert torch.equal(masked_median(covered, mask), crops[:, 0])
    reader = PatchReader(3, SIDE, 7)
    assert reader(crops, mask).shape == (2, 7)


def test_a_place_encoder_says_where_something_is():
    torch.manual_seed(0)
    encoder, x = PlaceEncoder((1, 32, 32), 8), torch.zeros(2, 1, 1, 32, 32)
    x[0, ..., 8:12, 8:12] = x[1, ..., 16:20, 8:12] = 1.0  # the same, eight rows lower
    with torch.no_grad():  # heads that look for what the map shows of the object
        for convolution in encoder.map[::2]:
            convolution.bias.zero_()
        shown = encoder.map(x[0])[0, :, 5, 5]
        encoder.heads.weight.copy_(1e4 * shown.expand(8, -1)[..., None, None])
        features = encoder(Batch.full(x))[:, 0]
    rows, columns, seen = features.split([8, 8, encoder.features - 16], -1)
    eight_rows = torch.full((8,), 4 * 4 / 15)  # four of the map's 16, which go from -2 to 2
    torch.testing.assert_close(rows[1] - rows[0], eight_rows, atol=0.05, rtol=0.0)
    torch.testing.assert_close(columns[1], columns[0], atol=0.05, rtol=0.0)
    assert seen.isfinite().all()


def test_codes_that_patches_cannot_share_are_refused():
    with pytest.raises(ValueError, match=r"static_dim=5 and dynamic_dim=2 cannot be shared by 2"):
        PatchDecoder(FRAME, (5, 2), patches=2, side=4)


def test_a_patch_is_half_of_the_frame_unless_told():
    assert PatchDecoder(FRAME, (6, 2), patches=2, side=0).side == 5


def test_a_patch_larger_than_the_frame_is_refused():
    with pytest.raises(ValueError, match=r"patch_side=11 is larger than frames of 10x12"):
        PatchDecoder(FRAME, (6, 2), patches=2, side=11)
