"""What `unbraid data check` calls a problem, training refuses."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import unbraid
from unbraid.data.checks.problems import check_trainable
from unbraid.data.readers.arrays import from_arrays

RNG = np.random.default_rng(0)
NOISE = RNG.normal(size=(40, 8, 3)).astype(np.float32)


def _infinite() -> np.ndarray:
    x = NOISE.copy()
    x[3, 2, 1] = np.inf
    return x


@pytest.mark.parametrize(
    ("x", "options", "message"),
    [
        (np.full((40, 8, 3), np.nan), {"window": 2}, "there is nothing to learn"),
        (np.full((40, 8, 3), np.inf), {"window": 2}, "there is nothing to learn"),
        (_infinite(), {"kind": "audio"}, "1 NaN or infinite"),
        (np.ones((40, 8, 3)), {"kind": "audio"}, "there is nothing to learn"),
        (NOISE, {"window": 8}, "nothing that moves"),
        (np.zeros((40, 1, 3, 16, 16), np.uint8), {}, "nothing that moves"),
        (np.zeros((40, 4, 3, 16, 16), np.uint8), {}, "there is nothing to learn"),
    ],
    ids=["all NaN", "all infinite", "one infinite", "constant", "one window", "one frame", "black"],
)
def test_training_refuses_what_the_check_calls_a_problem(
    x: np.ndarray, options: dict[str, Any], message: str, tmp_path: Path
):
    with pytest.raises(ValueError, match=message):
        corpus = from_arrays(x, options=options)
        unbraid.fit(corpus, "dsvae", settings={"training": {"steps": 2}}, out=tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_reasons_and_what_to_do_are_told_together():
    corpus = from_arrays(np.zeros((40, 1, 3, 16, 16), np.uint8), name="stills")
    with pytest.raises(ValueError, match=r"stills cannot be trained on: .*moves\..*learn\."):
        check_trainable(corpus)


def test_sound_data_pass():
    check_trainable(from_arrays(NOISE, options={"window": 2}))


def test_fit_warns_of_an_outcome_among_the_inputs(tmp_path: Path):
    rows = [
        f"p{patient},{hour},{RNG.normal():.3f},{patient % 2}"
        for patient in range(20)
        for hour in range(4)
    ]
    wards = tmp_path / "wards.csv"
    wards.write_text("\n".join(["patient,time,rate,died", *rows]))

    def said(**data: Any) -> str:
        console = Console(file=io.StringIO(), width=500)
        settings = {"data": data, "training": {"steps": 1}}
        out = tmp_path / str(len(data))
        unbraid.fit(str(wards), "dsvae", settings=settings, out=out, console=console)
        return console.file.getvalue()

    warning = """died: one value per sequence, and an input of the model. If that is a label: """
    assert warning + """--set 'data.labels=["died"]'.""" in said()
    assert "one value per sequence" not in said(labels=["died"])
