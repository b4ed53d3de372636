"""The program as a person meets it: what it prints, what it writes, how it ends."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

from unbraid.cli.app import app
from unbraid.cli.catalogue import citation
from unbraid.cli.train import _steps
from unbraid.methods import METHODS
from unbraid.runs.config import TrainingConfig
from unbraid.runs.plan import make_plan
from unbraid.settings import as_table

TINY = [
    "--set",
    "data.train=12",
    "--set",
    "data.validation=4",
    "--set",
    "data.test=8",
    "--set",
    "training.steps=3",
    "--set",
    "training.batch_size=4",
    "--set",
    "method.net.channels=[4,4,4,4]",
    "--set",
    "method.net.hidden=8",
    "--set",
    "method.static_dim=4",
    "--set",
    "method.dynamic_dim=4",
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    from unbraid.settings import parse_sets
    from unbraid.training.fit import fit

    root = tmp_path_factory.mktemp("runs")
    settings = parse_sets(TINY[1::2])
    return fit("toy-sprites", "dbse", settings=settings, out=root).path


def test_fit_writes_a_run_folder_and_says_where(run_program, tmp_path):
    code, out, _ = run_program("fit", "toy-sprites", "-m", "dsvae", "--out", str(tmp_path), *TINY)
    assert code == 0
    run = tmp_path / "toy-sprites" / "dsvae" / "0"
    assert ", seed 0 -> " in out
    assert "after 3 of 3 steps, " in out
    assert "dsvae learned s (4 numbers a sequence) and d (4 a step) of toy-sprites" in out
    assert out.rstrip().endswith(f"Next: unbraid evaluate {run}")
    for name in ("config.toml", "model.safetensors", "model.json", "checkpoints/last.safetensors"):
        assert (run / name).is_file()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["fit"], "which data?"),
        (["fit", "toy-sprite"], "Did you mean 'toy-sprites'?"),
        (["fit", "toy-sprites", "-m", "dsbe"], "there is no method 'dsbe'. Did you mean 'dbse'?"),
        (["fit", "toy-sprites", "--preset", "sprites/fats"], "Did you mean 'sprites/fast'?"),
        (
            ["fit", "toy-sprites", "-m", "cdsvae", "--set", "method.temprature=1.0"],
            "CDSVAEConfig has no setting 'temprature'. Did you mean 'temperature'?",
        ),
        (
            ["fit", "toy-sprites", "-m", "dbse", "--set", "method.anchor=frist"],
            "Did you mean 'first'?",
        ),
        (["fit", "toy-sprites", "--set", "methods.anchor=last"], "Did you mean 'method'?"),
        (["fit", "toy-sprites", "--set", "lr"], "--set wants section.name=value"),
        (["fit", "toy-sprites", "--set", "training.lr=fast"], "lr must be a number, got 'fast'"),
        (["fit", "toy-sprites", "--set", "data.trian=9"], "Did you mean 'train'?"),
        (["fit", "missing.npz"], "there is no file or folder missing.npz"),
        (["fit", "--resume", "nowhere"], "nowhere is not a run folder"),
        (["fit", "--resume", "nowhere", "--method", "dbse"], "--resume takes data, method, preset"),
        (["fit", "--resume", "nowhere", "--seed", "0"], "seed from the run: leave them out"),
        (["swap", "nowhere"], "nowhere is not a run folder"),
        (["methods", "dbsee"], "Did you mean 'dbse'?"),
        (["encode", "nowhere"], "nowhere is not a run folder"),
        (["encode", "nowhere", "--out", "codes.csv"], "--out must end with .npz or .parquet"),
        (["encode", "nowhere", "--batch-size", "0"], "batch_size must be at least 1, got 0"),
        (["data", "prepare", "sprtes"], "Did you mean 'sprites'?"),
        (["data", "prepare", "sprites", "--download"], "Give --root DIR"),
    ],
)
def test_a_mistake_ends_in_a_sentence_and_code_2(run_program, words, sentence):
    code, _, err = run_program(*words)
    assert code == 2
    assert sentence in err
    assert "Traceback" not in err


def test_a_run_is_never_overwritten(run_program, trained):
    root = trained.parents[2]
    code, _, err = run_program("fit", "toy-sprites", "-m", "dbse", "--out", str(root), *TINY)
    assert code == 2
    assert "holds a run already" in err
    assert (trained / "model.safetensors").is_file()


@pytest.mark.parametrize(
    ("command", "arrays"),
    [
        ("reconstruct", {"x", "x_hat"}),
        ("swap", {"a", "b", "a_doing_b", "b_doing_a"}),
        ("sample", {"x"}),
        ("interpolate", {"a", "b", "x"}),
    ],
)
def test_using_a_run_writes_arrays_and_pictures(run_program, trained, tmp_path, command, arrays):
    code, out, _ = run_program(command, str(trained), "--out", str(tmp_path))
    assert code == 0
    assert str(tmp_path) in out
    with np.load(tmp_path / f"{command}.npz") as file:
        assert set(file.files) == arrays
        assert all(file[name].dtype == np.uint8 for name in file.files)
    assert (tmp_path / f"{command}.png").is_file()
    assert (tmp_path / f"{command}.gif").is_file()


def test_encode_writes_codes_and_labels_of_every_sequence(run_program, trained, tmp_path):
    target = tmp_path / "codes.npz"
    code, _, _ = run_program("encode", str(trained), "--out", str(target))
    assert code == 0
    with np.load(target) as file:
        assert file["s"].shape == (8, 4)
        assert file["d"].shape == (8, 8, 4)
        assert file["label_motion"].shape == (8,)


def test_encode_writes_two_tables_that_belong_together(run_program, trained, tmp_path):
    import pandas as pd

    target = tmp_path / "codes.parquet"
    code, out, _ = run_program("encode", str(trained), "--out", str(target), "--batch-size", "3")
    assert code == 0
    assert f"wrote {target} and {tmp_path / 'codes.d.parquet'}" in out.replace("\n", "")
    sequences, steps = pd.read_parquet(target), pd.read_parquet(tmp_path / "codes.d.parquet")
    both = steps.merge(sequences, on="id")
    assert len(both) == 8 * 8
    assert both.groupby("motion", observed=True).s_0.count().sum() == 64


def test_encode_replaces_a_foreign_file_only_by_force(run_program, trained, tmp_path):
    target = tmp_path / "codes.npz"
    target.write_text("my thesis")
    code, _, err = run_program("encode", str(trained), "--out", str(target))
    assert code == 2
    assert f"{target} exists and was not written by `unbraid encode`" in err
    assert target.read_text() == "my thesis"
    assert run_program("encode", str(trained), "--out", str(target), "--force")[0] == 0
    assert run_program("encode", str(trained), "--out", str(target))[0] == 0


def test_a_stopped_encode_says_how_to_go_on_and_does(run_program, trained, tmp_path, monkeypatch):
    from unbraid.workflows.export import parts

    words = ("encode", str(trained), "--out", str(tmp_path / "codes.npz"), "--batch-size", "2")
    monkeypatch.setattr(parts, "SEQUENCES", 2)
    write = parts.Parts.write

    def stopping(self: parts.Parts, part: int, batches: list) -> None:
        if part == 2:
            raise KeyboardInterrupt
        write(self, part, batches)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts.Parts, "write", stopping)
        code, out, _ = run_program(*words)
    assert code == 130
    assert "the same command goes on after the last finished part" in out
    code, out, _ = run_program(*words)
    assert code == 0
    assert "going on: 2 of 4 parts are there" in out


def test_own_sequences_of_the_wrong_size_are_refused_in_words(run_program, trained, tmp_path):
    mine = tmp_path / "mine.npz"
    np.savez(mine, x=np.zeros((4, 8, 3, 32, 32), dtype=np.uint8))
    code, _, err = run_program("encode", str(trained), "--input", str(mine))
    assert code == 2
    assert "x must have axes (N, T, 3, 64, 64), got shape (4, 8, 3, 32, 32)" in err


def test_own_sequences_of_another_kind_are_refused_in_words(run_program, trained, tmp_path):
    mine = tmp_path / "wards.csv"
    rows = [f"p{i % 5},{i // 5},{i * 0.1},{-i}" for i in range(60)]
    mine.write_text("\n".join(["patient,time,a,b", *rows]))
    code, _, err = run_program("encode", str(trained), "--input", str(mine))
    assert code == 2
    assert "the model was trained on video of 3 x 64 x 64 (toy-sprites), and" in err
    assert "wards.csv holds series of 1 x 2. Give sequences of the same kind." in err


def test_a_negative_length_is_refused_in_words(run_program, trained):
    code, _, err = run_program("sample", str(trained), "--length", "-2")
    assert code == 2
    assert "--length must be 1 or more (0: as the data), got -2." in err


def test_the_end_of_a_training_counts_epochs_as_its_budget_does():
    config = TrainingConfig(epochs=200, epoch_steps=40)
    end = {"steps": 1000, "epochs": 1000.0, "epoch_steps": 40}
    assert _steps(end, config) == "1,000 steps (25 of 200 epochs of 40 steps)"


def test_an_index_beyond_the_split_is_refused_in_words(run_program, trained):
    code, _, err = run_program("swap", str(trained), "--index", "0,99")
    assert code == 2
    assert "index 99 is not there: the split has 8 sequences" in err


def test_evaluate_and_report_end_in_a_page(run_program, trained):
    code, out, _ = run_program("evaluate", str(trained))
    assert code == 0
    assert "motion" in out
    assert out.startswith("toy-sprites: 8 test sequences\n")
    metrics = json.loads((trained / "metrics.json").read_text())
    assert metrics["sequences"] == 8
    code, _, _ = run_program("report", str(trained))
    assert code == 0
    page = (trained / "report.html").read_text()
    assert "dbse on toy-sprites" in page
    assert page.count("data:image/") >= 6
    assert len(page) < 3_000_000
    drawn = {path.stem for path in (trained / "figures").glob("*.png")}
    assert {"fixed-static", "fixed-dynamic"} <= drawn


def test_catalogues_are_for_people_and_for_scripts(run_program):
    text = run_program("methods")[1]
    assert all(name in text for name in METHODS)
    methods = json.loads(run_program("methods", "--json")[1])
    assert {fact["name"] for fact in methods} == set(METHODS)
    kinds = [kind for fact in methods for kind in fact["recommended"]]
    assert sorted(kinds) == ["audio", "series", "video"]  # each by one method
    for fact in methods:
        for kind, why in fact["recommended"].items():
            assert f"{fact['name']} for {kind}: {why}" in text
            assert re.search(r"\d", why)  # the measured figure
    assert any("best" in ranks for fact in methods for ranks in fact["good_at"].values())
    methods = json.loads(run_program("data", "list", "--json")[1])
    assert {"toy-sprites", "sprites"} <= {fact["name"] for fact in methods}
    text = run_program("methods", "dbse")[1]
    assert "method.anchor" in text
    assert "our results, speech: " in text


@pytest.mark.parametrize("name", ["dsvae", "placed"])
def test_the_page_of_a_method_has_the_settings_a_run_takes(name, run_program):
    (fact,) = json.loads(run_program("methods", name, "--json")[1])
    plan = make_plan("toy-sprites", name)
    wanted = {"method": as_table(plan.method_config), "training": as_table(plan.training)}
    assert fact["recommended_settings"]["video"] == json.loads(json.dumps(wanted))
    lines = run_program("methods", name)[1].splitlines()
    (line,) = [line.split() for line in lines if line.startswith("training.optimizer ")]
    assert line[1:] == ["adam", *["muon"] * len(METHODS[name].kinds)]


def test_any_text_stands_for_a_paper():
    assert citation("") == ""
    assert citation("Someone ICML 2018") == "Someone ICML 2018"
    assert citation("Author, Journal of Data 2018") == "Author, Data 2018"
    assert citation("none; a method of our own") == "none; a method of our own"


def _commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, (*path, name))
        else:
            yield (*path, name), command


@pytest.mark.parametrize(("path", "command"), list(_commands(typer.main.get_command(app))))
def test_help_says_every_default_once_and_hides_nothing(path: tuple[str, ...], command: Any):
    """Typer reads [...] in help as markup and leaves it out."""
    for option in command.params:
        text = option.help or ""
        assert "[" not in text, f"{' '.join(path)}: {text}"
        if "(default:" in text:
            assert not option.show_default or option.default in (None, ""), text


def test_help_loads_nothing_heavy():
    import subprocess

    probe = "import sys; from unbraid.cli import main; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
