"""One paper is one file; this is the catalogue."""

from typing import Any

import torch

from unbraid.limits import check_memory
from unbraid.methods.base import Method, VariationalMethod, count_parameters
from unbraid.methods.cdsvae import CDSVAE
from unbraid.methods.dbse import DBSE
from unbraid.methods.dsvae import DSVAE
from unbraid.methods.spyl import SPYL
from unbraid.records import Spec
from unbraid.settings import closest

__all__ = [
    "METHODS",
    "Method",
    "VariationalMethod",
    "count_parameters",
    "find_method",
    "make_method",
]

METHODS: dict[str, type[Method]] = {"dsvae": DSVAE, "cdsvae": CDSVAE, "spyl": SPYL, "dbse": DBSE}


def find_method(name: str) -> type[Method]:
    """Return a method of the catalogue by name."""
    if name not in METHODS:
        raise KeyError(f"there is no method '{name}'.{closest(name, METHODS)}")
    return METHODS[name]


def make_method(name: str, spec: Spec, config: Any) -> Method:
    """Return a new method for data.

    Raises:
        ValueError: its parameters do not fit in memory.
    """
    cls = find_method(name)
    advice = "Choose smaller dimensions (method.static_dim, method.dynamic_dim, method.net)."
    try:
        with torch.device("meta"), torch.random.fork_rng(devices=[]):  # shapes without numbers
            count = sum(part.numel() for part in cls(spec, config).parameters())
    except (RuntimeError, TypeError, OverflowError) as error:  # more than 64 bits can count
        said = str(error).partition("\n")[0].rstrip(".")
        raise ValueError(f"{name} cannot be made by these settings ({said}). {advice}") from None
    # A parameter, its gradient and two moments of the optimiser, four bytes each.
    check_memory(16 * count, f"{name} with {count:,} parameters", advice)
    return cls(spec, config)
