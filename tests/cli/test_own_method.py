"""A method of somebody else: known to every command once it is registered."""

import json

import pytest

import unbraid
from unbraid.methods import METHODS
from unbraid.methods.dsvae import DSVAE


class Toy(DSVAE):
    """A method that is not ours."""

    label, paper = "Toy", "no paper"


@pytest.fixture
def catalogue():
    kept = dict(METHODS)
    yield METHODS
    METHODS.clear()
    METHODS.update(kept)


def test_a_registered_method_is_known_to_the_program(run_program, tmp_path, catalogue):
    unbraid.register_method("toy", Toy)
    assert "no paper" in run_program("methods")[1]
    small = [f"--set=method.{s}" for s in ("static_dim=4", "dynamic_dim=4", "net.hidden=8")]
    sizes = [f"--set=data.{s}" for s in ("train=40", "validation=10", "test=80")]
    words = ("fit", "toy-series", "-m", "toy", "--preset", "none", "--set", "training.steps=3")
    code, out, err = run_program(*words, "--out", str(tmp_path), *small, *sizes)
    assert code == 0, out + err
    path = tmp_path / "toy-series" / "toy" / "0"
    for command in ("evaluate", "report"):
        code, out, err = run_program(command, str(path))
        assert code == 0, out + err
    assert json.loads((path / "metrics.json").read_text())["method"] == "toy"
