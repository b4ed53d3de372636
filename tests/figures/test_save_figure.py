import json

import numpy as np
from PIL import Image

from unbraid.figures.save import save_figure, save_numbers
from unbraid.figures.style import panels


def _figure():
    figure, (axis,) = panels(1, 1, width=2.0, height=1.0)
    axis.plot([0, 1], [0, 1])
    return figure


def test_a_figure_is_saved_with_its_numbers_under_the_same_name(tmp_path):
    path = save_figure(_figure(), tmp_path / "figures" / "gap.png", {"gap": 0.5, "names": ("a",)})
    with Image.open(tmp_path / "figures" / "gap.png") as image:
        assert image.size == (300, 150)
    assert path == tmp_path / "figures" / "gap.json"
    assert json.loads(path.read_text()) == {"gap": 0.5, "names": ["a"]}
    assert len(list(path.parent.iterdir())) == 2  # nothing is left aside


def test_arrays_go_to_npz_and_come_back_exactly(tmp_path):
    x = np.random.default_rng(0).random((3, 4))
    path = save_numbers(tmp_path / "swap.png", {"x": x, "step": 7})
    assert path.suffix == ".npz"
    with np.load(path) as file:
        np.testing.assert_array_equal(file["x"], x)
        assert file["step"] == 7


def test_json_numbers_are_plain_and_what_is_not_finite_becomes_null(tmp_path):
    rows = [{"loss": np.float32(0.5), "kl": float("nan")}, {"loss": np.int64(3)}]
    path = save_numbers(tmp_path / "curves.png", {"rows": rows, "best": float("inf")})
    expected = {"rows": [{"loss": 0.5, "kl": None}, {"loss": 3}], "best": None}
    assert json.loads(path.read_text()) == expected


def test_the_suffix_chooses_the_format(tmp_path):
    save_figure(_figure(), tmp_path / "gap.svg", {})
    assert "<svg" in (tmp_path / "gap.svg").read_text()
