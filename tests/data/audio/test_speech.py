import io
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch

from unbraid.data.audio import speech, waves
from unbraid.data.audio.mel import MelConfig, log_mel
from unbraid.data.audio.speech import Cut, Segments, draw_shifts, open_segments, write_segments
from unbraid.data.audio.waves import Recording, resample
from unbraid.data.cache import content_key, open_or_build
from unbraid.views.audio import shift_voice

RATE = 16000
MEL = MelConfig()


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("UNBRAID_DATA", raising=False)


def _noise(seconds: float, rate: int = RATE, channels: int = 1, seed: int = 0) -> np.ndarray:
    shape = (round(seconds * rate), channels)
    return np.random.default_rng(seed).normal(0.0, 0.1, shape).astype(np.float32)


def _file(root: Path, name: str, wave: np.ndarray, rate: int = RATE) -> Recording:
    subtype = "FLOAT" if name.endswith(".wav") else None
    soundfile.write(root / name, wave, rate, subtype=subtype)
    return Recording(name, root / name)


def _segments(recordings: list[Recording], cut: Cut) -> Segments:
    key = content_key(names=[r.name for r in recordings], cut=repr(cut))
    build = lambda new: write_segments(lambda: iter(recordings), new, cut)  # noqa: E731
    return open_segments(open_or_build("test", key, build), cut)


def _reference(wave: np.ndarray, steps: int = 20) -> np.ndarray:
    mel = log_mel(torch.from_numpy(wave), MEL).numpy()
    return mel[: len(mel) // steps * steps].reshape(-1, steps, MEL.bands)


def test_segments_are_the_log_mel_features_of_the_whole_recording(tmp_path):
    wave = _noise(1.0)
    made = _segments([_file(tmp_path, "a.wav", wave)], Cut())
    assert made.x.shape == (5, 20, 80)  # 101 frames
    assert np.allclose(made.x, _reference(wave[:, 0] - wave.mean()), atol=1e-4)
    assert made.owner.tolist() == [0] * 5


@pytest.mark.parametrize(("samples", "count"), [(3039, 0), (3040, 1), (6239, 1), (6240, 2)])
def test_a_segment_wants_the_centres_of_its_twenty_frames(samples, count):
    assert Cut().segments(samples, RATE) == count


def test_recordings_are_sorted_by_name_wherever_they_come_from(tmp_path):
    parts = [_file(tmp_path, f"{name}.wav", _noise(0.5, seed=ord(name))) for name in "cab"]
    packed = [Recording(part.name, part.sound.read_bytes()) for part in sorted(parts, key=repr)]
    loose, packed_too = (
        _segments(some, Cut(trim=trim)) for some, trim in ((parts, 0.0), (packed, 90.0))
    )
    assert loose.names == packed_too.names == ("a.wav", "b.wav", "c.wav")
    assert np.array_equal(loose.x, packed_too.x)
    assert np.array_equal(loose.owner, [0, 0, 1, 1, 2, 2])


@pytest.mark.parametrize("rate", [8000, 16000, 22050, 44100, 11127])
def test_a_long_recording_in_pieces_equals_the_whole_at_once(tmp_path, monkeypatch, rate):
    recording = _file(tmp_path, "long.wav", _noise(9.0, rate, 2), rate)
    whole = _segments([recording], Cut())
    monkeypatch.setattr(waves, "PIECE", 2.0)
    pieces = _segments([recording], Cut(trim=90.0))  # another key
    assert whole.x.shape == pieces.x.shape == (45, 20, 80)
    gaps = np.abs(whole.x - pieces.x)
    assert gaps[..., 8:].max() < 0.05
    assert gaps.mean() < 1e-3  # pieces have means of their own, which the lowest bands notice


def test_channels_are_mixed_and_a_constant_does_not_count(tmp_path):
    wave = _noise(1.0)
    both = np.concatenate([1.5 * wave, 0.5 * wave], axis=1) + 0.25
    one, two = (
        _segments([_file(tmp_path, f"{name}.wav", values)], Cut()).x
        for name, values in (("one", wave), ("two", both))
    )
    assert np.allclose(one, two, atol=1e-3)


@pytest.mark.parametrize("rate", [8000, 44100, 48000])
def test_resampling_keeps_a_tone_and_drops_what_is_too_high(rate):
    time, wanted = np.arange(rate) / rate, np.arange(RATE) / RATE
    tone = np.sin(2 * np.pi * 1000.0 * time).astype(np.float32)
    made = resample(tone, rate, RATE)
    assert len(made) == RATE
    inside = slice(400, -400)
    assert np.abs(made - np.sin(2 * np.pi * 1000.0 * wanted))[inside].max() < 2e-3
    if rate > RATE:
        high = resample(np.sin(2 * np.pi * 9000.0 * time).astype(np.float32), rate, RATE)
        assert np.abs(high[inside]).max() < 1e-3  # -60 dB


def test_converted_voices_are_shifted_as_the_name_says(tmp_path):
    wave = _noise(0.7)
    made = _segments([_file(tmp_path, "a.wav", wave)], Cut(conversions=2))
    assert made.alternatives is not None
    assert made.alternatives.shape == (3, 2, 20, 80)
    centred = wave[:, 0] - wave.mean()
    for k, (semitones, formant) in enumerate(draw_shifts("a.wav", 2)):
        other = shift_voice(centred, RATE, semitones=semitones, formant=formant)
        assert np.allclose(made.alternatives[:, k], _reference(other), atol=1e-3)


def test_shifts_lie_where_they_should_and_differ_by_name():
    shifts = np.array([draw_shifts(f"{i}", 1)[0] for i in range(200)])
    pitch, formants = np.abs(shifts[:, 0]), np.abs(np.log(shifts[:, 1]))
    assert ((pitch >= 3.0) & (pitch <= 7.0)).all()
    assert ((formants >= 0.1) & (formants <= 0.2)).all()
    assert len(np.unique(shifts[:, 0])) == 200
    assert draw_shifts("a", 1) == draw_shifts("a", 1)


def test_silent_and_short_recordings_are_left_out_with_a_reason(tmp_path):
    parts = [
        _file(tmp_path, "a.wav", np.full((RATE, 1), 0.3, np.float32)),
        _file(tmp_path, "b.wav", _noise(0.5)),
        _file(tmp_path, "c.wav", _noise(0.1)),
        _file(tmp_path, "d.wav", _noise(0.5, seed=1)),
    ]
    made = _segments(parts, Cut(conversions=1, broken=0.0))
    assert made.names == ("b.wav", "d.wav")
    assert made.skipped == {"a.wav": "it is silent", "c.wav": "it lasts 0.100 s, a segment 0.190 s"}
    alone = _segments(parts[3:], Cut(conversions=1))
    assert made.x.shape == (4, 20, 80)
    assert np.array_equal(made.x[2:], alone.x)
    assert np.array_equal(made.alternatives[2:], alone.alternatives)


def test_trimming_cuts_quiet_ends_and_no_quiet_middle(tmp_path):
    loud = [0.001, 1.0, 0.001, 1.0, 0.001]  # windows reach 200 samples into the next segment
    loudness = np.repeat(loud, [3600, 2400, 4000, 2400, 3600])[:, None]
    recording = _file(tmp_path, "a.wav", (_noise(1.0) * loudness).astype(np.float32))
    assert len(_segments([recording], Cut(trim=40.0)).x) == 3
    assert len(_segments([recording], Cut(trim=80.0)).x) == 5
    assert len(_segments([recording], Cut()).x) == 5


def _break(path: Path, how: str) -> None:
    if how == "torn":
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    elif how == "text":
        path.write_text("no sound")
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "gone":
        path.unlink()
    else:
        soundfile.write(path, np.full(RATE, np.nan, np.float32), RATE, "FLOAT", format="WAV")


@pytest.mark.parametrize(
    ("suffix", "how", "message"),
    [
        ("flac", "torn", "cannot be read as sound"),
        ("mp3", "torn", "breaks off before the length"),
        ("wav", "text", "cannot be read as sound: Format not recognised"),
        ("wav", "empty", "cannot be read as sound"),
        ("wav", "gone", "cannot be read as sound"),
        ("wav", "nan", "values that are no numbers"),
    ],
)
def test_a_broken_recording_is_left_out_and_named(tmp_path, capfd, suffix, how, message):
    parts = [_file(tmp_path, f"{i}.{suffix}", _noise(2.0, seed=i)) for i in range(3)]
    good = _segments([parts[0], parts[2]], Cut())
    _break(parts[1].sound, how)
    made = _segments(parts, Cut(broken=0.4))
    assert list(made.skipped) == [f"1.{suffix}"]
    assert message in made.skipped[f"1.{suffix}"]
    assert np.array_equal(made.x, good.x)
    with pytest.raises(ValueError, match=rf"1 of 3 recordings cannot be read: 1\.{suffix}: it"):
        _segments(parts, Cut(broken=0.3))


def test_a_header_without_a_length_is_refused(tmp_path, monkeypatch):
    recording = _file(tmp_path, "a.flac", _noise(0.5))
    monkeypatch.setattr(waves, "LONGEST", 100)
    with pytest.raises(ValueError, match="does not say how long it is"):
        recording.length()


def test_nothing_of_use_is_an_error(tmp_path):
    with pytest.raises(ValueError, match=r"none of 1 recordings can be used: a.wav: it lasts"):
        _segments([_file(tmp_path, "a.wav", _noise(0.05))], Cut())
    with pytest.raises(ValueError, match="there are no recordings"):
        _segments([], Cut())
    assert list((tmp_path / "cache").iterdir()) == []


@pytest.mark.parametrize("name", ["soundfile", "python_stretch"])
def test_a_missing_package_is_named_with_its_extra(tmp_path, monkeypatch, name):
    recording = _file(tmp_path, "a.wav", _noise(0.5))
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ValueError, match=rf"needs the package {name}: install `unbraid\[audio\]`"):
        _segments([recording], Cut(conversions=1))


def test_a_sound_in_memory_can_be_read():
    file = io.BytesIO()
    soundfile.write(file, _noise(0.3), RATE, format="FLAC")
    assert Recording("a", file.getvalue()).length() == (4800, RATE)


def test_progress_reaches_one_and_never_falls(tmp_path):
    parts = [_file(tmp_path, f"{i}.wav", _noise(0.5)) for i in range(3)]
    shares: list[float] = []
    build = lambda new: write_segments(  # noqa: E731
        lambda: iter(parts), new, Cut(), progress=shares.append
    )
    open_or_build("test", content_key(progress=True), build)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_moving_rows_together_works_in_pieces(monkeypatch):
    monkeypatch.setattr(speech, "CHUNK", 2)
    array = np.arange(9)
    speech._close_gaps([array], np.array([1, 2, 4, 5, 8]))
    assert array[:5].tolist() == [1, 2, 4, 5, 8]
