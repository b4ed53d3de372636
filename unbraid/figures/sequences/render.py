"""Sequences of any kind as files people can look at or listen to."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from unbraid.data.audio.mel import MelConfig, wave_from_mel
from unbraid.figures.save import DPI
from unbraid.figures.sequences.frames import frame_grid, save_gif, save_picture
from unbraid.figures.sequences.rows import series_rows
from unbraid.figures.sequences.spectrograms import spectrogram_grid
from unbraid.files import write_whole
from unbraid.records import Spec

Rows = Sequence[tuple[str, NDArray[Any]]]


def render(folder: Path, name: str, spec: Spec, rows: Rows, *, columns: int = 0) -> list[Path]:
    """Write labelled sequences, as a model sees them, as pictures, animations or sound.

    Args:
        folder: where to write `<name>.png`, and for video `<name>.gif`, for audio WAV files.
        name: of the files.
        spec: what the sequences are.
        rows: (label, values) with values (T, *F).
        columns: sequences beside each other in an animation; as many as fit if 0.

    Returns:
        The files written.
    """
    if spec.kind == "video":
        return _video(folder, name, spec, rows, columns)
    return (_audio if spec.kind == "audio" else _series)(folder, name, spec, rows)


def _video(folder: Path, name: str, spec: Spec, rows: Rows, columns: int) -> list[Path]:
    picture, player = folder / f"{name}.png", folder / f"{name}.gif"
    save_picture(picture, frame_grid([(label, x.clip(0, 1)) for label, x in rows]))
    if len({len(x) for _, x in rows}) == 1:  # an animation needs one length
        stacked = np.stack([x for _, x in rows]).clip(0, 1)
        save_gif(player, stacked, rate=spec.rate, columns=columns or min(8, len(rows)))
        return [picture, player]
    return [picture]


def _audio(folder: Path, name: str, spec: Spec, rows: Rows) -> list[Path]:
    picture = folder / f"{name}.png"
    raw = [(label, raw_values(spec, x)) for label, x in rows]
    columns = 4 if len(rows) > 4 else len(rows)
    figure = spectrogram_grid(raw, step=1 / spec.rate, columns=columns)
    write_whole(picture, lambda aside: figure.savefig(aside, dpi=DPI))
    return [picture, *save_sounds(folder, name, spec, raw)]


def save_sounds(folder: Path, name: str, spec: Spec, rows: Rows) -> list[Path]:
    """Write what can be heard: features that are our log-mel bands are turned into waveforms."""
    mel = MelConfig()
    if spec.features != "log-mel" or spec.frame != (mel.bands,):
        return []
    paths = []
    for i, (label, x) in enumerate(rows):
        wave = wave_from_mel(torch.from_numpy(np.ascontiguousarray(x, dtype=np.float32)), mel)
        path = folder / f"{name}-{i + 1:02d}-{label.replace(' ', '-')}.wav"
        samples = wave.numpy()
        write_whole(path, lambda aside, samples=samples: wave_file(aside, samples, mel.sample_rate))  # type: ignore[misc]
        paths.append(path)
    return paths


def wave_file(
    file: Path | io.BytesIO, wave: NDArray[np.float32], rate: int, form: str = "WAV"
) -> None:
    """Write a waveform, quieter if it would be clipped.

    Args:
        file: where to.
        wave: (samples,).
        rate: samples per second.
        form: WAV or FLAC.
    """
    try:
        import soundfile
    except ImportError:
        raise ImportError("writing WAV files needs soundfile: install unbraid[audio].") from None
    loudest = max(1.0, float(np.abs(wave).max()))
    soundfile.write(file, wave / loudest, rate, format=form)


def _series(folder: Path, name: str, spec: Spec, rows: Rows) -> list[Path]:
    picture = folder / f"{name}.png"
    figure = series_rows(rows, channels=spec.channels)
    write_whole(picture, lambda aside: figure.savefig(aside, dpi=DPI))
    return [picture]


def raw_values(spec: Spec, x: NDArray[Any]) -> NDArray[Any]:
    """Return values as a model sees them in the units of the data."""
    return spec.to_data(torch.from_numpy(np.ascontiguousarray(x, dtype=np.float32))).numpy()
