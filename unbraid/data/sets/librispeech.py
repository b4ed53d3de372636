"""LibriSpeech: people reading books aloud (Panayotov et al., ICASSP 2015), standing in for TIMIT.

Any part of it will do; the download is train-clean-5, the small part of "Mini LibriSpeech".
Recordings are cut into segments of 20 frames of 10 ms, as the papers do with TIMIT; 68 frames of
8.5 ms are what later papers have on LibriSpeech. Static factors are the speaker and the speaker's
sex. Splits go by speaker; probes keep the segments of an utterance on one side.
"""

import re
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from unbraid.data.audio.mel import MelConfig
from unbraid.data.audio.speech import Cut, open_segments, write_segments
from unbraid.data.audio.waves import Recording
from unbraid.data.cache import NewArray
from unbraid.data.collection import Collection
from unbraid.data.corpus import Corpus
from unbraid.data.download import Publisher
from unbraid.data.labels import encode_labels
from unbraid.data.published import Progress, Published
from unbraid.settings import at_least

SEXES = "SPEAKERS.TXT"
_UTTERANCE = re.compile(r"(\d+)-\d+-\d+\.flac")  # speaker-chapter-utterance

SOURCE = Publisher(
    name="LibriSpeech, part train-clean-5",
    base="https://www.openslr.org/resources/31",
    # The publisher gives an MD5 alone, 5df7d4e78065366204ca6845bb08f490. FLAC frames carry check
    # sums of their own, which are looked at when they are decoded.
    files={"train-clean-5.tar.gz": ""},
    licence="CC BY 4.0: credit the authors.",
    citation="V. Panayotov, G. Chen, D. Povey and S. Khudanpur, LibriSpeech: an ASR corpus based "
    "on public domain audio books, ICASSP 2015.",
)

SET = Published(name="librispeech", folder="librispeech_mini_subset", source=SOURCE, depth=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Where the recordings are and how the speakers are dealt."""

    root: str = ""  # folder of the archive or its contents. Unused once prepared
    test_speakers: int = 8
    validation_speakers: int = 3
    frames: int = 20  # of a segment
    frame_ms: float = 10.0  # from one frame to the next
    conversions: int = 1  # converted voices of each utterance
    seed: int = 0  # of the cut by speaker
    broken: float = 0.1  # share of recordings that may be unreadable

    def __post_init__(self) -> None:
        at_least(self, 1, "test_speakers", "validation_speakers")
        at_least(self, 2, "frames")
        at_least(self, 0, "conversions", "seed")
        if not 1 <= self.frame_ms <= 25:
            raise ValueError(f"frame_ms must be 1 to 25 ms, got {self.frame_ms}.")

    @property
    def cut(self) -> Cut:
        """What becomes of a recording."""
        mel = MelConfig()
        mel = replace(mel, hop=round(self.frame_ms * mel.sample_rate / 1000))
        return Cut(mel=mel, steps=self.frames, conversions=self.conversions, broken=self.broken)

    @property
    def options(self) -> dict[str, Any]:
        """What the prepared arrays depend on besides the recordings."""
        cut, usual = self.cut, Cut()
        lengths = {"frames": (cut.steps, usual.steps), "hop": (cut.mel.hop, usual.mel.hop)}
        other = {name: value for name, (value, default) in lengths.items() if value != default}
        return {"conversions": self.conversions} | other


def load(config: Config, *, progress: Progress | None = None) -> Corpus:
    """Return segments of 80 bands, training, validation and test by other people.

    Raises:
        ValueError: there are no recordings, or too many cannot be read.
    """
    cut = config.cut
    prepared = SET.open(
        config.root, config.options, lambda root, new: _build(root, new, cut, progress)
    )
    segments = open_segments(prepared, cut)
    speakers = np.array([name.split("-")[0] for name in segments.names])[segments.owner]
    sexes = prepared.facts["sexes"]
    words = {"speaker": speakers, "sex": [sexes.get(speaker, "") for speaker in speakers.tolist()]}
    labels, static, _ = encode_labels(words)
    collection = Collection(
        name="librispeech",
        kind="audio",
        x=segments.x,
        alternatives=segments.alternatives,
        labels=labels | {"utterance": segments.owner},
        group="utterance",
        static=static,
        rate=cut.mel.sample_rate / cut.mel.hop,
        features="log-mel",
        stand_in="TIMIT",
        skipped=segments.skipped,
    )
    parts = deal_speakers({who: sexes.get(who, "") for who in np.unique(speakers).tolist()}, config)
    return collection.cut(
        **{part: np.flatnonzero(np.isin(speakers, who)) for part, who in parts.items()}
    )


def deal_speakers(sexes: dict[str, str], config: Config) -> dict[str, list[str]]:
    """Return the speakers of every split: by seed, women and men in turn while there are both."""
    needed = config.test_speakers + config.validation_speakers + 1
    if len(sexes) < needed:
        raise ValueError(
            f"{config.test_speakers} test and {config.validation_speakers} validation speakers "
            f"need {needed} speakers at least, there are {len(sexes)}. Lower test_speakers and "
            "validation_speakers, or add recordings."
        )
    rng = np.random.default_rng(config.seed)
    groups = [
        rng.permutation(sorted(who for who in sexes if sexes[who] == sex)).tolist()
        for sex in sorted(set(sexes.values()))
    ]
    order = [who for who in chain(*zip_longest(*groups)) if who is not None]
    ends = (config.test_speakers, config.test_speakers + config.validation_speakers)
    return {
        "train": order[ends[1] :],
        "validation": order[ends[0] : ends[1]],
        "test": order[: ends[0]],
    }


def _build(root: Path, new: NewArray, cut: Cut, progress: Progress | None) -> dict[str, Any]:
    """Fill the arrays; return what was found, and the sex of every speaker."""
    sexes: dict[str, str] = {}
    loose = {path.stem: path for path in sorted(root.rglob("*.flac")) if _is_utterance(path.name)}
    archives = sorted(path for path in root.iterdir() if ".tar" in path.suffixes)
    if not loose and not archives:
        raise ValueError(
            f"{root} holds neither recordings <speaker>-<chapter>-<number>.flac nor an archive of "
            "them (.tar.gz). Get one with `unbraid data prepare librispeech --download`."
        )
    for table in root.rglob(SEXES):
        sexes |= _read_sexes(table.read_bytes())

    def recordings() -> Iterator[Recording]:
        if loose:
            yield from (Recording(name, path) for name, path in loose.items())
        else:
            for archive in archives:
                yield from _unpack(archive, sexes)

    facts = write_segments(recordings, new, cut, progress=progress)
    speakers = {name.split("-")[0] for name in facts["files"]}
    return facts | {"sexes": {who: sexes[who] for who in sorted(speakers & sexes.keys())}}


def _is_utterance(name: str) -> bool:
    return _UTTERANCE.fullmatch(name) is not None


def _unpack(archive: Path, sexes: dict[str, str]) -> Iterator[Recording]:
    """Yield the recordings of an archive as they come; note the sexes when they do."""
    try:
        with tarfile.open(archive, "r|*") as tar:
            for member in tar:
                name = Path(member.name).name
                if member.isfile() and (name == SEXES or _is_utterance(name)):
                    file = tar.extractfile(member)
                    content = file.read() if file is not None else b""
                    if name == SEXES:
                        sexes |= _read_sexes(content)
                    else:
                        yield Recording(name.removesuffix(".flac"), content)
    except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
        raise ValueError(
            f"the archive {archive} cannot be read to its end: {error}. Get it anew with "
            "`unbraid data prepare librispeech --download`."
        ) from None


def _read_sexes(table: bytes) -> dict[str, str]:
    """Return speaker -> F or M, from lines `14 | F | train-clean-360 | 25.03 | name`."""
    lines = table.decode("utf-8", errors="replace").splitlines()
    rows = [[cell.strip() for cell in line.split("|")] for line in lines if line[:1] != ";"]
    return {row[0]: row[1] for row in rows if len(row) > 1 and row[1] in ("F", "M")}
