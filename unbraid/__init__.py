"""unbraid: split sequences into static and dynamic factors.

>>> import unbraid
>>> run = unbraid.fit("toy-sprites")  # doctest: +SKIP
>>> test = run.corpus().test  # doctest: +SKIP
>>> ab, ba = unbraid.swap(run.model(), test.take([0]), test.take([1]))  # doctest: +SKIP
"""

from importlib import import_module
from typing import Any

__version__ = "0.2.0"

_HOMES = {
    "fit": "training.fit",
    "resume": "training.fit",
    "open_run": "runs.run",
    "Run": "runs.run",
    "load": "methods.hub",
    "load_model": "methods.store",
    "save_model": "methods.store",
    "load_data": "data",
    "check_data": "workflows.check.examination",
    "from_arrays": "data.readers.arrays",
    "from_frame": "data.readers.tables.frames",
    "from_torch": "data.readers.objects",
    "code_frames": "workflows.export.frames",
    "from_dataset": "data.readers.tables.frames",
    "embed": "evaluation.manipulate",
    "reconstruct": "evaluation.manipulate",
    "swap": "evaluation.manipulate",
    "sample": "evaluation.manipulate",
    "interpolate": "evaluation.manipulate",
    "cross": "evaluation.manipulate",
    "probe": "evaluation.protocols.probes",
    "evaluate": "workflows.evaluate.measure",
    "diagnose": "workflows.evaluate.diagnose",
    "write_report": "workflows.evaluate.page:report",  # `unbraid.report` is the folder of pages
    "push": "workflows.export.hub",
    "save_pretrained": "workflows.export.hub",
    "register_method": "methods",
    "register_dataset": "data",
    "DataEntry": "data:Entry",
    "Method": "methods",
    "VariationalMethod": "methods",
    "Encoder": "nets.parts",
    "Decoder": "nets.parts",
    "Corpus": "data.corpus",
    "Split": "data.corpus",
    "Batch": "records",
    "Codes": "records",
    "Spec": "records",
}
__all__ = [*_HOMES, "__version__"]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for: `import unbraid` itself is instant."""
    if name not in _HOMES:
        raise AttributeError(f"module 'unbraid' has no attribute '{name}'.")
    home, _, other = _HOMES[name].partition(":")
    return getattr(import_module(f"unbraid.{home}"), other or name)


def __dir__() -> list[str]:
    return sorted(__all__)
