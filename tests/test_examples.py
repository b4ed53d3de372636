"""The scripts in `examples/` are read by newcomers first: each must run as it stands."""

import runpy
import sys
from pathlib import Path

import pytest

from unbraid.methods import METHODS

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


LOOPS = [path for path in EXAMPLES if path.stem in METHODS]  # others have tests of their own
OWN = [path for path in EXAMPLES if path.stem.startswith("own_")]
LONGEST = 75
STEPS = [10, pytest.param(0, marks=pytest.mark.slow, id="as it stands")]


def run(script: Path, steps: int, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = [str(steps), str(out)] if steps else []
    monkeypatch.setattr(sys, "argv", [str(script), *words])
    monkeypatch.chdir(out)
    monkeypatch.setattr("unbraid.methods.METHODS", dict(METHODS))
    runpy.run_path(str(script), run_name="__main__")


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("script", LOOPS, ids=lambda path: path.stem)
def test_an_example_runs_and_its_loss_falls(script, steps, capsys, monkeypatch, tmp_path):
    run(script, steps, tmp_path, monkeypatch)
    lines = [line for line in capsys.readouterr().out.splitlines() if "reconstruction" in line]
    first, last = (
        float(line.split("'reconstruction': ")[1].split(",")[0]) for line in (lines[0], lines[-1])
    )
    assert last < first


@pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")  # Lightning's own
@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("script", OWN, ids=lambda path: path.stem)
def test_an_example_with_own_parts_trains_and_is_probed(
    script, steps, capsys, monkeypatch, tmp_path
):
    run(script, steps, tmp_path, monkeypatch)
    assert "s tells " in capsys.readouterr().out


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short(script: Path):
    assert len(script.read_text().splitlines()) <= LONGEST
