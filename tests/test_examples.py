"""The scripts in `examples/` are read by newcomers first: each must run as it stands."""

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("steps", [10, pytest.param(0, marks=pytest.mark.slow, id="as it stands")])
@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_its_loss_falls(
    script: Path, steps: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys, "argv", [str(script), *([str(steps)] if steps else [])])
    runpy.run_path(str(script))
    lines = [line for line in capsys.readouterr().out.splitlines() if "reconstruction" in line]
    first, last = (float(line.split("'reconstruction': ")[1].split(",")[0]) for line in
                   (lines[0], lines[-1]))  # fmt: skip
    assert last < first


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short(script: Path):
    assert len(script.read_text().splitlines()) <= 60
