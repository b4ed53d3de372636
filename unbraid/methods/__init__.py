"""One paper is one file; this is the catalogue."""

from unbraid.methods.base import Method, VariationalMethod, count_parameters
from unbraid.methods.cdsvae import CDSVAE
from unbraid.methods.dbse import DBSE
from unbraid.methods.dsvae import DSVAE
from unbraid.methods.spyl import SPYL
from unbraid.settings import closest

__all__ = ["METHODS", "Method", "VariationalMethod", "count_parameters", "find_method"]

METHODS: dict[str, type[Method]] = {"dsvae": DSVAE, "cdsvae": CDSVAE, "spyl": SPYL, "dbse": DBSE}


def find_method(name: str) -> type[Method]:
    """Return a method of the catalogue by name."""
    if name not in METHODS:
        raise KeyError(f"there is no method '{name}'.{closest(name, METHODS)}")
    return METHODS[name]
