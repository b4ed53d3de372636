"""Draw some sequences of a data set, and how often its labels occur."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from unbraid.data import load_data
from unbraid.data.checks.balance import value_name, weigh_labels
from unbraid.data.collection import PARTS
from unbraid.data.corpus import Array, Corpus, Split
from unbraid.figures.charts.label_balance import label_balance
from unbraid.figures.save import DPI, save_numbers
from unbraid.figures.sequences.data_preview import Shown, frame_sheet, lane_sheet, spectrogram_sheet
from unbraid.figures.sequences.frames import save_gif, save_picture
from unbraid.figures.sequences.render import save_sounds
from unbraid.files import write_whole
from unbraid.safety.names import path_name

MOST_LINES = 7  # labels written beside a sequence
MOST_PLAYED = 120  # frames of an animation
LARGE = 96  # frames higher than this are not enlarged


def preview(
    data: str | Corpus,
    options: Mapping[str, Any] | None = None,
    *,
    out: Path | None = None,
    count: int = 6,
    split: str = "train",
) -> list[Path]:
    """Write pictures of sequences (with an animation or sound) and of labels; return the paths.

    Args:
        data: a name of the catalogue, the path of a file or folder, or a corpus in memory.
        options: settings of the data set or of the reader of the path.
        out: a folder, or a .png file for the sequences with the others beside it.
        count: how many sequences, chosen at random but always the same.
        split: which to take them from.
    """
    if count < 1:
        raise ValueError(f"count must be 1 or more, got {count}.")
    corpus = data if isinstance(data, Corpus) else load_data(data, options)
    target = _target(out, path_name(corpus.spec.name))
    some = corpus.split(split).some(count)
    kinds = {"video": _video, "audio": _audio, "series": _series}
    paths = kinds[corpus.spec.kind](some, target)
    return [*paths, _overview(corpus, target.with_name(f"{target.stem}-labels.png"))]


def _target(out: Path | None, name: str) -> Path:
    """Return the picture of the sequences."""
    if out is not None and out.suffix:
        if out.suffix.lower() != ".png":
            raise ValueError(f"--out must be a folder or a .png file, got {out}.")
        return out
    return (out or Path("previews") / name) / "sequences.png"


def _video(split: Split, target: Path) -> list[Path]:
    rows = shown_rows(split)
    zoom = 1 if split.spec.frame[1] > LARGE else 2
    save_picture(target, frame_sheet(rows, zoom=zoom))
    longest = min(MOST_PLAYED, max(len(row.x) for row in rows))
    played = np.ones((len(rows), longest, *split.spec.frame), np.float32)  # white after the end
    for i, row in enumerate(rows):
        played[i, : len(row.x)] = row.x[:longest]
    if played.shape[2] not in (1, 3):
        played = played.mean(2, keepdims=True)
    player = target.with_suffix(".gif")
    save_gif(player, played, rate=split.spec.rate, columns=min(len(rows), 6))
    return [target, player]


def _audio(split: Split, target: Path) -> list[Path]:
    rows = shown_rows(split, raw=True)
    figure = spectrogram_sheet(rows, step=1 / split.spec.rate)
    write_whole(target, lambda aside: figure.savefig(aside, dpi=DPI))
    named = [(re.sub(r"[^\w]+", "-", " ".join(row.lines[:2])).strip("-"), row.x) for row in rows]
    try:
        return [target, *save_sounds(target.parent, target.stem, split.spec, named)]
    except ImportError:  # the picture is worth having without the sound
        return [target]


def _series(split: Split, target: Path) -> list[Path]:
    figure = lane_sheet(shown_rows(split), channels=split.spec.channels)
    write_whole(target, lambda aside: figure.savefig(aside, dpi=DPI))
    return [target]


def shown_rows(split: Split, *, raw: bool = False) -> list[Shown]:
    """Return sequences with what is known of them, cut to their lengths.

    Args:
        split: few sequences: all are taken.
        raw: values as they are stored, not as a model sees them.
    """
    batch = split.take(slice(None))
    x = (split.spec.to_data(batch.x) if raw else batch.x).numpy()
    if batch.observed is not None:
        x = np.where(batch.observed.numpy(), x, np.nan)
    lengths = batch.mask.sum(1).tolist()
    return [_shown(split, i, x[i, : lengths[i]]) for i in range(len(split))]


def _shown(split: Split, i: int, x: Array) -> Shown:
    """Return a sequence with its labels; the first label per step is drawn over time."""
    words = {factor.name: factor.values for factor in (*split.spec.static, *split.spec.dynamic)}
    names = [*words, *(name for name in split.labels if name not in (*words, "split"))]
    lines: list[str] = []
    spans: tuple[tuple[int, str], ...] = ()
    for name in (name for name in names if name in split.labels):
        value, called = split.label(name)[i], words.get(name, ())
        if np.ndim(value):
            runs = label_runs(value[: len(x)], called)
            if not spans and split.spec.kind != "video":
                spans = runs
                continue
            value, called = ", ".join(dict.fromkeys(word for _, word in runs)), ()
        lines.append(_short(f"{name}: {value_name(value, called)}"))
    return Shown(tuple(lines[:MOST_LINES]), x, spans)


def label_runs(label: Array, words: tuple[str, ...]) -> tuple[tuple[int, str], ...]:
    """Return (first step, name) of every stretch of equal labels.

    >>> label_runs(np.array([0, 0, 1, 1, 0]), ("rest", "rise"))
    ((0, 'rest'), (2, 'rise'), (4, 'rest'))
    """
    if label.dtype.kind == "f" or not len(label):
        return ()
    starts = np.flatnonzero(np.r_[True, label[1:] != label[:-1]])
    return tuple((int(start), value_name(label[start], words)) for start in starts)


def _short(text: str, most: int = 34) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _overview(corpus: Corpus, path: Path) -> Path:
    """Draw how often labels and lengths occur in training and test."""
    labels = weigh_labels(corpus)
    lengths = {part: corpus.split(part).existing.sum(1) for part in PARTS}
    numbers = {x.name: corpus.train.known_labels(x.name)[0] for x in labels if not x.values}
    figure = label_balance(labels, lengths, numbers)
    write_whole(path, lambda aside: figure.savefig(aside, dpi=DPI))
    save_numbers(path, {label.name: label.counts for label in labels})
    return path
