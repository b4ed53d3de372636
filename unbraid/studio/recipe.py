"""The address of a sequence: an original, or which codes are decoded together."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast

FARTHEST = 6.0  # standard deviations along a direction
MOST_MOVES = 24
_ITEM = re.compile(r"[tu]\d{1,9}")
_DRAW = re.compile(r"draw\d{1,9}")

Factor = Literal["static", "dynamic", "both"]


@dataclass(frozen=True, slots=True)
class SequenceRecipe:
    """Which sequence is meant; sources are items (`t12`, `u3`) or draws from the prior (`draw7`).

    Attributes:
        x: an item as it is; everything else is then empty.
        s: source of the static code.
        d: source of the dynamic codes.
        to: item towards which codes are interpolated.
        share: how far, 0 to 1.
        factor: which code is interpolated.
        moves: (direction, standard deviations) added to s.
    """

    x: str = ""
    s: str = ""
    d: str = ""
    to: str = ""
    share: float = 0.0
    factor: Factor = "static"
    moves: tuple[tuple[str, float], ...] = ()


def parse_recipe(query: Mapping[str, str]) -> SequenceRecipe:
    """Return the recipe of the query part of an address.

    Raises:
        ValueError: a part is not understood.
    """
    if "x" in query:
        return SequenceRecipe(x=_source(query["x"], "x", draws=False))
    factor = query.get("factor", "static")
    if factor not in ("static", "dynamic", "both"):
        raise ValueError(f"factor must be static, dynamic or both, got {factor!r}.")
    to = query.get("to", "")
    return SequenceRecipe(
        s=_source(query.get("s", ""), "s"),
        d=_source(query.get("d", ""), "d"),
        to=_source(to, "to", draws=False) if to else "",
        share=_number(query.get("share", "0"), 0.0, 1.0, "share"),
        factor=cast(Factor, factor),
        moves=_moves(query.get("moves", "")),
    )


def _source(word: str, name: str, *, draws: bool = True) -> str:
    if _ITEM.fullmatch(word) or (draws and _DRAW.fullmatch(word)):
        return word
    raise ValueError(f"{name} must be a sequence such as t12, or draw7, got {word[:40]!r}.")


def _moves(text: str) -> tuple[tuple[str, float], ...]:
    """Return `p0:1.5,l3:-2` as pairs."""
    pairs = [pair.partition(":") for pair in text.split(",") if pair]
    if len(pairs) > MOST_MOVES:
        raise ValueError(f"at most {MOST_MOVES} directions can be moved along, got {len(pairs)}.")
    return tuple((name, _number(far, -FARTHEST, FARTHEST, name[:40])) for name, _, far in pairs)


def _number(text: str, low: float, high: float, name: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not low <= value <= high:
        raise ValueError(f"{name} must be a number from {low:g} to {high:g}, got {text[:40]!r}.")
    return value
