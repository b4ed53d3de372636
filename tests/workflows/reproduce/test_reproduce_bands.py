"""One small row of each family, trained for minutes, ends where it ended when it was recorded."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from unbraid.workflows.reproduce.comparison import Request, reproduce
from unbraid.workflows.reproduce.plan import FOLDER

HERE = Path(__file__).parent
BANDS: dict[str, Any] = tomllib.loads((HERE / "bands.toml").read_text(encoding="utf-8"))


def _land(name: str, source: Path, tmp_path: Path) -> None:
    """Train the rows of a band and compare every metric with its ends."""
    band = BANDS[name]
    mine, text = tmp_path / f"{name}.toml", source.read_text(encoding="utf-8")
    table = tomllib.loads(text)
    words = [*table.get("sets", ()), *band.get("sets", ())]
    rest = re.sub(r"^sets = .*\n", "", text, count=1, flags=re.M) if "sets" in table else text
    mine.write_text(f"sets = {words}\n{rest}", encoding="utf-8")
    results = reproduce(
        Request(
            name=str(mine),
            rows=tuple(band["rows"]),
            seeds=1,
            out=tmp_path / "out",
            max_minutes=30.0,  # the budget is one of steps
        )
    )
    assert not results.failed
    values = {row["metric"]: row["mean"] for row in results.rows}
    assert values.keys() == band["metrics"].keys(), values
    for metric, (low, high) in band["metrics"].items():
        assert low <= values[metric] <= high, values


@pytest.mark.slow
def test_video_lands_in_its_band(tmp_path: Path):
    _land("toy-video", HERE / "toy-video.toml", tmp_path)


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("name", ["physionet", "speech"])
def test_series_and_speech_land_in_their_bands(
    name: str, tmp_path: Path, real_data: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("UNBRAID_DATA", str(real_data))
    _land(name, FOLDER / f"{name}.toml", tmp_path)
