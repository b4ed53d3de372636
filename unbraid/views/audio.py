"""The same words in another voice, or at another speed.

`shift_voice` and `stretch_time` work on one waveform, `warp_bands` on batches of spectrograms for
which there is no waveform any more. Their amounts are given, one per sequence;
`voice_view` draws them.
"""

from importlib import import_module
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from unbraid.records import Batch

Wave = NDArray[np.float32]

_FLOOR = 1e-4  # magnitude (for waveforms within ±1) below which a spectrum is silence
_FILLS = 6  # rounds of filling the valleys of a spectrum
NARROWEST, WIDEST = 0.85, 1.18  # vocal tract length, as a ratio


def shift_voice(wave: Wave, rate: int, *, semitones: float, formant: float) -> Wave:
    """Return the same speech with another pitch and another vocal tract, in the same time.

    The pitch is moved by Signalsmith Stretch, which moves the formants along. The spectral
    envelope is then set, frame by frame, to the one of `wave` stretched by `formant`, so that the
    two shifts are independent of each other.

    Args:
        wave: (samples,) within ±1.
        rate: samples per second.
        semitones: shift of the pitch; 12 doubles it.
        formant: factor on the formant frequencies; 1 keeps them, 1.2 is a shorter vocal tract.

    Returns:
        (samples,): sample i belongs to sample i of `wave`.
    """
    if formant <= 0:
        raise ValueError(f"formant must be positive, got {formant}.")
    _check_wave(wave)
    moved = _shift_pitch(wave, rate, semitones)
    n_fft = 2 ** int(np.ceil(np.log2(0.03 * rate)))  # 32 ms at 16 kHz
    before, after = _stft(wave, n_fft), _stft(moved, n_fft)  # (bins, T)
    ratio = 2.0 ** (semitones / 12.0)
    if ratio < 1.0:
        # Nothing was there to be moved down into the top of the spectrum: keep its own noise.
        first = int(0.95 * ratio * after.shape[0])
        after = torch.cat([after[:first], before[first:]])
    wanted = _stretch_axis(_envelope(before, rate), formant)
    gain = (wanted - _envelope(after, rate)).clamp(-4.0, 4.0).exp()  # at most 35 dB
    return _istft(after * gain, n_fft, len(wave))


def stretch_time(wave: Wave, *, factor: float) -> Wave:
    """Return the same speech `factor` times as long, with its pitch and formants (WSOLA)."""
    if factor <= 0:
        raise ValueError(f"factor must be positive, got {factor}.")
    _check_wave(wave)
    arrays = _extra("audiotsm.io.array")
    samples = round(len(wave) * factor)
    # WSOLA drops what does not fill its last window: give it silence to drop.
    reader = arrays.ArrayReader(np.pad(wave, (0, 4096))[None])
    writer = arrays.ArrayWriter(1)
    _extra("audiotsm").wsola(1, speed=1.0 / factor, frame_length=512).run(reader, writer)
    out = writer.data[0, :samples]
    return np.pad(out, (0, samples - len(out))).astype(np.float32)


def warp_bands(x: Float[Tensor, "B T F"], factor: Float[Tensor, " B"]) -> Float[Tensor, "B T F"]:
    """Return spectrograms with band k moved to band `factor` · k, one factor per sequence.

    y[k] = x[k / factor] by linear interpolation; beyond the last band its value is held. On mel
    bands this stands in for vocal-tract-length perturbation, but it moves harmonics too: prefer
    `shift_voice` where there is a waveform.
    """
    if bool((factor <= 0).any()):
        raise ValueError(f"factor must be positive, got {factor.min().item()}.")
    top = x.shape[-1] - 1
    place = (torch.arange(top + 1, device=x.device) / factor[:, None]).clamp(max=top)  # (B, F)
    low = place.floor().long()
    high = (low + 1).clamp(max=top)
    share = (place - low)[:, None, :].to(x.dtype)
    return torch.lerp(_pick_bands(x, low), _pick_bands(x, high), share)


@torch.no_grad()
def voice_view(batch: Batch) -> Batch:
    """Take a converted voice prepared with the data; without one, warp the frequency axis."""
    if batch.alternatives is not None:
        n, count = batch.alternatives.shape[:2]
        chosen = torch.randint(count, (n,), device=batch.x.device)
        return batch.with_x(batch.alternatives[torch.arange(n, device=batch.x.device), chosen])
    factor = torch.empty(len(batch), device=batch.x.device).uniform_(NARROWEST, WIDEST)
    return batch.with_x(warp_bands(batch.x, factor))


def _pick_bands(x: Tensor, band: Tensor) -> Tensor:
    """Return x[b, t, band[b, k]]."""
    return x.gather(2, band[:, None, :].expand_as(x))


def _shift_pitch(wave: Wave, rate: int, semitones: float) -> Wave:
    """Move the whole spectrum, in blocks of 60 ms: they still resolve a pitch of 70 Hz.

    `process` takes its own latency away: sample i of the result belongs to sample i of `wave`.
    """
    stretch = _extra("python_stretch").Signalsmith.Stretch(0)  # a fixed seed
    stretch.configure(1, round(0.06 * rate), round(0.015 * rate))
    stretch.setTransposeSemitones(semitones)
    return np.asarray(stretch.process(np.ascontiguousarray(wave, dtype=np.float32)[None])[0])


def _envelope(spectra: Tensor, rate: int) -> Tensor:
    """Return a smooth curve through the peaks of log |spectra|, along the first axis.

    The cepstrum up to 2 ms, of a spectrum whose valleys are filled up to the curve again and again
    ("true envelope", Röbel and Rodet 2005): how deep the valleys between harmonics are must not
    count, since it changes with the pitch.
    """
    target = level = spectra.abs().clamp(min=_FLOOR).log()
    keep = round(0.002 * rate)
    for _ in range(_FILLS):
        cepstrum = torch.fft.irfft(target, dim=0)  # (n_fft, T)
        cepstrum[keep : len(cepstrum) - keep + 1] = 0.0
        curve = torch.fft.rfft(cepstrum, dim=0).real
        target = torch.maximum(level, curve)
    return curve


def _stretch_axis(envelope: Tensor, factor: float) -> Tensor:
    """Return y[f] = envelope[f / factor]; the top value is held beyond the end."""
    return warp_bands(envelope.T[None], envelope.new_tensor([factor]))[0].T


def _stft(wave: Wave, n_fft: int) -> Tensor:
    """Return (bins, T) complex spectra, four windows to a window's length."""
    x = torch.from_numpy(np.ascontiguousarray(wave, dtype=np.float32))
    return torch.stft(x, n_fft, n_fft // 4, window=torch.hann_window(n_fft), return_complex=True)


def _istft(spectra: Tensor, n_fft: int, samples: int) -> Wave:
    """Undo `_stft`."""
    out = torch.istft(spectra, n_fft, n_fft // 4, window=torch.hann_window(n_fft), length=samples)
    return out.numpy()


def _check_wave(wave: Wave) -> None:
    if wave.ndim != 1 or len(wave) < 2048:
        raise ValueError(
            f"wave must be one waveform (samples,) of 2048 samples at least, got {wave.shape}. "
            "Mix channels to one and pad short clips with zeros."
        )


def _extra(name: str) -> Any:
    """Import a package of the audio extra."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(
            f"{name.split('.')[0]} is not installed: install unbraid[audio]."
        ) from error
