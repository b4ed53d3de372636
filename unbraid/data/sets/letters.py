"""Letters: handwritten words of seven letters by 65 writers (Ibrahim et al., 2019).

The small letters a to z of the offline part of the ISGL character data, two samples per writer and
letter. As in SPYL (appendix A.1) every writer writes a lexicon of 100 words; each letter of a word
is one of the writer's samples at random, by seed; writer 61 is left out, as is anybody who lacks a
letter. `words.py` puts the sequences together: 7 x 64 x 64, bright ink on black.

The publisher's archive packs its folders as RAR files, whose layout inside could not be looked up.
What is read is `<root>/<writer>/<letter>_<sample>.png` (or any other kind of picture); the setting
`pattern` tells where the files are if they lie otherwise.

Departures: The lexicon is not printed; it is ours (`words.WORDS`). The split is not printed either.
Codes of the test split are probed for the writer, so the same writers are in all splits and the
words differ. Thus the same pictures of letters are seen in training and test, as there are but two
per writer; `cut="writer"` keeps whole writers apart, and `jitter` bends every letter a little.
Frames are grey, where the published network takes three colours.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unbraid.data.cache import NewArray
from unbraid.data.corpus import Corpus
from unbraid.data.download import Publisher
from unbraid.data.published import Progress, Published
from unbraid.data.sets.words import Drawing, WordsConfig, spell, store_letters

_FIELDS = {
    "{writer}": "(?P<writer>[^/]+)",
    "{letter}": "(?P<letter>[a-z])",
    "{sample}": "[^/]+",
    "*": "[^/]*",
}

SOURCE = Publisher(
    name="Letters (ISGL Online and Offline Character Recognition Dataset)",
    base="https://data.mendeley.com/datasets/n7kmd7t7yx/1",
    files={},
    licence="CC BY 4.0, as its page is reported to say.",
    citation="A. Ibrahim, O. Elijah, F. Olusayo, B. Omodolapo, D. Opeyemi, ISGL online and offline "
    "character recognition dataset, Mendeley Data, 2019; for the words I. Naiman, N. Berman, "
    "O. Azencot, Sample and Predict Your Latent, ICML 2023.",
    apply="Fetch it with a browser from https://data.mendeley.com/datasets/n7kmd7t7yx/1 (1 GB), "
    "unpack the RAR file of the offline small letters, and lay the pictures out as "
    "DIR/<writer>/<letter>_<sample>.png, or tell with --set data.pattern=... how they lie.",
)

SET = Published(name="letters", folder="letters", source=SOURCE, depth=6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config(WordsConfig):
    """Where the pictures are, and how words are made of them."""

    pattern: str = "{writer}/{letter}_{sample}.*"  # paths below root; * is any part of a name
    exclude: tuple[str, ...] = ("61",)  # writers

    def __post_init__(self) -> None:
        WordsConfig.__post_init__(self)
        if any(self.pattern.count(field) != 1 for field in ("{writer}", "{letter}")):
            raise ValueError(
                "pattern must have {writer} and {letter} once each, as in "
                f"'{{writer}}/{{letter}}_{{sample}}.*', got {self.pattern!r}."
            )


def load(config: Config, *, progress: Progress | None = None) -> Corpus:
    """Return all words by all writers, from the cache or, the first time, from the pictures.

    Raises:
        ValueError: no picture is where `pattern` says, or too many are broken.
    """
    options = {
        "size": config.size,
        "pattern": config.pattern,
        "exclude": list(config.exclude),
        "broken": config.broken,
    }
    prepared = SET.open(config.root, options, lambda root, new: _build(root, new, config, progress))
    return spell(prepared, config, name="letters")


def find_drawings(root: Path, pattern: str) -> list[Drawing]:
    """Return the pictures of letters below `root`, sorted by path."""
    parts = re.split("({[a-z]+}|[*])", pattern)
    wanted = re.compile("".join(_FIELDS.get(part) or re.escape(part) for part in parts))
    names = sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
    matches = [wanted.fullmatch(name) for name in names]
    if not any(matches):
        raise ValueError(
            f"no file below {root} is a letter by the pattern {pattern!r}; there is "
            f"{', '.join(names[:3]) or 'nothing'}. Set `pattern` as the files lie, e.g. "
            "'lower/{writer}/{letter}{sample}.jpg'."
        )
    return [Drawing(match["writer"], match["letter"], match.string) for match in matches if match]


def _build(root: Path, new: NewArray, config: Config, progress: Progress | None) -> dict[str, Any]:
    drawings = find_drawings(root, config.pattern)
    left = [drawing for drawing in drawings if drawing.writer not in config.exclude]
    facts = store_letters(new, left, lambda name: (root / name).read_bytes(), config, progress)
    absent = {drawing.writer for drawing in drawings} - {drawing.writer for drawing in left}
    excluded = {f"writer {writer}": "left out by the setting `exclude`" for writer in absent}
    return {**facts, "skipped": {**facts["skipped"], **excluded}}
