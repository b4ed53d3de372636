"""From the address of a sequence to its values."""

from collections.abc import Mapping
from threading import Lock

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unbraid.evaluation.manipulate import decode
from unbraid.methods import Method
from unbraid.precision import inference
from unbraid.records import Codes
from unbraid.seeding import seed_draws
from unbraid.studio.model.subject import Subject
from unbraid.studio.recipe import SequenceRecipe

Values = NDArray[np.float32]
Directions = Mapping[str, NDArray[np.float64]]
_drawing = Lock()  # draws share one generator


def make_sequence(
    subject: Subject, recipe: SequenceRecipe, directions: Directions | None = None
) -> Values:
    """Return a sequence as a model sees it, (T, *F); NaN where an original is not observed.

    Args:
        subject: the run or data.
        recipe: which sequence.
        directions: name -> (S,), for a recipe that moves along some.
    """
    if recipe.x:
        return _original(subject, recipe.x)
    codes, steps = mixed_codes(subject, recipe)
    for name, far in recipe.moves:
        if name not in (directions or {}):
            raise KeyError(f"there is no direction {name[:40]} here.")
        codes = Codes(codes.s + far * torch.from_numpy(directions[name]).to(codes.s), codes.d)  # type: ignore[index]
    x = decode(subject.needs_model(), codes)[0, :steps]
    return x.float().cpu().numpy()


def mixed_codes(subject: Subject, recipe: SequenceRecipe) -> tuple[Codes, int]:
    """Return the codes of a recipe without its moves, and how many steps are to be decoded."""
    d, steps = _dynamic(subject, recipe.d)
    s = _static(subject, recipe.s)
    if not recipe.to:
        return Codes(s, d), steps
    other = subject.item(recipe.to)
    codes = subject.codes(other)
    if recipe.factor != "dynamic":
        s = torch.lerp(s, codes.s, recipe.share)
    if recipe.factor != "static":
        steps = min(steps, other.steps)
        d = torch.lerp(d[:, :steps], codes.d[:, :steps], recipe.share)
    return Codes(s, d), steps


def _original(subject: Subject, word: str) -> Values:
    item = subject.item(word)
    batch = item.batch()
    x = batch.x if batch.observed is None else batch.x.where(batch.observed, torch.nan)
    return x[0, : item.steps].float().numpy()


def _static(subject: Subject, word: str) -> Tensor:
    if word.startswith("draw"):
        return _drawn(subject, word).s
    return subject.codes(subject.item(word)).s


def _dynamic(subject: Subject, word: str) -> tuple[Tensor, int]:
    if word.startswith("draw"):
        return _drawn(subject, word).d, subject.spec.length
    item = subject.item(word)
    return subject.codes(item).d, item.steps


def _drawn(subject: Subject, word: str) -> Codes:
    """Return codes from the prior, the same for the same number."""
    with _drawing:
        seed_draws(int(word[4:]), "use")
        return _sample(subject.needs_model(), subject.spec.length)


@inference
def _sample(method: Method, length: int) -> Codes:
    return method.sample(1, length)
