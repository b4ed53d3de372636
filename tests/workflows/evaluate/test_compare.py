from pathlib import Path

import pytest
from typer.testing import CliRunner

from unbraid.cli.app import app
from unbraid.workflows.evaluate.compare import compare_methods

TINY = [
    "data.train=24",
    "data.validation=8",
    "data.test=24",
    "method.static_dim=2",
    "method.dynamic_dim=2",
    "method.net.hidden=8",
    "training.steps=4",
    "training.patience=0",
    "training.schedule=constant",
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_methods_are_trained_side_by_side_and_a_second_call_uses_their_runs(tmp_path: Path):
    words = ["compare", "toy-series", "--methods", "vae,skd", "--out", str(tmp_path)]
    words += [word for setting in TINY for word in ("--set", setting)]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    page = tmp_path / "toy-series" / "comparison" / "report.html"
    text = page.read_text()
    assert "separation" in text and "vae" in text and "skd" in text
    models = sorted(tmp_path.rglob("model.safetensors"))
    assert [path.parts[-3] for path in models] == ["skd", "vae"]
    before = [path.stat().st_mtime_ns for path in models]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert [path.stat().st_mtime_ns for path in models] == before


def test_one_method_is_no_comparison_and_a_misspelt_one_is_told(tmp_path: Path):
    with pytest.raises(ValueError, match="two methods or more, got vae"):
        compare_methods("toy-series", ["vae", "vae"], settings={}, out=tmp_path)
    with pytest.raises(KeyError, match="Did you mean 'skd'"):
        compare_methods("toy-series", ["vae", "skdd"], settings={}, out=tmp_path)
    assert not list(tmp_path.iterdir())
