"""Words written letter by letter by one person: what Letters and Omniglot have in common.

A sequence is a word of seven letters; every step shows the picture of one letter, all of them by
the same writer. Static factor: the writer. Dynamic factor: the letter, one label per step.

Whoever knows nothing of a letter names the commonest one, so the share of `e` decides what a code
without letters scores. The hundred words have 11 % of it, as the entries of an English dictionary,
and test and validation words are dealt to have the same shares of all letters.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from string import ascii_lowercase
from typing import Any, Literal, NamedTuple
from zipfile import BadZipFile
from zlib import error as ZlibError

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch.nn.functional import grid_sample

from unbraid.data.cache import NewArray, Prepared
from unbraid.data.collection import Collection, SplitConfig
from unbraid.data.corpus import Array, Corpus
from unbraid.data.published import Progress
from unbraid.records import Factor
from unbraid.settings import at_least

DEALS = 1000  # random deals of the words, of which the evenest is taken
LETTERS = tuple(ascii_lowercase)
_LEXICON = """
ability amazing analyze anxiety anybody balance because bedroom between bicycle blanket
brother cabinet capable capture century chicken citizen climate college complex connect
conquer context cooking council culture diamond dolphin drawing economy equally example
excited explain express factory fashion finally foreign forward freedom gallery gravity
healthy history holiday horizon husband imagine instant jealous journal journey justice
kingdom kitchen knowing library machine maximum mazurka morning musical mystery natural
network nothing opinion package picture problem project pumpkin puzzled quality quarter
quickly rainbow realize request require science service sixteen speaker stomach subject
teacher tobacco tractor various victory village vitamin weather welcome western without
writing
"""
WORDS = tuple(_LEXICON.split())
SPELT = np.array([[LETTERS.index(letter) for letter in word] for word in WORDS])  # (100, 7)

Ints = NDArray[np.int64]
Pixels = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, kw_only=True)
class WordsConfig:
    """How letters become sequences, and how these are cut."""

    root: str = ""  # folder of the publisher's files; empty: the usual one. Unused once prepared
    size: int = 64  # pixels of the side of a frame
    jitter: float = 0.0  # bends every letter a little: largest change of its 2 x 3 affine matrix
    cut: Literal["word", "writer"] = "word"  # what is never in two splits
    validation: float = 0.1  # share of the words or writers
    test: float = 0.2  # share of the words or writers
    broken: float = 0.1  # share of the pictures that may be unreadable
    seed: int = 0  # of the cut, of the choice among samples of a letter, and of the jitter

    def __post_init__(self) -> None:
        at_least(self, 16, "size")
        at_least(self, 0, "seed")
        for name in ("jitter", "broken"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must lie between 0 and 1, got {getattr(self, name)}.")
        self.split()

    def split(self) -> SplitConfig:
        """Return how sequences are dealt to training, validation and test."""
        return SplitConfig(by=self.cut, test=self.test, validation=self.validation, seed=self.seed)


class Drawing(NamedTuple):
    """A file that shows a letter; several files of one writer and letter are its samples."""

    writer: str
    letter: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """Sequences (N, 7, 1, H, W) like an array, put together when their rows are asked for.

    Attributes:
        pictures: (M, H, W) the letters; may be memory-mapped.
        index: (N, 7) which of them a step shows.
        bends: (N, 7, 2, 3) affine map of every letter, or None for the letters as they are.
    """

    pictures: Pixels
    index: Ints
    bends: NDArray[np.float32] | None = None
    ndim: int = field(default=5, init=False)
    dtype: np.dtype[Any] = field(default=np.dtype(np.uint8), init=False)

    @property
    def shape(self) -> tuple[int, ...]:
        """Sequences, steps, channels, height, width."""
        return *self.index.shape, 1, *self.pictures.shape[1:]

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, rows: Any) -> Pixels:
        if isinstance(rows, tuple):
            raise IndexError("words are indexed by rows alone: x[rows][:, steps].")
        x = np.asarray(self.pictures[self.index[rows]])
        if self.bends is not None:
            x = bend(x, self.bends[rows])
        return x[..., None, :, :]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self[:].astype(dtype or self.dtype, copy=False)


def bend(pictures: Pixels, bends: NDArray[np.float32]) -> Pixels:
    """Return pictures (*N, H, W) as seen through affine maps (*N, 2, 3); outside is black.

    A map takes the place of a pixel, in halves of the frame from its middle, to where it is from.
    """
    flat = torch.from_numpy(pictures.reshape(-1, 1, *pictures.shape[-2:])).float()
    y, x = (2 * torch.arange(0.5, size) / size - 1 for size in pictures.shape[-2:])
    by_x, by_y, shift = torch.from_numpy(bends.reshape(-1, 2, 3, 1, 1)).unbind(2)
    grid = (by_x * x + shift) + by_y * y[:, None]  # (N, 2, H, W); no sums that depend on N
    bent = grid_sample(flat, grid.permute(0, 2, 3, 1), align_corners=False).round().to(torch.uint8)
    return bent.numpy().reshape(pictures.shape)


def store_letters(
    new: NewArray,
    drawings: Sequence[Drawing],
    read: Callable[[str], bytes],
    config: WordsConfig,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Store the pictures of all writers who wrote every letter, sorted by writer and letter.

    Args:
        new: makes an array of the cache.
        drawings: the files.
        read: returns the bytes of the file of that name.
        config: size of the pictures, and how many may be broken.
        progress: called with the share that is done.

    Returns:
        The names of the writers, and what was skipped and why.
    """
    pictures, skipped = {}, {}
    for done, drawing in enumerate(drawings, start=1):
        try:
            pictures[drawing] = ink(read(drawing.name), config.size)
        except (
            OSError,
            EOFError,
            SyntaxError,
            ValueError,
            BadZipFile,
            ZlibError,
            Image.DecompressionBombError,
        ) as error:
            skipped[drawing.name] = f"{error}"
        if progress is not None:
            progress(done / len(drawings))
    if len(skipped) > config.broken * len(drawings):
        some = "; ".join(f"{name}: {reason}" for name, reason in list(skipped.items())[:3])
        raise ValueError(
            f"{len(skipped)} of {len(drawings)} pictures of letters cannot be used, which is more "
            f"than broken={config.broken} allows: {some}."
        )
    whole, lacking = _whole_writers(pictures)
    complete = [drawing for drawing in pictures if drawing.writer in whole]
    complete.sort(key=lambda drawing: (whole.index(drawing.writer), drawing.letter, drawing.name))
    size = (len(complete), config.size, config.size)
    new("pictures", size, np.uint8)[:] = np.stack([pictures[drawing] for drawing in complete])
    new("writer", (len(complete),), np.int64)[:] = [
        whole.index(drawing.writer) for drawing in complete
    ]
    new("letter", (len(complete),), np.int64)[:] = [
        LETTERS.index(drawing.letter) for drawing in complete
    ]
    return {"writers": whole, "skipped": skipped | lacking}


def _whole_writers(drawings: Mapping[Drawing, Any]) -> tuple[list[str], dict[str, str]]:
    """Return the writers who have every letter, and the others with what they lack."""
    has: dict[str, set[str]] = {}
    for drawing in drawings:
        has.setdefault(drawing.writer, set()).add(drawing.letter)
    lacking = {
        f"writer {writer}": f"there is no letter {', '.join(sorted(set(LETTERS) - letters))}"
        for writer, letters in has.items()
        if letters != set(LETTERS)
    }
    whole = [writer for writer, letters in has.items() if letters == set(LETTERS)]
    if not whole:
        raise ValueError(
            f"no writer has a picture of each of the 26 letters; {len(has)} have some: "
            f"{'; '.join(f'{writer}: {reason}' for writer, reason in list(lacking.items())[:3])}."
        )
    return sorted(whole, key=lambda name: (len(name) if name.isdigit() else 0, name)), lacking


def ink(data: bytes, size: int) -> Pixels:
    """Return a picture file as bright ink on black, (size, size).

    Paper is the median along the border, ink is what differs from it; a picture that is not square
    gets more paper on both sides.
    """
    with Image.open(BytesIO(data)) as file:
        grey = np.asarray(file.convert("L"), dtype=np.int16)
    paper = int(np.median(np.concatenate([grey[0], grey[-1], grey[:, 0], grey[:, -1]])))
    strength = np.clip(paper - grey if paper > 127 else grey - paper, 0, 255).astype(np.uint8)
    if not strength.any():
        raise ValueError("the picture is empty")
    side = max(grey.shape)
    square = np.zeros((side, side), dtype=np.uint8)
    top, left = ((side - length) // 2 for length in grey.shape)
    square[top : top + grey.shape[0], left : left + grey.shape[1]] = strength
    small = Image.fromarray(square).resize((size, size), Image.Resampling.BILINEAR)
    return np.asarray(small)


def spell(prepared: Prepared, config: WordsConfig, *, name: str, stand_in: str = "") -> Corpus:
    """Return all words by all writers as a corpus."""
    writers = prepared.facts["writers"]
    writer = np.repeat(np.arange(len(writers)), len(WORDS))
    word = np.tile(np.arange(len(WORDS)), len(writers))
    letter = SPELT[word]  # (N, 7)
    rng = np.random.default_rng(config.seed)
    kinds = prepared.arrays["writer"] * len(LETTERS) + prepared.arrays["letter"]  # ascending
    samples = np.bincount(kinds)
    kind = writer[:, None] * len(LETTERS) + letter
    index = (samples.cumsum() - samples)[kind] + rng.integers(samples[kind])
    bends = None
    if config.jitter:
        change = rng.uniform(-config.jitter, config.jitter, (*index.shape, 2, 3))
        bends = (np.eye(2, 3) + change).astype(np.float32)
    labels: dict[str, Array] = {"writer": writer, "word": word, "letter": letter}
    if config.cut == "word":
        labels["split"] = deal_words(config.split())[word]
    collection = Collection(
        name=name,
        kind="video",
        rate=2.0,
        stand_in=stand_in,
        skipped=prepared.facts["skipped"],
        x=Written(pictures=prepared.arrays["pictures"], index=index, bends=bends),
        labels=labels,
        static=(Factor(name="writer", classes=len(writers), values=tuple(writers)),),
        dynamic=(Factor(name="letter", classes=26, values=LETTERS, per_step=True),),
    )
    return collection.deal(config.split())


def deal_words(config: SplitConfig) -> Array:
    """Return for every word its part: of many random deals the one with the evenest letters."""
    test = round(config.test * len(WORDS))
    held_out = test + round(config.validation * len(WORDS))
    counts = (SPELT[..., None] == np.arange(len(LETTERS))).sum(1)  # (100, 26) letters of a word
    rng = np.random.default_rng(config.seed)
    deals = np.stack([rng.permutation(len(WORDS)) for _ in range(DEALS)])
    whole = counts.mean(0)
    parts = deals[:, :test], deals[:, test:held_out]
    uneven = [np.abs(counts[rows].mean(1) - whole).max(1) for rows in parts]  # of the worst letter
    best = deals[np.argmin(np.max(uneven, axis=0))]
    names = np.full(len(WORDS), "train", dtype="U10")
    names[best[:test]], names[best[test:held_out]] = "test", "validation"
    return names
