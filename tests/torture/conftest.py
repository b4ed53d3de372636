"""Campaigns of minutes: collected by `make torture` alone."""

import os
from pathlib import Path

import pytest

collect_ignore_glob = [] if os.environ.get("UNBRAID_TORTURE") else ["*.py"]
COUNTS = Path("torture.txt")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep prepared data of a test to itself."""
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def report():
    """Return what writes a line of counts to `torture.txt`."""

    def write(line: str) -> None:
        with COUNTS.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")

    return write
