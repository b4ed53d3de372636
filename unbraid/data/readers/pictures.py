"""Pictures become frames of one size; some of a video's frames become the steps of a sequence."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

PICTURES = frozenset((".png", ".jpg", ".jpeg", ".bmp"))
Fit = Literal["crop", "stretch", "pad"]
Pixels = NDArray[np.uint8]
Steps = NDArray[np.int64]
_BAD_PICTURE = (OSError, EOFError, SyntaxError, ValueError, Image.DecompressionBombError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What every frame is made to look like.

    Attributes:
        size: height and width in pixels.
        color: RGB, else grey.
        fit: of pictures that are not square. crop: their middle; stretch: all of them, distorted;
            pad: all of them, with black borders.
    """

    size: int = 64
    color: bool = True
    fit: Fit = "crop"

    @property
    def shape(self) -> tuple[int, int, int]:
        """(C, H, W) of a frame."""
        return (3 if self.color else 1, self.size, self.size)

    def scaled(self, width: int, height: int) -> tuple[int, int]:
        """Return the (width, height) that a picture is scaled to, before `finish`.

        >>> Look(fit="crop").scaled(320, 160), Look(fit="pad").scaled(320, 160)
        ((128, 64), (64, 32))
        """
        if self.fit == "stretch":
            return self.size, self.size
        side = min(width, height) if self.fit == "crop" else max(width, height)
        wide, high = (max(1, round(length * self.size / side)) for length in (width, height))
        return wide, high

    def finish(self, image: Image.Image) -> Pixels:
        """Return a scaled picture as a frame (C, size, size): its middle, or it on black."""
        pixels = np.asarray(image.convert("RGB" if self.color else "L"))
        pixels = pixels.transpose(2, 0, 1) if self.color else pixels[None]
        for axis in (1, 2):
            pixels = _centre(pixels, self.size, axis)
        return np.ascontiguousarray(pixels)

    def frame(self, image: Image.Image) -> Pixels:
        """Return a picture of any size and colours as a frame (C, size, size)."""
        flat = on_black(image)
        size = self.scaled(*flat.size)
        return self.finish(flat.resize(size, Image.Resampling.BILINEAR, reducing_gap=3.0))

    def read(self, path: Path) -> Pixels:
        """Return a picture file as a frame (C, size, size).

        Raises:
            ValueError: it is no picture; the message names it.
        """
        return self.frame(open_picture(path, least=3 * self.size))


def _centre(pixels: Pixels, size: int, axis: int) -> Pixels:
    """Cut the middle out along an axis, or put black on both sides."""
    length = pixels.shape[axis]
    if length >= size:
        first = (length - size) // 2
        return pixels[(slice(None),) * axis + (slice(first, first + size),)]
    before = (size - length) // 2
    widths = [(0, 0)] * pixels.ndim
    widths[axis] = (before, size - length - before)
    return np.pad(pixels, widths)


def on_black(image: Image.Image) -> Image.Image:
    """Return a picture as RGB or L of 8 bits, what is transparent in it black."""
    if image.mode in ("RGB", "L"):
        return image
    if image.mode.startswith("I;16"):  # Pillow would cut values off at 255
        return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    if not image.has_transparency_data:
        return image.convert("L" if image.mode == "1" else "RGB")
    rgba = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", rgba.size, "black"), rgba).convert("RGB")


def open_picture(path: Path, *, least: int = 0) -> Image.Image:
    """Return a picture file, upright.

    Args:
        path: of the file.
        least: pixels of its shorter side that are enough: a large JPEG is decoded to fewer then,
            which is several times faster. 0: all of them.

    Raises:
        ValueError: it is no picture; the message names it.
    """
    try:
        with Image.open(path) as file:
            if least:
                wide, high = (round(side * least / min(file.size)) for side in file.size)
                file.draft(None, (wide, high))
            file.load()
            return ImageOps.exif_transpose(file)
    except _BAD_PICTURE as error:
        message = str(error).replace(str(path), path.name).rstrip(".")
        raise ValueError(f"{path.name} cannot be read as a picture: {message}") from None


def find_pictures(folder: Path) -> list[Path]:
    """Return the picture files of a folder in the order of their numbers, hidden ones left out."""
    try:
        pictures = [path for path in folder.iterdir() if path.suffix.lower() in PICTURES]
    except OSError as error:
        raise ValueError(f"the folder cannot be listed: {error.strerror}") from None
    return sorted(
        (path for path in pictures if path.name[0] != "."), key=lambda p: in_order(p.name)
    )


def in_order(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts names by the numbers in them.

    >>> sorted(["img10", "img2", "img1"], key=in_order)
    ['img1', 'img2', 'img10']
    """
    parts = re.split(r"(\d+)", name)
    return [(int(part) if place % 2 else 0, part) for place, part in enumerate(parts)]


def even_steps(total: int, count: int) -> Steps:
    """Return which of `total` frames are taken, `total / count` apart; all if there are fewer.

    >>> even_steps(37, 10).tolist()
    [0, 3, 7, 11, 14, 18, 22, 25, 29, 33]
    """
    return np.arange(total) if total <= count else np.arange(count) * total // count


def random_steps(total: int, count: int, rng: np.random.Generator) -> Steps:
    """Return `count` different frames of `total`, drawn at random, in their order."""
    return np.sort(rng.choice(total, count, replace=False))
