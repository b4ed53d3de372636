import math

import pytest
import torch

from unbraid.data.audio.mel import (
    MelConfig,
    band_edges,
    hz_from_mel,
    log_mel,
    mel_filterbank,
    mel_from_hz,
    wave_from_mel,
)

CONFIG = MelConfig()


def _vowel(seconds: float = 0.8, pitch: float = 120.0) -> torch.Tensor:
    """An /a/: harmonics of the pitch under three formants, with a little noise as in a room."""
    time = torch.arange(int(seconds * 16000)) / 16000
    hz = pitch * torch.arange(1, 60)[:, None]
    loud = sum(torch.exp(-0.5 * ((hz - f) / 150) ** 2) for f in (730, 1090, 2440)) + 0.01
    noise = torch.randn(len(time), generator=torch.Generator().manual_seed(0))
    return 0.1 * (loud * torch.sin(2 * math.pi * hz * time)).sum(0) + 1e-3 * noise


def test_slaney_mels_are_linear_up_to_1_khz_and_27_mels_make_a_factor_of_6_4():
    hz = torch.tensor([0.0, 200.0, 1000.0, 6400.0], dtype=torch.float64)
    mel = torch.tensor([0.0, 3.0, 15.0, 42.0], dtype=torch.float64)
    torch.testing.assert_close(mel_from_hz(hz), mel)
    torch.testing.assert_close(hz_from_mel(mel), hz)


def test_two_bands_on_a_linear_scale_are_the_triangles_drawn_by_hand():
    """Up to 600 Hz = 9 mel the scale is linear: edges at 0, 200, 400, 600 Hz, bins every 100 Hz."""
    config = MelConfig(sample_rate=1200, n_fft=12, window=12, hop=6, bands=2)
    by_hand = torch.tensor([[0, 0.5, 1, 0.5, 0, 0, 0], [0, 0, 0, 0.5, 1, 0.5, 0]])
    torch.testing.assert_close(mel_filterbank(config), by_hand)


def test_every_frequency_between_the_outer_centres_is_covered_with_weight_one():
    bank, edges = mel_filterbank(CONFIG), band_edges(CONFIG)
    hz = torch.linspace(0, 8000, CONFIG.bins)
    inside = (hz >= edges[1]) & (hz <= edges[-2])
    torch.testing.assert_close(bank.sum(0)[inside], torch.ones(int(inside.sum())))
    assert bool((bank.sum(1) > 0).all()), "a band without a bin would always be silent"


@pytest.mark.parametrize("hz", [300.0, 1000.0, 2500.0, 6000.0])
def test_a_pure_tone_peaks_in_the_band_with_the_nearest_centre(hz):
    tone = 0.3 * torch.sin(2 * math.pi * hz * torch.arange(8000) / 16000)
    centres = band_edges(CONFIG)[1:-1]
    nearest = int((mel_from_hz(centres) - mel_from_hz(torch.tensor(hz).double())).abs().argmin())
    assert int(log_mel(tone, CONFIG)[25].argmax()) == nearest


@pytest.mark.parametrize(("samples", "frames"), [(1600, 11), (1599, 10), (1760, 12), (25600, 161)])
def test_there_is_one_frame_per_hop_and_one_more(samples, frames):
    assert CONFIG.frames(samples) == frames
    assert log_mel(torch.zeros(2, 3, samples), CONFIG).shape == (2, 3, frames, 80)


def test_silence_is_the_log_of_the_floor():
    torch.testing.assert_close(
        log_mel(torch.zeros(1600), CONFIG), torch.full((11, 80), math.log(1e-5))
    )


def test_a_batch_gives_what_its_waveforms_give_alone():
    waves = torch.stack([_vowel(0.2, 100.0), _vowel(0.2, 200.0)])
    alone = torch.stack([log_mel(wave, CONFIG) for wave in waves])
    torch.testing.assert_close(log_mel(waves, CONFIG), alone)
    inverse = torch.stack([wave_from_mel(mel, CONFIG, 4) for mel in alone])
    torch.testing.assert_close(wave_from_mel(alone, CONFIG, 4), inverse, atol=1e-4, rtol=1e-3)


def test_the_inverse_of_a_vowel_sounds_like_the_vowel():
    """On average within 0.35 nats = 1.5 dB, about what a listener can just hear in one band."""
    mel = log_mel(_vowel(), CONFIG)
    wave = wave_from_mel(mel, CONFIG)
    assert wave.shape == (12800,)
    again = log_mel(wave, CONFIG)
    inner = slice(3, -3)  # the ends have windows over the edge
    assert float((again - mel)[inner].abs().mean()) < 0.35


def test_the_inverse_is_deterministic_and_leaves_the_random_state_alone():
    mel = log_mel(_vowel(0.2), CONFIG)
    torch.manual_seed(1)
    first = wave_from_mel(mel, CONFIG, 4)
    after = torch.rand(1)
    torch.manual_seed(1)
    assert torch.equal(after, torch.rand(1))
    assert torch.equal(first, wave_from_mel(mel, CONFIG, 4))


def test_bad_options_and_short_waveforms_are_named():
    with pytest.raises(ValueError, match="hop <= window"):
        MelConfig(hop=500)
    with pytest.raises(ValueError, match="bands and floor"):
        MelConfig(floor=0.0)
    with pytest.raises(ValueError, match="Pad it with zeros"):
        log_mel(torch.zeros(100), CONFIG)
    with pytest.raises(ValueError, match="Join segments"):
        wave_from_mel(torch.zeros(2, 80), CONFIG)
