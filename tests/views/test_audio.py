import sys

import numpy as np
import pytest
import torch

from unbraid.views.audio import shift_voice, stretch_time, warp_bands

RATE = 16000


def _vowel(pitch: float, seconds: float = 1.0) -> np.ndarray:
    """Harmonics of a pitch under the formants of /a/."""
    time = np.arange(int(seconds * RATE)) / RATE
    hz = pitch * np.arange(1, int(7000 / pitch))[:, None]
    loud = sum(np.exp(-0.5 * ((hz - f) / 200) ** 2) for f in (730, 1090, 2440)) + 0.01
    return (0.1 * (loud * np.sin(2 * np.pi * hz * time)).sum(0)).astype(np.float32)


def _pitch(wave: np.ndarray) -> float:
    """The lag of the highest peak of the autocorrelation, for pitches of 70 to 400 Hz."""
    middle = wave[len(wave) // 4 : -len(wave) // 4]
    lags = np.correlate(middle, middle, "full")[len(middle) - 1 :]
    low, high = RATE // 400, RATE // 70
    # the first lag that is nearly as good as the best: multiples of the period are as good
    good = np.flatnonzero(lags[low:high] > 0.9 * lags[low:high].max())
    run = good[: np.argmax(np.diff(good, append=10**6) > 1) + 1]
    return RATE / (low + run[lags[low + run].argmax()])


def _centroid(wave: np.ndarray) -> float:
    power = np.abs(np.fft.rfft(wave * np.hanning(len(wave)))) ** 2
    return float((power * np.fft.rfftfreq(len(wave), 1 / RATE)).sum() / power.sum())


def _onset(wave: np.ndarray) -> int:
    energy = np.convolve(wave**2, np.ones(80) / 80, "same")
    return int(np.argmax(energy > 0.25 * energy.max()))


@pytest.mark.parametrize(("semitones", "factor"), [(12.0, 2.0), (7.0, 1.498), (-5.0, 0.749)])
def test_the_pitch_is_multiplied_by_two_to_the_semitones_over_twelve(semitones, factor):
    wave = _vowel(120.0)
    moved = shift_voice(wave, RATE, semitones=semitones, formant=1.0)
    assert moved.shape == wave.shape
    assert moved.dtype == np.float32
    assert _pitch(wave) == pytest.approx(120.0, rel=0.01)
    assert _pitch(moved) == pytest.approx(120.0 * factor, rel=0.02)


@pytest.mark.parametrize("semitones", [-3.0, 5.0, 7.0])
def test_a_pitch_shift_alone_leaves_the_formants(semitones):
    """The same vowel sung at the other pitch; without correction it would be 16 to 50 % off."""
    moved = shift_voice(_vowel(120.0), RATE, semitones=semitones, formant=1.0)
    sung = _vowel(120.0 * 2 ** (semitones / 12))
    assert _centroid(moved) == pytest.approx(_centroid(sung), rel=0.08)


@pytest.mark.parametrize("formant", [0.8, 1.25])
def test_a_formant_shift_moves_the_centroid_and_keeps_the_pitch(formant):
    wave = _vowel(110.0)
    moved = shift_voice(wave, RATE, semitones=0.0, formant=formant)
    assert _centroid(moved) / _centroid(wave) == pytest.approx(formant, rel=0.1)
    assert _pitch(moved) == pytest.approx(110.0, rel=0.02)


@pytest.mark.parametrize("semitones", [-7.0, 0.0, 7.0])
@pytest.mark.parametrize("formant", [0.82, 1.22])
def test_onsets_move_by_less_than_a_frame(semitones, formant):
    rng = np.random.default_rng(0)
    vowel = _vowel(150.0, 0.2) + 0.02 * rng.standard_normal(3200)
    for kind, burst in {"noise": 0.1 * rng.standard_normal(3200), "vowel": vowel}.items():
        for start in (5000, 12000, 17321):
            wave = np.zeros(24000, np.float32)
            wave[start : start + 3200] = burst
            moved = shift_voice(wave, RATE, semitones=semitones, formant=formant)
            assert abs(_onset(moved) - _onset(wave)) < 160, f"{kind} at {start}"


def test_a_shifted_voice_is_the_same_every_time():
    wave = _vowel(130.0)
    first = shift_voice(wave, RATE, semitones=3.0, formant=1.1)
    assert np.array_equal(first, shift_voice(wave, RATE, semitones=3.0, formant=1.1))


@pytest.mark.parametrize("factor", [0.7, 1.0, 1.5])
def test_stretching_changes_the_length_and_keeps_the_pitch(factor):
    wave = _vowel(120.0)
    out = stretch_time(wave, factor=factor)
    assert len(out) == round(16000 * factor)
    assert _pitch(out) == pytest.approx(120.0, rel=0.02)
    tail = out[-1600:]
    assert np.sqrt((tail**2).mean()) > 0.3 * np.sqrt((out**2).mean()), "the end is not cut off"


def test_warping_by_one_changes_nothing():
    x = torch.randn(3, 5, 80)
    assert torch.equal(warp_bands(x, torch.ones(3)), x)


def test_warping_moves_a_peak_to_factor_times_its_band():
    x = torch.zeros(3, 2, 80)
    x[:, :, 40] = 1.0
    y = warp_bands(x, torch.tensor([0.5, 1.25, 1.6]))
    assert y.argmax(-1).tolist() == [[20, 20], [50, 50], [64, 64]]


def test_warping_interpolates_between_bands_and_holds_the_last():
    x = torch.tensor([[[0.0, 10.0, 20.0, 30.0]]])
    torch.testing.assert_close(
        warp_bands(x, torch.tensor([2.0])), torch.tensor([[[0.0, 5.0, 10.0, 15.0]]])
    )
    torch.testing.assert_close(
        warp_bands(x, torch.tensor([0.5])), torch.tensor([[[0.0, 20.0, 30.0, 30.0]]])
    )


def test_wrong_amounts_and_shapes_are_named():
    wave = _vowel(120.0)
    with pytest.raises(ValueError, match="formant must be positive"):
        shift_voice(wave, RATE, semitones=0.0, formant=0.0)
    with pytest.raises(ValueError, match="factor must be positive"):
        stretch_time(wave, factor=-1.0)
    with pytest.raises(ValueError, match="factor must be positive"):
        warp_bands(torch.zeros(1, 2, 3), torch.tensor([0.0]))
    with pytest.raises(ValueError, match="one waveform"):
        shift_voice(wave[:100], RATE, semitones=0.0, formant=1.0)


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "audiotsm.io.array", None)
    with pytest.raises(ImportError, match=r"audiotsm is not installed: install unbraid\[audio\]"):
        stretch_time(_vowel(120.0), factor=2.0)
