import math
from dataclasses import replace

import pytest
import torch

from unbraid.nets import NetConfig, decoder_for, encoder_for
from unbraid.nets.series import SMALLEST_SCALE, SeriesDecoder, SeriesEncoder
from unbraid.records import Batch, Codes, Spec

FRAMES = {"video": (1, 8, 8), "audio": (7,), "series": (4, 3)}
NET = NetConfig(channels=(4, 6), features=5, hidden=8, series_layers=(8, 12, 8), audio_hidden=9)


def spec(kind: str, missing: bool = False) -> Spec:
    return Spec(name="toy", kind=kind, frame=FRAMES[kind], length=5, missing=missing)


@pytest.mark.parametrize("kind", FRAMES)
def test_nets_lead_to_features_and_back_to_elements(kind: str):
    encoder, decoder = encoder_for(spec(kind), NET), decoder_for(spec(kind), NET, 6)
    x = torch.rand(2, 3, *FRAMES[kind])
    h = encoder(Batch.full(x))
    assert h.shape == (2, 3, encoder.features)
    assert encoder.features == {"video": 5, "audio": 7, "series": 8}[kind]
    decoded = decoder(Codes(torch.randn(2, 4), torch.randn(2, 3, 2)))
    assert decoded.mean.shape == x.shape
    assert (decoded.log_var is None) == (kind != "series")


def test_audio_features_are_the_columns_themselves():
    x, mask = torch.randn(2, 3, 7), torch.tensor([[True, True, True], [True, False, False]])
    h = encoder_for(spec("audio"), NET)(Batch(x, mask))
    assert torch.equal(h[mask], x[mask])
    assert (h[~mask] == 0).all()


def test_a_series_encoder_tells_a_missing_value_from_a_zero():
    encoder = SeriesEncoder(spec("series", missing=True), NET.series_layers)
    x, every = torch.zeros(1, 2, 4, 3), torch.ones(1, 2, 4, 3, dtype=torch.bool)
    some = every.clone()
    some[0, 1, 2, 0] = False
    mask = torch.ones(1, 2, dtype=torch.bool)
    a, b = encoder(Batch(x, mask, every)), encoder(Batch(x, mask, some))
    assert torch.equal(a[0, 0], b[0, 0])
    assert not torch.equal(a[0, 1], b[0, 1])
    torch.testing.assert_close(encoder(Batch(x, mask)), a)  # nothing said is all observed


def test_the_scale_of_a_series_has_a_floor():
    decoder = SeriesDecoder(spec("series"), 6, (8, 12, 8))
    with torch.no_grad():
        decoder.out.bias[3:] = -1e4
    log_var = decoder(Codes(torch.randn(2, 4), torch.randn(2, 3, 2))).log_var
    wanted = torch.full_like(log_var, 2 * math.log(SMALLEST_SCALE))
    torch.testing.assert_close(log_var, wanted)


def test_a_shared_scale_is_one_learned_number_a_channel():
    net = replace(NET, shared_scale=True, tells_gaps=True)
    decoder = decoder_for(spec("series", missing=True), net, 6)
    z = Codes(torch.randn(2, 4), torch.randn(2, 3, 2))
    with torch.no_grad():
        decoder.scale.copy_(torch.tensor([-1e4, 0.0, 1.0]))
    x_hat = decoder(z)
    assert x_hat.mean.shape == x_hat.log_var.shape == x_hat.observed_logits.shape == (2, 3, 4, 3)
    scales = torch.tensor([0.0, math.log(2), math.log1p(math.e)]) + SMALLEST_SCALE
    torch.testing.assert_close(x_hat.log_var, (2 * scales.log()).expand(2, 3, 4, 3))
    x_hat.log_var.sum().backward()
    assert (decoder.scale.grad[1:] > 0).all()


def test_a_series_decoder_tells_what_is_observed_where_anything_can_be_missing():
    net, z = replace(NET, tells_gaps=True), Codes(torch.randn(2, 4), torch.randn(2, 3, 2))
    seen = decoder_for(spec("series", missing=True), net, 6)(z).observed_logits
    assert seen is not None and seen.shape == (2, 3, 4, 3)
    assert decoder_for(spec("series"), net, 6)(z).observed_logits is None
    assert decoder_for(spec("series", missing=True), NET, 6)(z).observed_logits is None


@pytest.mark.parametrize(
    "sizes",
    [
        {"channels": ()},
        {"channels": (4, 0)},
        {"series_layers": ()},
        {"features": 0},
        {"hidden": -1},
        {"prior_layers": 0},
        {"audio_hidden": 0},
    ],
)
def test_sizes_below_one_are_refused(sizes: dict):
    with pytest.raises(ValueError, match="net sizes must all be 1 or more"):
        NetConfig(**sizes)


def test_series_layers_must_end_as_they_start():
    with pytest.raises(ValueError, match=r"series_layers must end as it starts.*\[8, 16\]"):
        NetConfig(series_layers=(8, 16))
