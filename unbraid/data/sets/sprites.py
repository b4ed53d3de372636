"""Sprites: 1,296 drawn characters doing nine things (Li and Mandt, ICML 2018).

The published layer sheets are laid over each other: body, bottomwear, topwear, hair, shoes, on
black. Static factors are the four garments with six variants each, the dynamic factor is the
action with its direction. Rows are `9 * character + action`,
`character = ((body * 6 + bottomwear) * 6 + topwear) * 6 + hair`.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from unbraid.data.cache import NewArray
from unbraid.data.collection import Collection
from unbraid.data.corpus import Array, Corpus, cut_validation
from unbraid.data.download import Publisher
from unbraid.data.published import Progress, Published
from unbraid.records import Factor
from unbraid.settings import proper_share

CHARACTERS, ACTIONS, FRAMES, CELL = 1296, 9, 8, 64
SHEET_SIZE = (832, 1344)
TRAINING_CHARACTERS = 1000
# SHA-256 of all frames, character by character, action by action, as rows of RGB pixels.
CONTENT = "9a90d76e1172c33b1a9e318a299657cecb9d9d19ddfd0d085e800b796a07a9f3"

VALUES = {
    "body": ("light", "tanned", "darkelf", "darkelf 2", "dark", "dark 2"),
    "bottomwear": (
        *("white pants", "golden greaves", "red pants"),
        *("metal pants", "teal pants", "formal pants"),
    ),
    "topwear": (
        *("maroon sleeves", "teal sleeves", "white sleeves"),
        *("plate armour", "leather armour", "open white shirt"),
    ),
    "hair": (
        *("green messy", "blue longknot", "blonde messy"),
        *("white bangs", "ruby plain", "purple afro"),
    ),
}
# movement -> first of its four sheet rows (back, left, front, right), columns of its 8 frames
MOVEMENTS = {
    "walk": (8, (8, 1, 2, 3, 4, 5, 6, 7)),
    "spellcard": (0, (0, 1, 2, 3, 4, 5, 4, 6)),
    "slash": (12, (0, 1, 2, 3, 4, 5, 4, 0)),
}
DIRECTIONS = {"front": 2, "left": 1, "right": 3}
ACTION_NAMES = tuple(f"{move} {side}" for move in MOVEMENTS for side in DIRECTIONS)

# Checked against the stored index of that repository for 21 of the 25 sheets; bottomwear/1 and /3,
# topwear/3 and shoes/1 follow the same pattern. The hashes are those of the sheets themselves.
SOURCE = Publisher(
    name="Sprites layer sheets",
    base="https://raw.githubusercontent.com/YingzhenLi/Sprites/"
    "3ce4048c5227802bd8f1888e293fd3afdba91c0c",
    files={
        "body/0.png": "27d1ac78db37c42f35a20d15c42705efc5e58d47c236cc01423879d4f797f151",
        "body/1.png": "1535e9228357b884df80f777a0d1dac10ac35e550e4d8d077105ccad014a1460",
        "body/2.png": "7c241033b4897501cb3721b6c3a9ebfa94b13db10a539edbd9bcc3e0c2a4bcb9",
        "body/3.png": "055f5aa33fc112d8444b42fce2cf50608a9fbbf2466c54ceaa46c777589a717a",
        "body/4.png": "57f3b9c510482379aba9a32fc0de7d48e9cbe3dc40f2447283547f773b77ca72",
        "body/5.png": "91e49453aeab5ebbb4fd2b48253812895dcfb4cb1829b84e24425c66de8f04ff",
        "bottomwear/0.png": "4ec356c488e272fde2d2d0d722b12a80217871e41161d43ba784caf243969ec2",
        "bottomwear/1.png": "0674312eaa4ab548f8bb31ef95d7dbd46b41555758cec51bd6c3e9fac9a0f936",
        "bottomwear/2.png": "3b464feb0d20ff34b0ca2a6d1fd00766ad86e2229c3d56ff91379fe27588a893",
        "bottomwear/3.png": "b366e84ea0519d06cf693f51e0ee2f9ac32b3132d27c75dfdc4b6f52fca072de",
        "bottomwear/4.png": "4ed7e7702e4f50b9692c0043be04b7296a108d85ea97230fb50d13c150d98771",
        "bottomwear/5.png": "a5c5e7e33f13fe5ad37b5836a5a74fb0d2094a0877c2146961b88688ff85840d",
        "topwear/0.png": "b917edcf2b3c35d51ef57a6fad67557c5edf048785bea29db09a640d09ac9a90",
        "topwear/1.png": "e33c6cb31ed1268a2c0dc73b665b1c9b9420e22baf3321880222bdb22682368b",
        "topwear/2.png": "2b9b8fefa08894b7ea536cd62b86d494aefe6e54495c5c1d83460827b13b6448",
        "topwear/3.png": "807f5b628592f6747e2814be9435963069dba6c360577168c02f57bbe903433d",
        "topwear/4.png": "b51b17878503877e179ce4f9231713bf2b2d2d666c3ec9ee29f4e784469867a2",
        "topwear/5.png": "1b6049d43f83ebfda857cc405d1936ac9fd80be480fa6ad239024a6a75ad0372",
        "hair/0.png": "e4007b0635a239ad16cdebfe90759349ccc73dfc6836c9d19625714be185f43d",
        "hair/1.png": "fa6369f84d3310705df6d8ca8c9d515a7d211e73d2826c50a9cb5bb285652c66",
        "hair/2.png": "1b8046752be7233e829ebe9b11048e171d8d181ee6f68e07042b34f57bb8af0d",
        "hair/3.png": "333783285c5fd94ff434ae5000d2da39aac7940269f173119eaa70d34c8acfa1",
        "hair/4.png": "24df8e9b291cbd444f6c4d12d35b3d43d909cd13f04e6401e0fd8ab10216d5a2",
        "hair/5.png": "4dd471cc20e0b1cf71adcaab01c88598767e5cfe680adacdf560ca91574f17ae",
        "shoes/1.png": "d56a561616a20a12030d2d40a52eeec63e6d048871bf3b6994221869362151f1",
    },
    licence="CC BY-SA 3.0 or GPL 3.0, frames made from the sheets included: credit the artists of "
    "the Liberated Pixel Cup (lpc.opengameart.org) and Universal-LPC-spritesheet "
    "(github.com/jrconway3/Universal-LPC-spritesheet).",
    citation="Y. Li and S. Mandt, Disentangled Sequential Autoencoder, ICML 2018.",
)


SET = Published(name="sprites", folder="sprites", source=SOURCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Where the sheets are and how the published training characters are cut."""

    root: str = ""  # folder of the sheets; empty: UNBRAID_DATA/sprites. Unused once prepared
    validation: float = 0.1  # share of the 1,000 training characters
    train: int = 0  # number of training sequences for quick trials; 0 = all
    seed: int = 0  # of these two cuts; training and test characters are fixed by the benchmark

    def __post_init__(self) -> None:
        proper_share(self, "validation")
        if self.train < 0:
            raise ValueError(f"train must be 0 (all) or a number of sequences, got {self.train}.")


def load(config: Config, *, progress: Progress | None = None) -> Corpus:
    """Return the benchmark, from the cache or, the first time, from the sheets.

    Raises:
        ValueError: a sheet is missing or unreadable, or the frames are not the benchmark's. No
            cache is left behind.
    """
    prepared = SET.open(config.root, {}, lambda root, new: _build(new, root, progress))
    labels = label_rows()
    train_rows, test = split_rows()
    train, validation = cut_validation(
        train_rows, labels["character"], share=config.validation, seed=config.seed
    )
    if config.train > len(train):
        raise ValueError(f"train must be at most {len(train)} sequences, got {config.train}.")
    if config.train:
        order = np.random.default_rng(config.seed).permutation(len(train))
        train = np.sort(train[order[: config.train]])
    # Pixels are uint8 / 256, as the authors have it.
    collection = Collection(
        name="sprites",
        kind="video",
        x=prepared.arrays["x"],
        labels=labels,
        static=tuple(Factor(name=n, classes=6, values=values) for n, values in VALUES.items()),
        dynamic=(Factor(name="action", classes=ACTIONS, values=ACTION_NAMES),),
        white=256.0,
        rate=8.0,
    )
    return collection.cut(train=train, validation=validation, test=test)


def label_rows() -> dict[str, NDArray[np.int64]]:
    """Return the labels of all rows: four garments, the action, and the character as a group."""
    character, action = np.divmod(np.arange(CHARACTERS * ACTIONS), ACTIONS)
    garments = np.unravel_index(character, (6, 6, 6, 6))
    named = dict(zip(VALUES, garments, strict=True))
    return {**named, "action": action, "character": character}


def split_rows() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the published (training, test) rows: 1,000 and 296 characters, all nine actions."""
    order = np.random.RandomState(423).permutation(CHARACTERS)
    rows = (order[:, None] * ACTIONS + np.arange(ACTIONS)).astype(np.int64)
    return np.sort(rows[:TRAINING_CHARACTERS].ravel()), np.sort(rows[TRAINING_CHARACTERS:].ravel())


def _build(new: NewArray, root: Path, progress: Progress | None) -> None:
    """Fill the array of all sequences and compare it with the known SHA-256."""
    cells, frames = _cells()
    layers = {name: _read_sheet(root / name, cells) for name in _checked_sheets(root)}
    x = new("x", (CHARACTERS * ACTIONS, FRAMES, 3, CELL, CELL), np.uint8)
    digest = hashlib.sha256()
    for character, image in enumerate(_compose(layers)):
        pixels = np.asarray(image).reshape(len(cells), CELL, CELL, 4)[frames, ..., :3]
        digest.update(pixels.tobytes())
        _store(x, character, image, frames)
        if progress is not None and character % 36 == 35:
            progress((character + 1) / CHARACTERS)
    if digest.hexdigest() != CONTENT:
        raise ValueError(
            f"the frames composed from {root} are not the Sprites benchmark (SHA-256 "
            f"{digest.hexdigest()}, wanted {CONTENT}), so at least one sheet differs from the "
            "published one. Get them anew: `unbraid data prepare sprites --download`."
        )


def _store(x: Array, character: int, image: Image.Image, frames: NDArray[np.int64]) -> None:
    """Write the sequences of a character, one colour plane after the other."""
    rows = x[character * ACTIONS : (character + 1) * ACTIONS]
    for channel in range(3):
        plane = np.asarray(image.getchannel(channel)).reshape(-1, CELL, CELL)
        rows[:, :, channel] = plane[frames].reshape(ACTIONS, FRAMES, CELL, CELL)


def _compose(layers: dict[str, Image.Image]) -> Iterator[Image.Image]:
    """Yield the characters in order; what several share is laid together once."""
    over = Image.alpha_composite
    black = Image.new("RGBA", layers["shoes/1.png"].size, (0, 0, 0, 255))
    for body in range(6):
        bare = over(black, layers[f"body/{body}.png"])
        for bottom in range(6):
            trousered = over(bare, layers[f"bottomwear/{bottom}.png"])
            for top in range(6):
                dressed = over(trousered, layers[f"topwear/{top}.png"])
                for hair in range(6):
                    yield over(over(dressed, layers[f"hair/{hair}.png"]), layers["shoes/1.png"])


def _cells() -> tuple[list[tuple[int, int]], NDArray[np.int64]]:
    """Return the 63 (row, column) cells in use and, for 9 x 8 frames, which of them it is."""
    wanted = [
        (first + side, column)
        for first, columns in MOVEMENTS.values()
        for side in DIRECTIONS.values()
        for column in columns
    ]
    cells = sorted(set(wanted))
    return cells, np.array([cells.index(cell) for cell in wanted])


def _checked_sheets(root: Path) -> list[str]:
    """Return the names of the sheets, or say which are not there."""
    missing = [name for name in SOURCE.files if not (root / name).is_file()]
    if missing:
        raise ValueError(
            f"{root} should hold the {len(SOURCE.files)} Sprites sheets, {len(missing)} missing: "
            f"{', '.join(missing[:5])}{', ...' if len(missing) > 5 else ''}. Get them with "
            "`unbraid data prepare sprites --download`."
        )
    return list(SOURCE.files)


def _read_sheet(path: Path, cells: list[tuple[int, int]]) -> Image.Image:
    """Return the cells of a sheet that are used, one below the other."""
    try:
        with Image.open(path) as file:
            size, sheet = file.size, file.convert("RGBA")
    except (OSError, SyntaxError, ValueError) as error:
        raise ValueError(f"the sheet {path} cannot be read as a picture: {error}.") from None
    if size != SHEET_SIZE:
        raise ValueError(f"the sheet {path} must have {SHEET_SIZE} pixels, got {size}.")
    strip = Image.new("RGBA", (CELL, CELL * len(cells)))
    for place, (row, column) in enumerate(cells):
        box = (CELL * column, CELL * row, CELL * (column + 1), CELL * (row + 1))
        strip.paste(sheet.crop(box), (0, CELL * place))
    return strip
