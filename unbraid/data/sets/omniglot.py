"""Omniglot: handwritten words of seven letters by 20 writers, an open stand-in for Letters.

The Latin alphabet of Omniglot (Lake, Salakhutdinov and Tenenbaum, Science 2015) holds each of the
letters a to z once by each of 20 people; characters 01 to 26 are a to z, as a look at all of them
showed. Every writer writes the lexicon of 100 words: 20 x 100 sequences of 7 x 64 x 64, bright ink
on black, put together by `words.py`. Another alphabet of 26 characters or more can be had; its
first 26 then stand for a to z.

A writer has one picture of a letter, so two words share the very same picture of a letter they have
in common, also where one is for training and the other for test: with the cut by words, letters of
the test split are known ones in a new order. `jitter` (0.05, say) bends every letter of every word
a little, so that no two are equal; `cut="writer"` tests on people never seen.
"""

import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unbraid.data.cache import NewArray
from unbraid.data.corpus import Corpus
from unbraid.data.download import Publisher
from unbraid.data.published import Progress, Published
from unbraid.data.sets.words import LETTERS, Drawing, WordsConfig, spell, store_letters

_PICTURE = re.compile(r"(?:.*/)?([^/]+)/character(\d+)/\d+_(\d+)\.png")

SOURCE = Publisher(
    name="Omniglot, background set small 1",
    base="https://raw.githubusercontent.com/brendenlake/omniglot/master/python",
    files={
        "images_background_small1.zip": (
            "f38eb80f801274ac2b4dff5b24289016bfaba4a7d5bb50deebf27104ad6cb8a4"
        )
    },
    licence="MIT",
    citation="B. M. Lake, R. Salakhutdinov, J. B. Tenenbaum, Human-level concept learning through "
    "probabilistic program induction, Science 350, 2015.",
)

SET = Published(name="omniglot", folder="omniglot_small", source=SOURCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config(WordsConfig):
    """Where the pictures are, and how words are made of them."""

    alphabet: str = "Latin"


def load(config: Config, *, progress: Progress | None = None) -> Corpus:
    """Return all words by all writers, from the cache or, the first time, from the pictures.

    Raises:
        ValueError: the alphabet is not there, has too few characters, or is damaged.
    """
    options = {"size": config.size, "alphabet": config.alphabet, "broken": config.broken}
    prepared = SET.open(config.root, options, lambda root, new: _build(root, new, config, progress))
    return spell(prepared, config, name="omniglot", stand_in="Letters")


def _build(root: Path, new: NewArray, config: Config, progress: Progress | None) -> dict[str, Any]:
    alphabets: set[str] = set()
    for names, read in _sources(root):
        drawings = find_drawings(names, config.alphabet)
        if len({drawing.letter for drawing in drawings}) == len(LETTERS):
            return store_letters(new, drawings, read, config, progress)
        alphabets |= {match[1] for match in map(_PICTURE.fullmatch, names) if match}
    if config.alphabet in alphabets:
        raise ValueError(f"the alphabet {config.alphabet} has fewer than 26 characters.")
    raise ValueError(
        f"{root} should hold the alphabet {config.alphabet} of Omniglot, as "
        "images_background_small1.zip or unpacked; there is "
        f"{', '.join(sorted(alphabets)) or 'no alphabet'}. Get it with "
        f"`unbraid data prepare omniglot --root {root} --download`."
    )


def _sources(root: Path) -> Iterator[tuple[list[str], Callable[[str], bytes]]]:
    """Yield the names of files and what reads them: of the folder, then of every archive in it."""
    names = sorted(path.relative_to(root).as_posix() for path in root.rglob("*.png"))
    yield names, lambda name: (root / name).read_bytes()
    for path in sorted(root.glob("images_*.zip")):
        try:
            archive = zipfile.ZipFile(path)
        except (OSError, zipfile.BadZipFile) as error:
            raise ValueError(
                f"{path} cannot be read as a zip file: {error}. Get it anew."
            ) from None
        with archive:
            yield sorted(archive.namelist()), archive.read


def find_drawings(names: Iterable[str], alphabet: str) -> list[Drawing]:
    """Return the files that show the first 26 characters of an alphabet.

    >>> find_drawings(["small1/Latin/character03/0685_07.png"], "Latin")
    [Drawing(writer='07', letter='c', name='small1/Latin/character03/0685_07.png')]
    """
    drawings = []
    for match in map(_PICTURE.fullmatch, names):
        if match and match[1] == alphabet and 1 <= int(match[2]) <= len(LETTERS):
            letter = LETTERS[int(match[2]) - 1]
            drawings.append(Drawing(match[3], letter, match.string))
    return drawings
