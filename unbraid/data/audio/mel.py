"""Log-mel features of a waveform, and a waveform that has given log-mel features.

The mel scale is Slaney's (linear up to 1 kHz, logarithmic above), the filters are triangles of
height 1 without area normalisation: librosa's `filters.mel(htk=False, norm=None)`. Frame t is
centred on sample t · hop. Nothing is random: Griffin-Lim starts from phases of a fixed seed.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

_LINEAR = 200.0 / 3.0  # Hz per mel up to the break
_BREAK = 1000.0  # Hz, where the scale turns logarithmic
_OCTAVE = math.log(6.4) / 27.0  # natural log of Hz per mel above the break


@dataclass(frozen=True, slots=True, kw_only=True)
class MelConfig:
    """80 bands every 10 ms, over windows of 25 ms."""

    sample_rate: int = 16000
    n_fft: int = 512
    window: int = 400  # samples
    hop: int = 160  # samples
    bands: int = 80
    floor: float = 1e-5  # power below this counts as this

    def __post_init__(self) -> None:
        if not 0 < self.hop <= self.window <= self.n_fft:
            raise ValueError(
                "0 < hop <= window <= n_fft is needed, "
                f"got hop={self.hop}, window={self.window}, n_fft={self.n_fft}."
            )
        if self.bands < 1 or self.floor <= 0:
            raise ValueError(
                f"bands and floor must be positive, got bands={self.bands}, floor={self.floor}."
            )

    @property
    def bins(self) -> int:
        """Number of frequencies of one spectrum, from 0 to half the sample rate."""
        return self.n_fft // 2 + 1

    def frames(self, samples: int) -> int:
        """Number of frames of a waveform: 1 + floor(samples / hop)."""
        return 1 + samples // self.hop


def mel_from_hz(hz: Float[Tensor, "*N"]) -> Float[Tensor, "*N"]:
    """Return Slaney mels: 3 f / 200 up to 1 kHz, then 27 mels for each factor of 6.4."""
    above = _BREAK / _LINEAR + torch.log(hz.clamp(min=_BREAK) / _BREAK) / _OCTAVE
    return torch.where(hz < _BREAK, hz / _LINEAR, above)


def hz_from_mel(mel: Float[Tensor, "*N"]) -> Float[Tensor, "*N"]:
    """Undo `mel_from_hz`."""
    above = _BREAK * torch.exp(_OCTAVE * (mel - _BREAK / _LINEAR))
    return torch.where(mel * _LINEAR < _BREAK, mel * _LINEAR, above)


def band_edges(config: MelConfig) -> Float[Tensor, " edges"]:
    """Return bands + 2 frequencies in Hz: band k rises from edge k to k+1 and falls to k+2."""
    top = mel_from_hz(torch.tensor(config.sample_rate / 2, dtype=torch.float64))
    mels = torch.linspace(0.0, float(top), config.bands + 2, dtype=torch.float64)
    return hz_from_mel(mels)


def mel_filterbank(config: MelConfig) -> Float[Tensor, "bands bins"]:
    """Return triangular filters of height 1, to be applied to a power spectrum."""
    edges = band_edges(config)[:, None]
    hz = torch.linspace(0.0, config.sample_rate / 2, config.bins, dtype=torch.float64)
    rise = (hz - edges[:-2]) / (edges[1:-1] - edges[:-2])
    fall = (edges[2:] - hz) / (edges[2:] - edges[1:-1])
    return torch.minimum(rise, fall).clamp(min=0.0).float()


def log_mel(
    wave: Float[Tensor, "*N samples"], config: MelConfig
) -> Float[Tensor, "*N T {config.bands}"]:
    """Return the natural log of the power in each mel band, floored at log `floor`.

    log max(floor, Σ_f M_kf |STFT_f|²), a sum over the bins f under triangle k, with
    T = 1 + floor(samples / hop) frames.
    """
    if wave.shape[-1] <= config.n_fft // 2:
        raise ValueError(
            f"a waveform must be longer than n_fft / 2 = {config.n_fft // 2} samples, "
            f"got {wave.shape[-1]}. Pad it with zeros."
        )
    spectra = _stft(wave.reshape(-1, wave.shape[-1]), config)  # (N, bins, T)
    power = spectra.real.square() + spectra.imag.square()
    mel = mel_filterbank(config).to(wave) @ power  # (N, bands, T)
    return mel.clamp(min=config.floor).log().mT.reshape(*wave.shape[:-1], -1, config.bands)


def wave_from_mel(
    log_mel: Float[Tensor, "*N T bands"], config: MelConfig, iterations: int = 32
) -> Float[Tensor, "*N samples"]:
    """Return a waveform of (T - 1) · hop samples whose log-mel features are near those given.

    Power spectra come from the pseudo-inverse of the filterbank, made non-negative; phases from
    fast Griffin-Lim (Perraudin et al. 2013), always from the same first guess.
    """
    T = log_mel.shape[-2]
    samples = (T - 1) * config.hop
    if samples <= config.n_fft // 2:
        raise ValueError(
            f"{T} frames make {samples} samples, but more than n_fft / 2 = {config.n_fft // 2} "
            "are needed. Join segments along time first."
        )
    flat = log_mel.reshape(-1, *log_mel.shape[-2:])
    magnitude = _power_from_mel(flat.exp().mT, config).sqrt()  # (N, bins, T)
    wave = _griffin_lim(magnitude, config, samples=samples, iterations=iterations)
    return wave.reshape(*log_mel.shape[:-2], samples)


def _power_from_mel(mel: Tensor, config: MelConfig, steps: int = 30) -> Tensor:
    """Return non-negative power spectra: clipped pseudo-inverse, then multiplicative updates.

    The pseudo-inverse alone has negative bins; clipping them adds power in every quiet band, which
    the updates of non-negative least squares (Lee and Seung 2001) take away again.
    """
    bank = mel_filterbank(config).to(mel)  # (bands, bins)
    power = (torch.linalg.pinv(bank) @ mel).clamp(min=config.floor)
    for _ in range(steps):
        power = power * (bank.T @ mel) / (bank.T @ (bank @ power)).clamp(min=config.floor**2)
    return power


def _griffin_lim(magnitude: Tensor, config: MelConfig, *, samples: int, iterations: int) -> Tensor:
    """Look for phases that a real waveform can have, with momentum 0.99."""
    draws = torch.Generator().manual_seed(0)
    angle = torch.rand(magnitude.shape[1:], generator=draws).to(magnitude) * 2.0 * math.pi
    phase = torch.polar(torch.ones_like(magnitude), angle.expand_as(magnitude))
    before = torch.zeros_like(phase)
    for _ in range(iterations):
        now = _stft(_istft(magnitude * phase, config, samples), config)
        ahead = now + 0.99 * (now - before)
        phase, before = ahead / ahead.abs().clamp(min=1e-12), now
    return _istft(magnitude * phase, config, samples)


def _stft(wave: Tensor, config: MelConfig) -> Tensor:
    """Return (N, bins, T) complex spectra."""
    return torch.stft(
        wave,
        config.n_fft,
        hop_length=config.hop,
        win_length=config.window,
        window=torch.hann_window(config.window, dtype=wave.dtype, device=wave.device),
        return_complex=True,
    )


def _istft(spectra: Tensor, config: MelConfig, samples: int) -> Tensor:
    """Return (N, samples) waveforms, the least-squares fit to the spectra."""
    return torch.istft(
        spectra,
        config.n_fft,
        hop_length=config.hop,
        win_length=config.window,
        window=torch.hann_window(config.window, dtype=spectra.real.dtype, device=spectra.device),
        length=samples,
    )
