"""One paper is one file; this is the catalogue, to which anybody can add."""

import inspect
from typing import Any

from unbraid.methods.base import Method, VariationalMethod, count_parameters
from unbraid.methods.baselines.diffsda import DiffSDA
from unbraid.methods.baselines.fhvae import FHVAE
from unbraid.methods.baselines.glr import GLR
from unbraid.methods.baselines.gpvae import GPVAE
from unbraid.methods.baselines.mocogan import MoCoGAN
from unbraid.methods.baselines.rwae import RWAE
from unbraid.methods.baselines.s3vae import S3VAE
from unbraid.methods.baselines.skd import SKD
from unbraid.methods.baselines.vae import VAE
from unbraid.methods.cdsvae import CDSVAE
from unbraid.methods.dbse import DBSE
from unbraid.methods.dsvae import DSVAE
from unbraid.methods.placed import Placed
from unbraid.methods.spyl import SPYL
from unbraid.nets.memory import check_network
from unbraid.plugins import add_entry, load_plugin, plugin_names
from unbraid.records import Spec
from unbraid.settings import closest

__all__ = [
    "METHODS",
    "Method",
    "VariationalMethod",
    "count_parameters",
    "find_method",
    "make_method",
    "method_label",
    "method_name",
    "method_names",
    "register_method",
]

METHODS: dict[str, type[Method]] = {
    "dsvae": DSVAE,
    "cdsvae": CDSVAE,
    "spyl": SPYL,
    "dbse": DBSE,
    "placed": Placed,
    "vae": VAE,
    "gpvae": GPVAE,
    "glr": GLR,
    "skd": SKD,
    "diffsda": DiffSDA,
    "s3vae": S3VAE,
    "rwae": RWAE,
    "fhvae": FHVAE,
    "mocogan": MoCoGAN,
}


def find_method(name: str) -> type[Method]:
    """Return a method by name: of the catalogue, registered, or of an installed package."""
    if name not in METHODS:
        plugin = load_plugin("unbraid.methods", name)
        if plugin is None:
            raise KeyError(
                f"there is no method '{name}'.{closest(name, method_names())} A method of your own "
                "is known once the module is imported that calls unbraid.register_method."
            )
        register_method(name, plugin)
    return METHODS[name]


def method_names(kind: str = "") -> list[str]:
    """Return the names of all methods, the catalogue's first; with a kind of data, those for it."""
    names = dict.fromkeys([*METHODS, *plugin_names("unbraid.methods")])
    return [
        name for name in names if not kind or name not in METHODS or kind in METHODS[name].kinds
    ]


def method_name(cls: type[Method]) -> str:
    """Return the name a method is known by; a class that has none yet is registered.

    Its name is then that of the class in small letters.
    """
    for name, known in METHODS.items():
        if known is cls:
            return name
    register_method(cls.__name__.lower(), cls)
    return cls.__name__.lower()


def method_label(name: str) -> str:
    """Return the name of a method as papers print it.

    >>> method_label("cdsvae")
    'C-DSVAE'
    """
    cls = METHODS.get(name)
    return name if cls is None else cls.label or cls.__name__


def register_method(name: str, cls: object) -> None:
    """Make a method known by a name: to `fit`, the command line, reports and saved models.

    Args:
        name: small letters, digits and dashes; must not be that of another method.
        cls: a subclass of `Method` that answers the four verbs and has a `Config`, a frozen
            dataclass with defaults for all settings.
    """
    if not isinstance(cls, type) or not issubclass(cls, Method):
        raise TypeError(f"a method is a subclass of unbraid.Method, got {cls!r}.")
    if inspect.isabstract(cls):
        missing = ", ".join(sorted(cls.__abstractmethods__))
        raise TypeError(f"{cls.__name__} does not answer all verbs of a method: write {missing}.")
    if not hasattr(getattr(cls, "Config", None), "__dataclass_fields__"):
        raise TypeError(
            f"{cls.__name__} has no Config: a dataclass of its settings, with defaults."
        )
    add_entry(METHODS, name, cls, what="method", same=_same_source)


def _same_source(one: type, other: type) -> bool:
    """Say whether a class is an other one defined again, as in a notebook cell that was re-run."""
    return (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)


def make_method(name: str, spec: Spec, config: Any, **parts: Any) -> Method:
    """Return a new method for data, with networks of your own if any are given.

    Raises:
        ValueError: its parameters do not fit in memory.
    """
    cls = find_method(name)
    advice = "Choose smaller dimensions (method.static_dim, method.dynamic_dim, method.net)."
    check_network(lambda: cls(spec, config), name, advice)
    return cls(spec, config, **parts)
