"""A model as ONNX files, compared with PyTorch on real sequences before they are kept."""

import io
import json
import warnings
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

import unbraid
from unbraid.data.corpus import Array, Split
from unbraid.files import write_text, write_whole
from unbraid.methods import method_name
from unbraid.methods.base import Method
from unbraid.workflows.export.graphs import Graph, graphs_of, step_prior
from unbraid.workflows.export.use import Source, open_source

OPSET = 17
LIMIT = 1e-4  # difference from PyTorch, in codes and standardised values
NEEDED = ("onnx", "onnxruntime")
NO_STEP = (
    "no prior_step.onnx: the prior of {} has no steps (it is over whole sequences). Draw with "
    "`unbraid sample`."
)


@dataclass(frozen=True, slots=True)
class Parity:
    """How far a part is from PyTorch, at most, over batches of these (sequences, steps)."""

    part: str
    file: Path
    difference: float
    shapes: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written, and what could not be."""

    parts: tuple[Parity, ...]
    notes: tuple[str, ...]


def export_run(path: str | Path, source: Source, out: Path | None = None) -> Exported:
    """Write the model of a run as ONNX files into `out`, or `onnx` in the run folder.

    Args:
        path: the run folder.
        source: where real sequences to compare on come from.
        out: the folder.
    """
    _require()
    job = open_source(path, source)
    return export_onnx(job.method, job.split, out or job.folder / "onnx")


def export_onnx(method: Method, split: Split, folder: Path) -> Exported:
    """Write encoder, decoder and prior step of a model as ONNX files; batch and time are free.

    Raises:
        ValueError: a part cannot be written, or differs from PyTorch by more than 1e-4; nothing is
            kept then.
    """
    _require()
    method = method.cpu().eval()
    trials = _trials(method, split)
    files, parts = {}, []
    for graph in graphs_of(method):
        files[graph.name] = _convert(graph, trials[0][graph.name][0])
        difference = max(_difference(files[graph.name], *trial[graph.name]) for trial in trials)
        if not difference <= LIMIT:
            raise ValueError(
                f"the {graph.name} of {method_name(type(method))} differs from PyTorch by "
                f"{difference:.2g} as ONNX, more than {LIMIT:g}. Nothing was written; please "
                "report it."
            )
        shapes = tuple((len(t["decoder"][0][1]), t["decoder"][0][1].shape[1]) for t in trials)
        parts.append(Parity(graph.name, folder / f"{graph.name}.onnx", difference, shapes))
    for part in parts:
        content = _described(files[part.part], method)
        write_whole(part.file, lambda aside, content=content: aside.write_bytes(content))  # type: ignore[misc]
    _write_about(folder, method, parts)
    name = method_name(type(method))
    return Exported(tuple(parts), () if step_prior(method) else (NO_STEP.format(name),))


Trial = dict[str, tuple[tuple[Tensor, ...], tuple[Tensor, ...], Tensor]]
"""Part -> inputs, what PyTorch makes of them, and the unit in which they are compared."""


def _trials(method: Method, split: Split) -> list[Trial]:
    """Return real sequences in two batches of different size and length."""
    if len(split) < 2:
        raise ValueError(f"parity wants two sequences at least, the split has {len(split)}.")
    ends = _ends(split)
    order = np.argsort(-ends, kind="stable")
    longest = order[:2]
    few, most = int(max(2, ends[longest].min() // 2)), int(ends[longest].min())
    others = order[: min(3, len(order))]
    return [_trial(method, split, longest, most), _trial(method, split, others[-1:], few)]


def _ends(split: Split) -> NDArray[np.int64]:
    """Return the steps of each sequence."""
    if split.lengths is None:
        return np.full(len(split), split.x.shape[1])
    return np.asarray(split.lengths)[split.rows]


@torch.no_grad()
def _trial(method: Method, split: Split, chosen: Array, steps: int) -> Trial:
    """Return the inputs of all parts, and what the library itself makes of them."""
    steps = min(steps, int(_ends(split)[chosen].min()))
    batch = split.take(chosen).steps(slice(0, steps))
    x = torch.from_numpy(np.ascontiguousarray(split.x[split.rows[chosen]][:, :steps])).float()
    inputs: tuple[Tensor, ...] = (x,)
    if method.spec.missing:
        known = torch.ones_like(x, dtype=torch.bool) if batch.observed is None else batch.observed
        inputs = (x, known)
    z = method.encode(batch)
    one = torch.ones(())
    scale = x.new_tensor(method.spec.scale)
    trial: Trial = {
        "encoder": (inputs, (z.s, z.d), one),
        "decoder": ((z.s, z.d), (method.spec.to_data(method.decode(z)),), scale),
    }
    prior = step_prior(method)
    if prior is not None:
        h, c = torch.zeros(2, prior.lstm.num_layers, len(x), prior.lstm.hidden_size)
        p = prior(z.d, batch.mask)
        _, (next_h, next_c) = prior.lstm(torch.zeros_like(z.d[:, :1]), (h, c))
        first = (p.mean[:, 0], p.log_var[:, 0], next_h, next_c)
        trial["prior_step"] = ((torch.zeros_like(z.d[:, 0]), h, c), first, one)
    return trial


def _convert(graph: Graph, inputs: tuple[Tensor, ...]) -> bytes:
    """Return a part as ONNX.

    PyTorch's newer exporter (`dynamo=True`) fixes the number of steps without a word.
    """
    file = io.BytesIO()
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            torch.onnx.export(
                graph.module,
                inputs,
                file,  # type: ignore[arg-type]
                input_names=list(graph.inputs),
                output_names=list(graph.outputs),
                dynamic_axes=graph.axes,
                opset_version=OPSET,
                dynamo=False,
            )
    except (torch.onnx.errors.OnnxExporterError, RuntimeError, TypeError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ValueError(
            f"the {graph.name} cannot be written as ONNX: {reason[:200]} Networks of your own must "
            "be made of operations that ONNX has."
        ) from None
    return file.getvalue()


def _difference(
    file: bytes, inputs: tuple[Tensor, ...], expected: tuple[Tensor, ...], unit: Tensor
) -> float:
    """Return the largest difference from PyTorch."""
    runtime = import_module("onnxruntime")
    session = runtime.InferenceSession(file, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_inputs()]
    values = session.run(None, dict(zip(names, (x.numpy() for x in inputs), strict=True)))
    pairs = zip(expected, values, strict=True)
    return max(float(((want - torch.from_numpy(got)) / unit).abs().max()) for want, got in pairs)


def _described(file: bytes, method: Method) -> bytes:
    """Return a file that says what it is."""
    onnx: Any = import_module("onnx")
    model = onnx.load_from_string(file)
    model.producer_name, model.producer_version = "unbraid", unbraid.__version__
    facts = {"method": method_name(type(method)), "kind": method.spec.kind}
    onnx.helper.set_model_props(model, facts | {"data": method.spec.name})
    return model.SerializeToString()


def _write_about(folder: Path, method: Method, parts: list[Parity]) -> None:
    c = method.config
    about = {
        "format": "unbraid-onnx-1",
        "unbraid": unbraid.__version__,
        "method": method_name(type(method)),
        "static_dim": c.static_dim,
        "dynamic_dim": c.dynamic_dim,
        "spec": asdict(method.spec),
        "parity": {part.part: part.difference for part in parts},
    }
    write_text(folder / "onnx.json", json.dumps(about, indent=1))


def _require() -> None:
    for name in NEEDED:
        try:
            import_module(name)
        except ImportError:
            raise ValueError(f'ONNX files need {name}: pip install "unbraid[onnx]".') from None
