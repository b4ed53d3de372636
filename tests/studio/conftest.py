"""Small trained runs of every kind of data, and a studio that serves them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import unbraid
from unbraid.studio.app import make_app
from unbraid.studio.guard import Access
from unbraid.studio.workspace import Places, Workspace, make_workspace

NETS = {"toy-sprites": {"channels": [4, 4, 4, 4], "hidden": 8}}
SIZES = {"train": 24, "validation": 6, "test": 30}
VOICES = {
    "speakers": 4,
    "validation_speakers": 2,
    "test_speakers": 3,
    "utterances": 2,
    "conversions": 0,
}


def train(data: str, out: Path, options: dict[str, Any], seed: int = 0) -> Path:
    """Train for two steps on a few sequences; what is decoded is noise, which is enough here."""
    settings = {
        "data": options,
        "training": {"steps": 2, "batch_size": 8, "log_every": 1},
        "method": {"static_dim": 6, "dynamic_dim": 4, "net": NETS.get(data, {"hidden": 8})},
    }
    run = unbraid.fit(
        data, "dsvae", preset="none", settings=settings, out=out, seed=seed, device="cpu"
    )
    return run.path


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One run per kind of data, and a second one on the same video."""
    out = tmp_path_factory.mktemp("runs")
    return {
        "video": train("toy-sprites", out, SIZES),
        "audio": train("toy-voices", out, VOICES),
        "series": train("toy-series", out, SIZES),
        "again": train("toy-sprites", out, SIZES, seed=1),
    }


@pytest.fixture
def workspace(runs: dict[str, Path], tmp_path: Path) -> Iterator[Workspace]:
    (tmp_path / "files").mkdir()
    places = Places(runs=tmp_path / "new", folders=(tmp_path / "files",))
    made = make_workspace([str(path) for path in runs.values()], places)
    yield made
    made.work.close()


@pytest.fixture
def client(workspace: Workspace) -> Iterator[TestClient]:
    app = make_app(workspace, Access("127.0.0.1", 8420))
    with TestClient(app, base_url="http://127.0.0.1:8420", raise_server_exceptions=False) as made:
        made.headers["x-studio"] = "1"
        yield made


@pytest.fixture
def keys(workspace: Workspace, runs: dict[str, Path]) -> dict[str, str]:
    """Name in addresses of every run."""
    return {kind: workspace.add_run(path).key for kind, path in runs.items()}
