"""Text stands out from its ground in both themes: WCAG 2.2, level AA."""

import re
from itertools import product
from pathlib import Path

import pytest

import unbraid

CSS = (Path(unbraid.__file__).parent / "studio" / "static" / "css" / "base.css").read_text()
TEXT, GROUNDS = ("ink", "soft", "s", "d", "good", "bad"), ("paper", "card", "sunk")
PAIRS = [*product(TEXT, GROUNDS), ("s", "s-wash"), ("d", "d-wash"), ("ink", "s-wash")]
AA = 4.5  # of text in its usual size


def _colours(theme: str) -> dict[str, str]:
    """Return name -> six hexadecimal digits of the block that a theme's colours stand in."""
    begin = {"light": ":root {", "dark": ':root[data-theme="dark"] {'}[theme]
    block = CSS.partition(begin)[2].partition("}")[0]
    return dict(re.findall(r"--([a-z-]+): #([0-9a-f]{6})", block))


def _luminance(colour: str) -> float:
    parts = (int(colour[i : i + 2], 16) / 255 for i in (0, 2, 4))
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def _contrast(a: str, b: str) -> float:
    dark, light = sorted((_luminance(a), _luminance(b)))
    return (light + 0.05) / (dark + 0.05)


def test_black_on_white_has_the_largest_contrast():
    assert _contrast("000000", "ffffff") == pytest.approx(21)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_text_stands_out_from_every_ground(theme):
    colours = _colours(theme)
    poor = {
        pair: round(ratio, 2)
        for pair in PAIRS
        if (ratio := _contrast(colours[pair[0]], colours[pair[1]])) < AA
    }
    assert not poor
