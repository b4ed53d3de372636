"""The notebooks in `examples/notebooks/` run from top to bottom, and are stored without outputs."""

import json
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "examples" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def _code(path: Path) -> list[str]:
    cells = json.loads(path.read_text())["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_plain_python_without_outputs(path):
    notebook = json.loads(path.read_text())
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(ids) == len(set(ids))
    for cell in notebook["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
    for source in _code(path):
        compile(source, path.name, "exec")  # no magics: cells run without a kernel


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore:.*non-interactive:UserWarning")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_draws_or_prints(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, source in enumerate(_code(path)):
        exec(compile(source, f"{path.name}, cell {number}", "exec"), names)
    pyplot = __import__("matplotlib.pyplot").pyplot
    figures = pyplot.get_fignums()
    pyplot.close("all")
    assert figures or "accuracy" in capsys.readouterr().out
