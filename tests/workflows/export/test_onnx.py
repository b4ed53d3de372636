import runpy
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import unbraid
from tests.conformance.toys import CASES, toy_method, toy_spec
from unbraid.cli.app import app
from unbraid.data.corpus import Split
from unbraid.evaluation.manipulate import swap
from unbraid.methods.store import save_model
from unbraid.workflows.export import onnx_files
from unbraid.workflows.export.onnx_files import LIMIT, export_onnx

onnxruntime = pytest.importorskip("onnxruntime", reason="needs the extra onnx")
pytest.importorskip("onnx", reason="needs the extra onnx")
EXAMPLE = Path(__file__).parents[3] / "examples" / "onnx_swap.py"


def toy_split(method: unbraid.Method) -> Split:
    """Sequences of 5 and 3 steps in units of their own, some values missing in series."""
    spec = method.spec
    draws = np.random.default_rng(0)
    x = draws.random((4, 5, *spec.frame), dtype=np.float32)
    x = x * np.asarray(spec.scale, np.float32) + np.asarray(spec.offset, np.float32)
    observed = draws.random(x.shape) < 0.8 if spec.missing else None
    return Split(
        spec=spec, x=x, rows=np.arange(4), observed=observed, lengths=np.array([5, 3, 5, 4])
    )


def toy(name: str, kind: str) -> unbraid.Method:
    method = toy_method(name, kind).eval()
    if kind == "video":
        method.spec = replace(toy_spec(kind), scale=(255.0,))
    else:
        width = method.spec.frame[-1]
        offset, scale = (tuple(map(float, range(i, width + i))) for i in (0, 1))
        method.spec = replace(method.spec, offset=offset, scale=scale)
    return method


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_every_method_and_kind_equals_pytorch(name, kind, tmp_path):
    method = toy(name, kind)
    exported = export_onnx(method, toy_split(method), tmp_path)
    for part in exported.parts:
        assert part.difference <= LIMIT
        assert part.shapes == ((2, 5), (1, 2))
    parts = [part.part for part in exported.parts]
    assert parts[:2] == ["encoder", "decoder"]
    assert ("prior_step" in parts) != bool(exported.notes)


def test_batch_and_time_are_free_and_a_swap_equals_ours(tmp_path):
    method = toy("dsvae", "series")
    export_onnx(method, toy_split(method), tmp_path)
    split = Split(
        spec=method.spec,
        x=np.random.default_rng(1).random((6, 9, *method.spec.frame), dtype=np.float32),
        rows=np.arange(6),
    )
    a, b = split.take([0, 1, 2]), split.take([3, 4, 5])
    expected = method.spec.to_data(swap(method, a, b)[0]).numpy()
    encoder, decoder = (
        onnxruntime.InferenceSession(tmp_path / f"{name}.onnx") for name in ("encoder", "decoder")
    )
    codes = encoder.run(None, {"x": split.x, "observed": np.ones(split.x.shape, bool)})
    swapped = decoder.run(None, {"s": codes[0][:3], "d": codes[1][3:]})[0]
    assert np.allclose(swapped, expected, atol=1e-4)


def test_a_difference_is_refused_and_nothing_is_written(tmp_path, monkeypatch):
    method = toy("dsvae", "audio")
    monkeypatch.setattr(onnx_files, "_difference", lambda *_: 2e-4)
    with pytest.raises(ValueError, match=r"differs from PyTorch by 0\.0002"):
        export_onnx(method, toy_split(method), tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_network_that_onnx_has_no_words_for_is_refused_with_a_sentence(tmp_path):
    method = toy("dsvae", "audio")

    class Odd(torch.nn.Module):
        features = 12

        def forward(self, batch):
            return torch.linalg.svd(batch.x, full_matrices=False)[0] @ batch.x[:, :5]

    method.encoder = Odd()
    with pytest.raises(ValueError, match="the encoder cannot be written as ONNX"):
        export_onnx(method, toy_split(method), tmp_path)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    settings = {"training": {"steps": 2}, "method": {"net": {"hidden": 4}}}
    options = {"train": 8, "validation": 4, "test": 6}
    return unbraid.fit(
        "toy-series",
        settings=settings | {"data": options},
        out=tmp_path_factory.mktemp("runs"),
        device="cpu",
    )


def test_the_command_prints_the_difference_of_every_part(run):
    result = CliRunner().invoke(app, ["export", str(run.path), "--to", "onnx"])
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert len(lines) == 3
    assert all("max difference from PyTorch" in line for line in lines)


def test_another_target_is_refused(run):
    result = CliRunner().invoke(app, ["export", str(run.path), "--to", "caffe"])
    assert isinstance(result.exception, ValueError)
    assert "--to must be onnx" in str(result.exception)


def test_the_example_swaps_without_torch_and_unbraid(run, tmp_path):
    onnx_files.export_run(run.path, onnx_files.Source())
    blocked = "import sys; sys.modules['torch'] = sys.modules['unbraid'] = None; import runpy; "
    call = f"sys.argv = ['', {str(run.path / 'onnx')!r}]; runpy.run_path({str(EXAMPLE)!r})"
    done = subprocess.run(
        [sys.executable, "-c", blocked + call], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "swapped.npy (2, " in done.stdout


def test_the_example_gives_what_our_swap_gives(run, tmp_path, monkeypatch):
    onnx_files.export_run(run.path, onnx_files.Source())
    test, model = run.corpus().test, run.model()
    steps = slice(0, int(test.take([0, 1]).mask.sum(1).min()))  # a graph has no mask
    rows = test.rows[:2]
    x = np.where(test.observed[rows], test.x[rows], np.nan)[:, steps]
    np.save(tmp_path / "x.npy", x)
    monkeypatch.setattr(sys, "argv", ["", str(run.path / "onnx"), str(tmp_path / "x.npy")])
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(EXAMPLE))
    a, b = (test.take([i]).steps(steps) for i in (0, 1))
    ours = model.spec.to_data(swap(model, a, b)[0]).numpy()
    assert np.allclose(np.load("swapped.npy")[:1], ours, atol=1e-4)


def test_a_saved_model_alone_can_be_exported(tmp_path):
    method = toy("dbse", "audio")
    save_model(method, tmp_path)
    loaded = unbraid.load_model(tmp_path)
    exported = export_onnx(loaded, toy_split(loaded), tmp_path / "onnx")
    assert [part.file.name for part in exported.parts][2] == "prior_step.onnx"
