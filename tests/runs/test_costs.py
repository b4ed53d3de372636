from pathlib import Path

import pytest

from unbraid.methods import METHODS
from unbraid.runs.costs import COSTS

KINDS = ("video", "audio", "series")


def test_every_method_of_the_catalogue_has_a_measured_cost():
    assert COSTS.keys() == METHODS.keys()
    assert set(COSTS["dsvae"].values()) == {1.0}


@pytest.mark.parametrize("method", COSTS)
def test_the_page_on_speed_has_the_cost_of_every_method(method: str):
    cells = (f"{COSTS[method][k]:.1f}" if k in COSTS[method] else "-" for k in KINDS)
    line = f"| `{method}` | {' | '.join(cells)} |"
    page = Path(__file__).parents[2] / "docs" / "speed.md"
    assert line in page.read_text(encoding="utf-8").splitlines()
