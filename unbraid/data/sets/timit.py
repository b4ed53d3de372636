"""TIMIT: 630 Americans read ten sentences each (Garofolo et al., LDC93S1).

The benchmark of FHVAE, DSVAE, C-DSVAE, SPYL and DBSE for speech. Recordings are cut into segments
of 20 frames of 10 ms. Static factors are the speaker, their sex and dialect; dynamic is the phone
of every frame, if the transcriptions are there. Training is the publisher's TRAIN, validation is
cut from it by speaker; test are the 24 speakers of the core test set with their eight sentences SI
and SX, 192 utterances. The other speakers of TEST are not used.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unbraid.data.audio.speech import Cut, Segments, open_segments, write_segments
from unbraid.data.audio.waves import Recording
from unbraid.data.cache import NewArray, Prepared
from unbraid.data.collection import Collection
from unbraid.data.corpus import UNKNOWN, Array, Corpus, cut_validation
from unbraid.data.download import Publisher
from unbraid.data.labels import encode_labels
from unbraid.data.published import Progress, Published
from unbraid.records import Factor
from unbraid.settings import at_least, proper_share

CORE_TEST = (
    *("MDAB0", "MWBT0", "FELC0", "MTAS1", "MWEW0", "FPAS0", "MJMP0", "MLNT0"),
    *("FPKT0", "MLLL0", "MTLS0", "FJLM0", "MBPM0", "MKLT0", "FNLP0", "MCMJ0"),
    *("MJDH0", "FMGD0", "MGRT0", "MNJM0", "FDHC0", "MJLN0", "MPAM0", "FMLD0"),
)
# Lee and Hon (1989): symbols that count as one phone, under the name they go by. The glottal stop q
# counts as none.
FOLDED = {
    "aa": "aa ao", "ae": "ae", "ah": "ah ax ax-h", "aw": "aw", "ay": "ay", "b": "b", "ch": "ch",
    "d": "d", "dh": "dh", "dx": "dx", "eh": "eh", "er": "er axr", "ey": "ey", "f": "f", "g": "g",
    "hh": "hh hv", "ih": "ih ix", "iy": "iy", "jh": "jh", "k": "k", "l": "l el", "m": "m em",
    "n": "n en nx", "ng": "ng eng", "ow": "ow", "oy": "oy", "p": "p", "r": "r", "s": "s",
    "sh": "sh zh", "sil": "h# pau epi pcl tcl kcl bcl dcl gcl", "t": "t", "th": "th", "uh": "uh",
    "uw": "uw ux", "v": "v", "w": "w", "y": "y", "z": "z",
}  # fmt: skip
PHONES = tuple(FOLDED)
_CLASSES = {
    symbol: number for number, some in enumerate(FOLDED.values()) for symbol in some.split()
} | {"q": UNKNOWN}

SET = Published(
    name="timit",
    folder="timit",
    depth=5,
    source=Publisher(
        name="TIMIT",
        base="",
        files={},
        licence="LDC User Agreement: research by whoever obtained it; not to be passed on.",
        citation="J. S. Garofolo et al., TIMIT Acoustic-Phonetic Continuous Speech Corpus, "
        "LDC93S1, Linguistic Data Consortium, 1993.",
        apply="Obtain LDC93S1 from the Linguistic Data Consortium, catalog.ldc.upenn.edu/LDC93S1.",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Where the files are and how validation is cut."""

    root: str = ""  # folder with TRAIN and TEST, at any depth. Unused once prepared
    validation: float = 0.1  # share of the training speakers
    conversions: int = 1  # converted voices of each utterance
    seed: int = 0  # of the validation cut; training and test are the publisher's
    broken: float = 0.1  # share of recordings that may be unreadable

    def __post_init__(self) -> None:
        at_least(self, 0, "conversions", "seed")
        proper_share(self, "validation")


def load(config: Config, *, progress: Progress | None = None) -> Corpus:
    """Return the benchmark, from the cache or, the first time, from the publisher's files.

    Raises:
        ValueError: the files are not in the publisher's layout, or too many cannot be read.
    """
    cut = Cut(conversions=config.conversions, broken=config.broken)
    prepared = SET.open(
        config.root, {"conversions": config.conversions},
        lambda root, new: _build(root, new, cut, progress),
    )  # fmt: skip
    segments = open_segments(prepared, cut)
    collection = _collect(segments, prepared, cut)
    part = np.array([name.split("/")[0] for name in segments.names])[segments.owner]
    train, validation = cut_validation(
        np.flatnonzero(part == "TRAIN"), collection.labels["speaker"],
        share=config.validation, seed=config.seed,
    )  # fmt: skip
    return collection.cut(train=train, validation=validation, test=np.flatnonzero(part == "TEST"))


def _collect(segments: Segments, prepared: Prepared, cut: Cut) -> Collection:
    """Return the segments with their labels; names are TRAIN/DR1/FCJF0/SA1."""
    places = [name.split("/") for name in segments.names]
    words = {
        "speaker": [place[2] for place in places],
        "sex": [place[2][0] for place in places],
        "dialect": [place[1] for place in places],
    }
    labels, static, _ = encode_labels(words)
    labels = {name: column[segments.owner] for name, column in labels.items()}
    labels["utterance"] = segments.owner
    dynamic: tuple[Factor, ...] = ()
    if "phone" in prepared.arrays:
        labels["phone"] = prepared.arrays["phone"].astype(np.int64)
        dynamic = (Factor(name="phone", classes=len(PHONES), values=PHONES, per_step=True),)
    return Collection(
        name="timit", kind="audio", x=segments.x, alternatives=segments.alternatives,
        labels=labels, group="utterance", static=static, dynamic=dynamic,
        rate=cut.mel.sample_rate / cut.mel.hop, features="log-mel",
        skipped={**segments.skipped, **prepared.facts["noted"]},
    )  # fmt: skip


def _build(root: Path, new: NewArray, cut: Cut, progress: Progress | None) -> dict[str, Any]:
    """Fill the arrays of features and, if there are transcriptions, of phones."""
    files = _find(root)
    there = {name.split("/")[2] for name in files if name.startswith("TEST")}
    absent = dict.fromkeys(sorted(set(CORE_TEST) - there), "no recording of this test speaker")

    def recordings() -> Iterator[Recording]:
        yield from (Recording(name, path) for name, path in files.items())

    facts = write_segments(recordings, new, cut, progress=progress)
    steps, bad = _phones(files, facts["files"], cut)
    if steps is not None:
        new("phone", steps.shape, np.int8)[:] = steps
    return facts | {"noted": absent | bad}


def _find(root: Path) -> dict[str, Path]:
    """Return TRAIN/DR1/FCJF0/SA1 -> the file, for the recordings of the benchmark.

    Copies differ in case, and some have a second, converted file SA1.WAV.wav beside the first.
    """
    files: dict[str, Path] = {}
    for path in sorted(root.rglob("*")):
        parts = [part.upper() for part in path.parts[-4:]]
        if path.suffix.upper() != ".WAV" or len(parts) < 4 or parts[1][:2] != "DR":
            continue
        sentence = parts[3].split(".")[0]
        core = parts[0] == "TEST" and parts[2] in CORE_TEST and not sentence.startswith("SA")
        if core or parts[0] == "TRAIN":
            files.setdefault("/".join([*parts[:3], sentence]), path)
    parts_there = {name.split("/")[0] for name in files}
    if len(parts_there) < 2:
        raise ValueError(
            f"{root} must hold TIMIT as published, with recordings such as TRAIN/DR1/FCJF0/SA1.WAV "
            "of training and TEST/DR1/MDAB0/SI1039.WAV of the core test speakers, found "
            f"{f'{parts_there.pop()} alone' if parts_there else 'neither'}."
        )
    return files


def _phones(
    files: dict[str, Path], counts: dict[str, int], cut: Cut
) -> tuple[Array | None, dict[str, str]]:
    """Return the phone of every step (N, T), None without transcriptions; and what was bad."""
    steps = np.full((sum(counts.values()), cut.steps), UNKNOWN, np.int8)
    bad: dict[str, str] = {}
    has_phones, start = False, 0
    for name, count in counts.items():
        rows = slice(start, start + count)
        start += count
        try:
            spans = _read_phones(files[name])
        except ValueError as error:
            bad[f"{name}.PHN"] = f"its phones are unknown: {error}"
            continue
        if spans:
            has_phones = True
            steps[rows] = label_frames(spans, count * cut.steps, cut.mel.hop).reshape(count, -1)
    return (steps if has_phones else None), bad


def _read_phones(recording: Path) -> list[tuple[int, int, int]]:
    """Return (first sample, end, class) of the phones beside a recording; none without a file."""
    stem = recording.name.split(".")[0]
    names = (f"{stem}.PHN", f"{stem}.phn", f"{stem.lower()}.phn", f"{stem.upper()}.PHN")
    path = next((p for name in names if (p := recording.with_name(name)).is_file()), None)
    if path is None:
        return []
    spans = []
    try:
        for line in path.read_text(encoding="ascii").splitlines():
            first, end, symbol = line.split()
            spans.append((int(first), int(end), _CLASSES[symbol.lower()]))
    except KeyError as error:
        raise ValueError(f"{error} is no phone of TIMIT") from None
    except (OSError, ValueError):
        raise ValueError("lines must read `first end phone`") from None
    return spans


def label_frames(spans: list[tuple[int, int, int]], frames: int, hop: int) -> Array:
    """Return (frames,) classes: frame t is what is said at sample t · hop; unknown outside."""
    firsts, ends, classes = np.array(sorted(spans), dtype=np.int64).T
    sample = np.arange(frames) * hop
    place = np.searchsorted(firsts, sample, side="right") - 1
    inside = (place >= 0) & (sample < ends[place])
    return np.where(inside, classes[place], UNKNOWN)
