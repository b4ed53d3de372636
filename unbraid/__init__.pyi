"""The public names with their signatures, for editors and type checkers."""

from unbraid.data import Entry as DataEntry
from unbraid.data import load_data, register_dataset
from unbraid.data.corpus import Corpus, Split
from unbraid.data.readers.arrays import from_arrays
from unbraid.data.readers.objects import from_torch
from unbraid.data.readers.tables.frames import from_dataset, from_frame
from unbraid.evaluation.manipulate import cross, embed, interpolate, reconstruct, sample, swap
from unbraid.evaluation.protocols.probes import probe
from unbraid.methods import Method, VariationalMethod, register_method
from unbraid.methods.hub import load
from unbraid.methods.store import load_model, save_model
from unbraid.nets.parts import Decoder, Encoder
from unbraid.records import Batch, Codes, Spec
from unbraid.runs.run import Run, open_run
from unbraid.training.fit import fit, resume
from unbraid.workflows.check.examination import check_data
from unbraid.workflows.evaluate.diagnose import diagnose
from unbraid.workflows.evaluate.measure import evaluate
from unbraid.workflows.evaluate.page import report as write_report
from unbraid.workflows.export.frames import code_frames
from unbraid.workflows.export.hub import push, save_pretrained

__all__ = [
    "Batch",
    "Codes",
    "Corpus",
    "DataEntry",
    "Decoder",
    "Encoder",
    "Method",
    "Run",
    "Spec",
    "Split",
    "VariationalMethod",
    "__version__",
    "check_data",
    "code_frames",
    "cross",
    "diagnose",
    "embed",
    "evaluate",
    "fit",
    "from_arrays",
    "from_dataset",
    "from_frame",
    "from_torch",
    "interpolate",
    "load",
    "load_data",
    "load_model",
    "open_run",
    "probe",
    "push",
    "reconstruct",
    "register_dataset",
    "register_method",
    "resume",
    "sample",
    "save_model",
    "save_pretrained",
    "swap",
    "write_report",
]
__version__: str
