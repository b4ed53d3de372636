"""The map in docs/architecture.md is true: rooms are small, a step runs through its files."""

import ast
import re
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import lightning
import pytest

import unbraid

PACKAGE = Path(unbraid.__file__).parent
MAP = (PACKAGE.parent / "docs" / "architecture.md").read_text()
LARGEST = 15
MOST_IN_A_STEP = 12
MOST_LINES = 300
FOLDERS = [
    p
    for p in PACKAGE.rglob("*")
    if p.is_dir() and p.name != "__pycache__" and "presets" not in p.parts
]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_a_room_has_few_files(folder):
    files = [p for p in folder.iterdir() if p.is_file()]
    assert len(files) <= LARGEST, sorted(p.name for p in files)


def test_no_file_is_longer_than_the_ceiling():
    lines = {
        path.relative_to(PACKAGE).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in PACKAGE.rglob("*.py")
    }
    assert {name: count for name, count in lines.items() if count > MOST_LINES} == {}


def test_every_room_is_on_the_map():
    for folder in FOLDERS:
        assert f"{folder.name}/" in MAP or folder.name in ("spaces", "comparisons", "suites"), (
            folder.name
        )


def test_no_class_name_is_used_twice():
    homes: dict[str, list[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        for part in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(part, ast.ClassDef) and part.name != "Config":  # one per data set
                homes.setdefault(part.name, []).append(path.relative_to(PACKAGE).as_posix())
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


class Recorder(lightning.Callback):
    """Records the files of ours that run in a training step, and after its weights are updated."""

    def __init__(self) -> None:
        self.files: dict[str, set[str]] = {"step": set(), "after": set()}
        self.phase = ""

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if self.phase and event == "call" and path.is_relative_to(PACKAGE):
            self.files[self.phase].add(path.relative_to(PACKAGE).as_posix())

    def on_train_start(self, trainer: lightning.Trainer, *_: Any) -> None:
        trainer.optimizers[0].register_step_post_hook(lambda *_: self.enter("after"))

    def on_train_batch_start(self, *_: Any) -> None:
        self.enter("step")

    def on_train_batch_end(self, *_: Any) -> None:
        self.enter("")

    def enter(self, phase: str) -> None:
        self.phase = phase


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    small = {"net": {"channels": [4, 4, 4, 4], "hidden": 8}, "static_dim": 4, "dynamic_dim": 4}
    settings = {"training": {"steps": 2, "batch_size": 8}, "method": small}
    corpus = unbraid.load_data("toy-sprites", {"train": 16, "validation": 4, "test": 8})
    before = sys.getprofile()
    sys.setprofile(recorder := Recorder())
    try:
        unbraid.fit(
            corpus,
            "cdsvae",
            preset="none",
            settings=settings,
            out=tmp_path_factory.mktemp("runs"),
            device="cpu",
            callbacks=[recorder],
        )
    finally:
        sys.setprofile(before)
    return recorder.files


@pytest.mark.parametrize("phase", ["step", "after"])
def test_a_training_step_runs_through_the_files_of_the_map(recorded, phase):
    listed = MAP.split(f"<!-- {phase} -->")[1].split(f"<!-- end of {phase} -->")[0]
    assert recorded[phase] == set(re.findall(r"`([\w/]+\.py)`", listed))


def test_a_training_step_runs_through_few_files(recorded):
    assert len(recorded["step"]) <= MOST_IN_A_STEP
