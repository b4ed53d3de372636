"""Get a data set ready for training."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from unbraid.data import DATASETS, data_module
from unbraid.data.collection import PARTS
from unbraid.data.download import download as fetch_all
from unbraid.settings import build


def prepare(
    name: str,
    root: Path | None,
    *,
    download: bool = False,
    options: Mapping[str, Any] | None = None,
    progress: Callable[[float], None] = lambda share: None,
) -> Iterator[str]:
    """Build the cache of a data set and say what is done.

    Args:
        name: a data set of the catalogue.
        root: folder with the publisher's files; None: the usual one.
        download: fetch the files to `root` first.
        options: settings of the data set.
        progress: called with the share that is done.
    """
    module = data_module(name)
    if DATASETS[name].embedded:
        yield f"{name} is embedded: nothing to prepare. Try `unbraid fit {name}`."
        return
    yield module.SET.source.terms
    if download:
        if root is None:
            raise ValueError(f"where shall the files of {name} go? Give --root DIR.")
        fetch_all(module.SET.source, root, progress=progress)
    table = dict(options or {}) | ({"root": str(root)} if root else {})
    corpus = module.load(build(module.Config, table, where="--set"), progress=progress)
    spec = corpus.spec
    sizes = ", ".join(f"{len(corpus.split(part))} {part}" for part in PARTS)
    yield f"{name}: {sizes} sequences of {spec.length} x {spec.frame}, ready to train on"
    if corpus.skipped:
        yield f"{len(corpus.skipped)} skipped: `unbraid data check {name}` lists them"
