"""The benchmark counts right, its parts fit together; no wall time is asserted."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchmarks import encode, flops, growth, run
from benchmarks.baseline import call, load_baseline
from benchmarks.choice import methods_of
from benchmarks.startup import start_up
from benchmarks.tables import markdown
from benchmarks.workers import Team, Worker
from unbraid.methods import METHODS
from unbraid.nets import NetConfig
from unbraid.records import Spec

EXAMPLE = Path(run.__file__).parent / "example_baseline"
TOLD: dict[str, Any] = {
    "method": "dbse",
    "preset": "sprites/fast",
    "batch": 3,
    "length": 4,
    "frame": [3, 32, 32],
    "static_dim": 5,
    "dynamic_dim": 2,
    "size": 10,
}


def small_method(name: str) -> Any:
    torch.manual_seed(0)
    spec = Spec(name="toy", kind="video", frame=(3, 32, 32), length=4, size=10)
    net = NetConfig(channels=(8, 4), features=8, hidden=8)
    return METHODS[name](spec, METHODS[name].Config(static_dim=6, dynamic_dim=4, net=net))


@pytest.mark.parametrize("name", methods_of("sprites/authors"))
def test_counting_on_fake_tensors_gives_the_count_of_a_true_step(name):
    faked = flops.count_step(small_method(name), 3, 4)
    assert faked == flops.count_step(small_method(name), 3, 4, fake=False)
    assert faked["gflop"] > 0


def test_an_lstm_layer_counts_two_operations_per_weight_step_and_sequence():
    # 4 gates of 5 states from 3 inputs and 5 states, 7 steps of 2 sequences.
    assert flops._rnn_forward((7, 2, 3), (20, 3), (20, 5)) == 2 * 7 * 2 * (60 + 100)


def test_operations_stand_beside_those_of_the_authors_code():
    (row,) = flops.table(["dbse"], ["sprites/authors"])
    assert row["ratio"] == pytest.approx(row["gflop_per_step"] / row["authors_gflop"], abs=1e-4)


def test_flops_are_printed_as_json_lines_and_nothing_else(monkeypatch, capsys):
    words = ["flops", "--methods", "dsvae", "dbse", "--presets", "sprites/fast"]
    monkeypatch.setattr(sys, "argv", words)
    flops.main()
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["method"] for row in rows] == ["dsvae", "dbse"]
    for row in rows:
        assert list(row) == [
            "method",
            "preset",
            "batch",
            "gflop_per_step",
            "authors_gflop",
            "ratio",
        ]
        assert row["authors_gflop"] is None and row["ratio"] is None


def test_only_methods_that_have_a_preset_can_be_measured():
    assert methods_of("sprites/fast", ["dbse"]) == ["dbse"]
    assert {"dsvae", "cdsvae", "spyl", "dbse"} <= set(methods_of("sprites/authors"))
    with pytest.raises(ValueError, match="there is no preset 'sprites/fats'"):
        methods_of("sprites/fats")
    with pytest.raises(ValueError, match="dsbe has no preset"):
        methods_of("sprites/fast", ["dsbe"])


def test_an_exponent_is_the_slope_between_logarithms():
    assert growth.exponent([1, 2, 4], [3, 12, 48]) == pytest.approx(2)
    assert growth.exponent([8, 16, 32], [5, 5, 5]) == pytest.approx(0)
    assert np.isnan(growth.exponent([1, 2], [0, 1]))


def test_the_size_of_a_curve_is_the_only_thing_that_grows(tmp_path):
    small, large = (
        growth.Curve(name="length", sizes=(4, 8)).job(n, "dbse", tmp_path) for n in (4, 8)
    )
    assert [np.load(job["file"]).shape for job in (small, large)] == [
        (128, 4, 3, 64, 64),
        (128, 8, 3, 64, 64),
    ]
    differ = {key for key in small if small[key] != large[key]}
    assert differ == {"length", "file"}


def test_the_example_of_an_adapter_trains_and_encodes():
    built = load_baseline(str(EXAMPLE), TOLD)
    assert built is not None
    x = torch.rand(3, 4, 3, 32, 32)
    before = built.encode(x)
    call(built, "train_step", x)
    assert before.shape == (3, 4, 7)
    assert not torch.equal(before, built.encode(x))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "there is no .*adapter.py"),
        ("import nothing_like_it", "cannot be imported: ModuleNotFoundError"),
        ("x = 1", r"must define build\(spec: dict\)"),
        ("def build(spec): raise KeyError('depth')", r"build\(.*failed: KeyError: 'depth'"),
        ("def build(spec): return 3", r"must have train_step\(x\)"),
        (
            "class A:\n def train_step(self, x): ...\n def encode(self, x): ...\n"
            "def build(spec): return A()",
            "must have a name",
        ),
    ],
)
def test_a_bad_adapter_is_told_what_is_wrong(tmp_path, monkeypatch, text, sentence):
    monkeypatch.setattr(sys, "path", list(sys.path))
    if text is not None:
        (tmp_path / "adapter.py").write_text(text)
    with pytest.raises(ValueError, match=sentence):
        load_baseline(str(tmp_path), TOLD)


def test_an_adapter_may_have_nothing_to_time(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "adapter.py").write_text("def build(spec): return None")
    assert load_baseline(str(tmp_path), TOLD) is None


def test_a_bad_adapter_ends_the_run_with_code_2_before_anything_is_measured(tmp_path, capsys):
    (tmp_path / "adapter.py").write_text(
        "class A:\n name = 'a'\n def train_step(self, x): print('hi'); raise OSError('full')\n"
        " def encode(self, x): ...\n"
        "def build(spec): return A()"
    )
    assert run.main(["--baseline", str(tmp_path), "--out", str(tmp_path / "b.json")]) == 2
    shown = capsys.readouterr()
    assert shown.err == "Error: a: train_step(x) failed: OSError: full\n"
    assert shown.out == ""


def test_training_is_timed_in_turns_in_processes_of_their_own(tmp_path):
    job = {
        "kind": "train",
        "method": "dbse",
        "preset": "sprites/fast",
        "file": str(growth.make_sequences(tmp_path, "video", 8, 2)),
        "training": {"batch_size": 4},
        "settings": {"net": {"channels": [4, 4], "hidden": 8}, "static_dim": 4, "dynamic_dim": 4},
    }
    worker = Worker(job)
    with Team(worker) as team:
        team.measure(seconds=0.0, rounds=(2, 2))
    assert [turn["sequences"] for turn in worker.turns] == [4 * worker.times] * 2
    assert 0 <= worker.waiting < 1
    assert worker.sequences_per_second > 0
    assert worker.peak >= worker.floor > 0
    assert not Path(worker.scratch.name).exists()


def test_a_job_is_counted_with_its_own_sizes():
    job = {"method": "dbse", "preset": "sprites/fast", "training": {"batch_size": 2}, "length": 2}
    row = flops.count_job(job)
    assert (row["batch"], row["static_dim"]) == (2, 256)
    assert 0 < row["recurrent"] < row["gflop"]


def test_starting_up_loads_no_torch():
    assert [row["loads torch"] for row in start_up(1)] == [False, False, False]


def test_a_table_shows_shares_in_percent_and_leaves_blanks():
    rows = [{"method": "dbse", "waiting": 0.0123}, {"method": "spyl", "waiting": None}]
    assert markdown(rows).splitlines() == [
        "| method | waiting |",
        "| --- | --- |",
        "| dbse | 1.2% |",
        "| spyl |  |",
    ]


def test_encoding_is_measured_in_a_process_of_its_own(tmp_path):
    (row,) = encode.table([130], tmp_path, formats=["npz"])
    assert (row["sequences"], row["format"], row["devices"]) == (130, ".npz", 1)
    assert row["peak_mb"] > 0
    assert row["sequences_per_second"] > 0
