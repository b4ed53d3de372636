import pytest
import torch
import torch.nn.functional as F

from unbraid.nets import NetConfig, encoder_for
from unbraid.nets.frames import FrameDecoder, FrameEncoder, inner_size, join
from unbraid.records import Batch, Codes, Spec

MASK = torch.tensor([[True, True, True], [True, False, False]])


def test_inner_size_halves_once_per_stage():
    assert inner_size((3, 64, 32), 4) == (4, 2)


def test_frames_that_cannot_be_halved_are_refused_with_the_sizes_that_can():
    with pytest.raises(ValueError, match="frames of 60x64 cannot be halved 4 times") as error:
        inner_size((3, 60, 64), 4)
    assert str(error.value) == (
        "frames of 60x64 cannot be halved 4 times. "
        "Resize to multiples of 16, or give net.channels fewer entries."
    )


def test_the_linear_head_is_a_convolution_over_the_whole_map():
    encoder = FrameEncoder((3, 32, 32), (4, 6, 8), 5).eval()  # leaves a 4x4 map
    x = torch.rand(7, 3, 32, 32)
    inner = encoder.pyramid(x)
    kernel = encoder.head[0].weight.unflatten(1, (8, 4, 4))
    convolved = F.conv2d(inner, kernel)[..., 0, 0]
    torch.testing.assert_close(encoder.head[0](inner.flatten(1)), convolved)
    torch.testing.assert_close(encoder._encode(x), torch.tanh(encoder.head[1](convolved)))


def test_the_root_of_the_decoder_is_a_transposed_convolution_of_one_point():
    decoder = FrameDecoder((3, 32, 32), (4, 6, 8), 5).eval()
    z = torch.randn(7, 5)
    kernel = decoder.root.weight.unflatten(0, (8, 4, 4)).movedim(-1, 0)  # (5, 8, 4, 4)
    wanted = F.conv_transpose2d(z[..., None, None], kernel)
    torch.testing.assert_close(decoder.root(z).unflatten(1, decoder.inner), wanted)


def test_frames_are_encoded_each_on_its_own():
    encoder, x = FrameEncoder((1, 8, 8), (4, 6), 5).eval(), torch.rand(2, 3, 1, 8, 8)
    h = encoder(Batch(x, MASK))
    for i, t in MASK.nonzero().tolist():
        alone = encoder(Batch.full(x[i : i + 1, t : t + 1]))
        torch.testing.assert_close(h[i, t], alone[0, 0])
    assert (h[~MASK] == 0).all()


def test_unobserved_pixels_are_not_looked_at():
    encoder, x = FrameEncoder((1, 8, 8), (4, 6), 5).eval(), torch.rand(2, 3, 1, 8, 8)
    observed = torch.rand(x.shape) < 0.5
    spoilt = x.where(observed, torch.nan)
    every = torch.ones(2, 3, dtype=torch.bool)
    assert torch.equal(encoder(Batch(x, every, observed)), encoder(Batch(spoilt, every, observed)))


def test_decoded_pixels_lie_between_zero_and_one_and_only_steps_of_the_mask_are_decoded():
    decoder = FrameDecoder((1, 8, 8), (4, 6), 5).eval()
    codes = Codes(9 * torch.randn(2, 3), 9 * torch.randn(2, 3, 2))
    x = decoder(codes, MASK).mean
    assert x.shape == (int(MASK.sum()), 1, 8, 8)
    assert x.min() >= 0
    assert x.max() <= 1
    torch.testing.assert_close(x, decoder(codes).mean[MASK])


def test_s_stands_beside_d_at_every_step():
    codes = Codes(torch.randn(2, 3), torch.randn(2, 4, 5))
    z = join(codes)
    assert z.shape == (2, 4, 8)
    for t in range(4):
        assert torch.equal(z[:, t], torch.cat([codes.s, codes.d[:, t]], -1))


def test_decoding_with_the_static_part_once_equals_decoding_the_joined_codes():
    decoder = FrameDecoder((3, 32, 32), (4, 6, 8), 5).eval()
    codes = Codes(torch.randn(2, 3), torch.randn(2, 3, 2))
    root = decoder.root(join(codes)).flatten(0, 1)
    wanted = decoder._decode(root).unflatten(0, (2, 3))
    torch.testing.assert_close(decoder(codes).mean, wanted)


def test_a_shrinking_encoder_sees_what_an_encoder_of_small_frames_sees():
    large = FrameEncoder((3, 32, 32), (4, 6), 5, shrink=2).eval()
    small = FrameEncoder((3, 16, 16), (4, 6), 5).eval()
    small.load_state_dict(large.state_dict())
    x = torch.rand(2, 3, 3, 32, 32)
    squares = x.unflatten(4, (16, 2)).unflatten(3, (16, 2)).mean((4, 6))
    torch.testing.assert_close(large(Batch.full(x)), small(Batch.full(squares)))


def test_frames_that_cannot_be_shrunk_are_refused():
    with pytest.raises(ValueError, match="30x32 cannot be shrunk 4 times"):
        FrameEncoder((3, 30, 32), (4, 6), 5, shrink=4)


@pytest.mark.parametrize(("side", "shrink"), [(64, 2), (128, 2), (32, 1), (16, 1), (80, 1)])
def test_shrink_0_halves_large_frames_only(side: int, shrink: int):
    spec = Spec(name="x", kind="video", frame=(1, side, side), length=3, size=8)
    encoder = encoder_for(spec, NetConfig(shrink=0, channels=(2, 2, 2, 2)))
    assert encoder.shrink == shrink
