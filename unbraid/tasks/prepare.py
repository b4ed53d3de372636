"""Get a data set ready for training."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from unbraid.data import DATASETS
from unbraid.settings import closest


def prepare(name: str, root: Path | None, *, download: bool = False) -> Iterator[str]:
    """Build the cache of a data set and say what is done.

    Args:
        name: a data set of the catalogue.
        root: folder with the publisher's files.
        download: fetch the files to `root` first.
    """
    if name not in DATASETS:
        raise KeyError(f"there is no data set '{name}'.{closest(name, DATASETS)}")
    entry = DATASETS[name]
    if entry.embedded:
        yield f"{name} is embedded: nothing to prepare. Try `unbraid fit {name}`."
        return
    module = import_module(f"unbraid.data.{entry.module}")
    if root is None:
        raise ValueError(
            f"where are the files of {name}? Give --root DIR, and --download to fetch them there."
        )
    if download:
        yield module.download(root).terms
    folder = module.prepare(root)
    corpus = module.load(module.Config())
    sizes = ", ".join(f"{len(corpus.split(s))} {s}" for s in ("train", "validation", "test"))
    yield f"{name}: {sizes} sequences of {corpus.spec.length} x {corpus.spec.frame}, in {folder}"
