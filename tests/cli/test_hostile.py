"""Files and settings that are wrong, or meant to do harm: one sentence, exit code 2, no change."""

import json
import shutil
import struct
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors import SafetensorError

from unbraid.runs.plan import make_plan
from unbraid.runs.source import DataSource
from unbraid.safety import limits
from unbraid.settings import parse_sets
from unbraid.training.fit import fit, run_folder

SMALL = [
    "method.static_dim=2",
    "method.dynamic_dim=2",
    "method.net.hidden=4",
    "training.steps=1",
    "data.train=8",
    "data.validation=2",
    "data.test=3",
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("trained")
    return fit("toy-series", "dsvae", settings=parse_sets(SMALL), out=out).path


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    """A run folder that may be damaged."""
    return Path(shutil.copytree(trained, tmp_path / "run"))


def _files(folder: Path) -> dict[Path, int]:
    """Return when every file was changed; a lock is no change."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")
    return {path: path.stat().st_mtime_ns for path in files}


@pytest.fixture
def refused(run_program, tmp_path: Path):
    """Return what runs the program, sees it refuse, and returns its sentence."""

    def refuse(*words: object) -> str:
        before = _files(tmp_path)
        code, _, error = run_program(*map(str, words))
        assert code == 2, error
        assert error.startswith("Error: ")
        assert error.count("\n") == 1
        assert "\x1b" not in error
        assert _files(tmp_path) == before
        return error

    return refuse


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("training.clip=nan", "clip must be a finite number"),
        ("method.static_dim=1000000000", "Choose smaller dimensions"),
        ("method.net.hidden=1000000000", "Choose smaller dimensions"),
        ("data.train=1000000000000", "Ask for fewer"),
        ("data.window=1000000000000", "Ask for fewer"),
        ("data.missing=[[[[[[" + 9999 * "[", "missing must be a number"),
    ],
)
def test_a_setting_beyond_all_memory_is_refused(refused, tmp_path: Path, word: str, sentence: str):
    assert sentence in refused("fit", "toy-series", "--set", word, "--out", tmp_path / "runs")


def test_a_window_longer_than_the_sequences_is_refused(refused, tmp_path: Path):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(9, 8, 2)))
    error = refused("fit", tmp_path / "x.npy", "--set", f"data.window={10**12}")
    assert "Choose a smaller data.window" in error


def _npz(path: Path, header: str, body: bytes = b"") -> Path:
    """Write an archive of one array whose header says what it likes."""
    text = header.encode() + b" " * (-(len(header) + 11) % 64) + b"\n"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("x.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + body)
    return path


def test_a_header_that_claims_petabytes_is_refused(refused, tmp_path: Path):
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (500000000000000, 8, 1)}"
    assert "PB" in refused("fit", _npz(tmp_path / "claims.npz", header))


def test_a_zip_bomb_is_refused_before_it_is_unpacked(refused, tmp_path: Path, monkeypatch):
    monkeypatch.setattr("unbraid.data.readers.arrays.BOMB_SIZE", 1 << 20)
    np.savez_compressed(tmp_path / "bomb.npz", x=np.zeros((2000, 16, 64), np.float32))
    assert "np.savez" in refused("fit", tmp_path / "bomb.npz")


def test_arrays_larger_than_memory_are_told_to_be_on_disk(refused, tmp_path: Path, monkeypatch):
    np.savez(tmp_path / "large.npz", x=np.random.default_rng(0).normal(size=(30, 8, 4)))
    monkeypatch.setattr(limits, "memory_limit", lambda: 20_000)
    assert ".npy file" in refused("fit", tmp_path / "large.npz")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_table_of_very_many_columns_is_refused(refused, tmp_path: Path, suffix, monkeypatch):
    monkeypatch.setattr("unbraid.data.readers.tables.files.MOST_COLUMNS", 50)
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(np.zeros((3, 60)), columns=[f"c{i}" for i in range(60)])
    path = tmp_path / f"wide{suffix}"
    table.to_csv(path) if suffix == ".csv" else table.to_parquet(path)
    assert "the other way round" in refused("fit", path)


@pytest.mark.parametrize("name", ["a[/b].csv", "[red]x[/red].csv", "\x1b[2Jx.csv", ":boom:.csv"])
def test_names_are_shown_as_they_are(run_program, tmp_path: Path, name: str):
    rows = [f"{i},{i % 7},{i * i % 11}" for i in range(400)]
    path = tmp_path / name.replace("/", "-")
    path.write_text("t,a,b\n" + "\n".join(rows))
    code, shown, error = run_program("data", "check", str(path), "--set", "data.piece=20")
    assert code == 0, error
    assert "\x1b" not in shown + error
    assert path.stem.replace("\x1b", "\\x1b") in shown
    missing = str(tmp_path / name)
    code, shown, error = run_program("fit", f"{missing}/none.csv")
    assert code == 2
    assert "\x1b" not in shown + error


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('data = "toy-series"', "data = 3"),
        ("seed = 0", "seed = 1.5"),
        ('method = "dsvae"', "method = true"),
        ("[training]", "[[training]]"),
        ("[method]", "deep = " + 3000 * "[" + 3000 * "]" + "\n[method]"),
    ],
)
def test_a_damaged_config_is_said_to_be_so(refused, run: Path, old: str, new: str):
    path = run / "config.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    assert "config.toml" in refused("evaluate", run)
    refused("fit", "--resume", run)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("spec", {"frame": "abc"}),
        ("spec", {"frame": [-4, 6]}),
        ("spec", {"length": 0}),
        ("spec", {"static": [3]}),
        ("spec", {"kind": "video"}),
        ("config", {"static_dim": 10**9}),
        ("config", {"static_dim": "many"}),
        ("config", 3),
        ("method", 3),
        ("training", []),
        ("training", {"steps": "two"}),
    ],
)
def test_a_damaged_model_is_said_to_be_so(refused, run: Path, name: str, value):
    path = run / "model.json"
    about = json.loads(path.read_text())
    about[name] = about[name] | value if isinstance(value, dict) else value
    path.write_text(json.dumps(about))
    assert "model.json is damaged" in refused("evaluate", run)
    refused("sample", run)


def test_a_deeply_nested_model_file_is_said_to_be_damaged(refused, run: Path):
    (run / "model.json").write_text(100_000 * "[" + 100_000 * "]")
    assert "nested too deeply" in refused("evaluate", run)


def test_more_samples_than_memory_are_refused(refused, run: Path):
    assert "Ask for fewer" in refused("sample", run, "--count", 10**12)
    assert "Ask for fewer" in refused("sample", run, "--length", 10**12)
    assert "Ask for fewer" in refused("interpolate", run, "--steps", 10**12)


def test_a_checkpoint_of_another_method_is_refused(refused, run: Path, tmp_path: Path):
    other = fit("toy-series", "dbse", settings=parse_sets(SMALL), out=tmp_path / "other").path
    checkpoint = Path("checkpoints") / "last.safetensors"
    shutil.copy(other / checkpoint, run / checkpoint)
    assert "another network" in refused("fit", "--resume", run)


EVIL = """
title = "t"
data = "toy-series"
published = "p"
where = "w"
seeds = 1
epochs = 1
paper = {{ text = "x" }}
metrics = []
rows = [{{ name = "{name}", label = "E", method = "dsvae" }}]
"""


@pytest.mark.parametrize("name", ["../../../evil", "/tmp/evil", "a/b", "..", ""])
def test_a_comparison_writes_nowhere_but_below_its_folder(refused, tmp_path: Path, name: str):
    (tmp_path / "mine.toml").write_text(EVIL.format(name=name))
    error = refused("reproduce", tmp_path / "mine.toml", "--out", tmp_path / "a" / "b")
    assert "names a folder" in error


@pytest.mark.parametrize("word", ["..", ".", "../..", "inner/.."])
def test_a_folder_of_dots_is_named_after_the_folder_it_is(tmp_path: Path, monkeypatch, word: str):
    inner = tmp_path / "data" / "x" / "y" / "inner"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner.parent)
    name = (inner.parent / word).resolve().name
    plan = replace(make_plan("toy-series", "dsvae"), data=DataSource(word, "tables"))
    assert run_folder("runs", plan) == Path("runs") / name / "dsvae" / "0"


def test_files_of_others_are_replaced_by_force_only(refused, run_program, run: Path, tmp_path):
    out = tmp_path / "mine"
    out.mkdir()
    (out / "sample.png").write_text("precious")
    assert "--force" in refused("sample", run, "--out", out)
    assert (out / "sample.png").read_text() == "precious"
    assert run_program("sample", str(run), "--out", str(out), "--force")[0] == 0
    assert run_program("sample", str(run), "--out", str(out))[0] == 0  # these are ours


def test_a_run_does_not_replace_files_of_something_else(refused, tmp_path: Path):
    folder = tmp_path / "runs" / "toy-series" / "dsvae" / "0"
    folder.mkdir(parents=True)
    (folder / "log.csv").write_text("precious")
    words = [word for one in SMALL for word in ("--set", one)]
    error = refused("fit", "toy-series", "-m", "dsvae", "--out", tmp_path / "runs", *words)
    assert "files of something else (log.csv)" in error


def test_a_full_disk_keeps_the_last_checkpoint(run_program, run: Path, monkeypatch):
    """The disk is full when the second checkpoint is written."""
    path = run / "checkpoints" / "last.safetensors"
    before = path.read_bytes()

    def full(tensors, aside, metadata=None):
        Path(aside).write_bytes(b"half")
        raise SafetensorError("I/O error: No space left on device (os error 28)")

    with monkeypatch.context() as patch:
        patch.setattr("unbraid.runs.checkpoint.save_file", full)
        words = ("fit", "--resume", str(run), "--set", "training.steps=3")
        code, _, error = run_program(*words)
        assert code == 2
        assert "the disk is full" in error
        assert "--resume" in error
    assert path.read_bytes() == before
    assert not list(path.parent.glob(".*"))
    assert run_program(*words)[0] == 0


def test_a_sentence_is_one_line_whatever_cells_it_quotes(refused, tmp_path: Path):
    (tmp_path / "t.csv").write_text('a,b\n1,2\n"x\ny",3\n' + 50 * "4,5\n")
    assert "data.missing" in refused("fit", tmp_path / "t.csv")
