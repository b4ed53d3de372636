"""The examination finds what was broken on purpose, says what to do, and lets sound data pass."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unbraid
from unbraid.data.readers.arrays import from_arrays
from unbraid.workflows.check.checks import Finding
from unbraid.workflows.check.examination import Examination, check_data
from unbraid.workflows.check.terminal import screen, verdict

RNG = np.random.default_rng(0)
SMALL = {"train": 120, "validation": 10, "test": 20}


def _messages(examination: Examination, level: str) -> str:
    return "\n".join(f"{f.what} {f.do}" for f in examination.findings if f.level == level)


def _on_screen(examination: Examination) -> str:
    from rich.console import Console

    console = Console(width=140, force_terminal=False)
    with console.capture() as capture:
        for part in (*screen(examination), verdict(examination)):
            console.print(part, markup=False, highlight=False)
    return capture.get()


def _series(count: int = 200, **labels: Any) -> dict[str, np.ndarray]:
    return {"x": RNG.normal(size=(count, 8, 3)).astype(np.float32), **labels}


def _saved(path: Path, arrays: dict[str, np.ndarray]) -> str:
    np.savez(path / "mine.npz", **arrays)
    return str(path / "mine.npz")


def test_an_embedded_set_is_ready_and_the_command_trains_as_it_was_looked_at():
    examination = check_data("toy-series", SMALL)
    assert examination.ready
    assert examination.findings == ()
    assert examination.command == (
        "unbraid fit toy-series --set data.train=120 --set data.validation=10 --set data.test=20"
    )
    assert {plan.preset for plan in examination.methods} == {"recommended/series"}
    budgets = {plan.method: plan.budget for plan in examination.methods}
    assert budgets.pop("mocogan") == "50 epochs of 40 steps"
    assert set(budgets.values()) == {"200 epochs of 40 steps"}
    assert examination.settings["window"] == 4
    text = _on_screen(examination)
    assert "20 steps x 4 rows x 6 channels" in text
    assert "temperature" in text
    assert text.rstrip().endswith("--set data.test=20")


def test_the_public_name_is_the_same_function():
    assert unbraid.check_data is check_data


def test_an_examination_is_plain_json():
    table = json.loads(json.dumps(asdict(check_data("toy-series", SMALL)), allow_nan=False))
    assert table["ready"] is True
    assert table["contents"]["parts"]["train"]["sequences"] == 120
    assert table["contents"]["labels"][0]["name"] == "machine"
    assert table["methods"][0]["method"] == "dsvae"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("toy-spites", "Did you mean 'toy-sprites'?"),
        ("nowhere/mine.npz", "there is no file or folder nowhere/mine.npz"),
    ],
)
def test_what_cannot_be_loaded_is_a_finding(name, sentence):
    examination = check_data(name)
    assert not examination.ready
    assert examination.command == ""
    assert sentence in _messages(examination, "problem")
    assert f"not ready: {name}" in _on_screen(examination)


def test_a_wrong_setting_is_a_finding():
    assert "Did you mean 'train'?" in _messages(check_data("toy-series", {"trian": 5}), "problem")


def test_frames_that_no_net_can_halve_are_a_problem(tmp_path):
    x = RNG.integers(0, 256, (120, 4, 3, 20, 20)).astype(np.uint8)
    examination = check_data(_saved(tmp_path, {"x": x}))
    assert not examination.ready
    assert "Resize to multiples of 16" in _messages(examination, "problem")
    assert all(plan.refusal for plan in examination.methods)


def test_data_that_were_left_dark_are_warned_of(tmp_path):
    x = RNG.integers(0, 2, (120, 4, 1, 16, 16)).astype(np.uint8)
    examination = check_data(_saved(tmp_path, {"x": x}))
    assert examination.ready
    assert "0.4 % of white" in _messages(examination, "warning")
    assert "Multiply by 255" in _messages(examination, "warning")


def test_one_step_is_nothing_that_moves(tmp_path):
    arrays = {"x": RNG.normal(size=(120, 1, 3))}
    assert "nothing that moves" in _messages(check_data(_saved(tmp_path, arrays)), "problem")


def test_patients_in_training_and_test_are_warned_of_until_they_are_kept_together(tmp_path):
    path = _saved(tmp_path, _series(patient=np.array([f"p{i % 20}" for i in range(200)])))
    examination = check_data(path)
    assert examination.ready
    assert "values of 'patient' in test are in training" in _messages(examination, "warning")
    assert "--set data.split.by=patient" in _messages(examination, "warning")
    examination = check_data(path, {"split": {"by": "patient"}})
    assert _messages(examination, "warning") == ""
    assert "No value of patient is both in training and in test." in _on_screen(examination)
    assert "data.split.by=patient" in examination.command


def test_duplicates_across_splits_come_before_lesser_warnings(tmp_path):
    arrays = _series(60, split=np.array(["train"] * 40 + ["validation"] * 10 + ["test"] * 10))
    arrays["x"][59] = arrays["x"][3]
    examination = check_data(_saved(tmp_path, arrays))
    warnings = [f.what for f in examination.findings if f.level == "warning"]
    assert warnings[0].startswith("test sequences that are in train, too, byte for byte: 1 (")
    assert "test 9 = train 3" in warnings[0]
    assert warnings[-1].startswith("only 40 sequences to train on")


def test_dead_channels_and_outliers_are_named(tmp_path):
    arrays = _series(400)
    arrays["x"][..., 1] = 4.0
    arrays["x"][..., 2] = np.nan
    arrays["x"][5, 5, 0] = 1e5
    text = _messages(check_data(_saved(tmp_path, arrays), {"split": {"seed": 1}}), "warning")
    assert "channel 1: the same value throughout training" in text
    assert "channel 2: no value is known in training" in text
    assert "values beyond 20 standard deviations from the mean: 1" in text
    arrays["x"][..., 0] = 1.0
    examination = check_data(_saved(tmp_path, arrays))
    assert not examination.ready
    assert "there is nothing to learn" in _messages(examination, "problem")


def test_what_is_not_finite_is_a_problem():
    corpus = from_arrays(_series()["x"])
    x = np.array(corpus.train.x)
    x[corpus.train.rows[0], 0, 0, 0] = np.nan
    examination = check_data(replace(corpus, train=replace(corpus.train, x=x)))
    assert not examination.ready
    assert "values that are NaN or infinite: 1." in _messages(examination, "problem")


def test_labels_are_looked_at(tmp_path):
    odd = np.zeros(200, dtype=int)
    odd[:3] = 1
    text = _messages(
        check_data(_saved(tmp_path, _series(rare=odd, same=np.zeros(200, int)))), "note"
    )
    assert "'rare': 98 % of training has one value" in text or "'rare': 99 %" in text
    assert "'same' has one value only" in text
    assert "no labels of factors" in _messages(check_data(_saved(tmp_path, _series())), "note")


def test_skipped_files_are_named_with_the_reason_twenty_on_screen():
    corpus = from_arrays(_series()["x"])
    skipped = {f"clip{i:02d}.mp4": "no frame could be decoded" for i in range(30)}
    examination = check_data(replace(corpus, skipped=skipped))
    text = _on_screen(examination)
    assert "30 not used (the first 20; --json lists all)" in text
    assert "clip19.mp4: no frame could be decoded" in text
    assert "clip20.mp4" not in text
    assert examination.contents is not None
    assert len(examination.contents.skipped) == 30
    assert "not used: 30 of the files" in _messages(examination, "warning")


def _wards(folder: Path, repeats: int = 1) -> str:
    """Write a table of 120 patients, 6 rows each, whose outcome and ward never change."""
    lines = ["patient,time,pulse,pressure,died,ward"]
    for patient in range(120):
        for time in range(6):
            died, ward = patient % 2, "AB"[patient % 3 == 0]
            pulse, pressure = RNG.normal(size=2)
            row = f"p{patient},{time},{pulse:.3f},{pressure:.3f},{died},{ward}"
            lines += [row] * (repeats if time == 0 else 1)
    path = folder / "wards.csv"
    path.write_text("\n".join(lines))
    return str(path)


def test_the_columns_of_a_table_are_named_and_whether_they_were_guessed(tmp_path):
    wards = _wards(tmp_path)
    assert "Columns: sequence: patient (guessed); time: time (guessed)." in _on_screen(
        check_data(wards)
    )
    examination = check_data(wards, {"time": "none", "sequence": "patient"})
    assert "sequence: patient; time: none, rows as they come." in _on_screen(examination)
    assert examination.contents is not None
    assert examination.contents.columns == {"sequence": "patient", "time": ""}


def test_an_outcome_among_the_inputs_is_warned_of(tmp_path):
    wards = _wards(tmp_path)
    warnings = _messages(check_data(wards), "warning")
    assert "died: one value per sequence, and an input of the model." in warnings
    assert """--set 'data.labels=["died"]'""" in warnings
    assert "one value per sequence" not in _messages(
        check_data(wards, {"labels": ["died"]}), "warning"
    )


def test_columns_and_rows_are_not_called_broken_files(tmp_path):
    examination = check_data(_wards(tmp_path, repeats=2), {"labels": ["died"]})
    notes, warnings = (_messages(examination, level) for level in ("note", "warning"))
    assert "not used: column ward." in notes
    assert """--set 'data.labels=["died","ward"]'""" in notes
    assert "repeated rows: 120 with the sequence and time of another row: averaged." in warnings
    assert "files or records" not in notes + warnings


@pytest.mark.parametrize(
    ("by", "sentence"),
    [
        ("patient", "the rows of one patient are in one split already"),
        ("ward", "'ward' is a column but no label: add it to data.labels"),
        ("died", "'died' is a column but no label: add it to data.labels"),
        ("wart", "there is no label 'wart'"),
    ],
)
def test_a_split_by_a_column_that_is_no_label_is_explained(tmp_path, by, sentence):
    examination = check_data(_wards(tmp_path), {"split": {"by": by}})
    assert sentence in _messages(examination, "problem")


def test_few_speakers_in_training_and_test_are_warned_of(tmp_path):
    speaker = np.array([f"voice{i % 4}" for i in range(200)])
    examination = check_data(_saved(tmp_path, _series(speaker=speaker, phase=speaker)))
    warnings = _messages(examination, "warning")
    assert "4 of 4 values of 'speaker' in test are in training, too" in warnings
    assert "'phase'" not in warnings


def test_a_stand_in_is_labelled():
    corpus = from_arrays(_series()["x"])
    spec = replace(corpus.spec, stand_in="TIMIT")
    examination = check_data(replace(corpus, spec=spec))
    assert "stand in for TIMIT" in _messages(examination, "note")
    assert "stands in for TIMIT" in _on_screen(examination)


def test_findings_are_numbered_with_what_to_do_below():
    finding = Finding("problem", "it is broken.", "Mend it.")
    examination = Examination(data="mine", ready=False, settings={}, findings=(finding,))
    lines = [line.rstrip() for line in _on_screen(examination).splitlines()]
    assert lines[:2] == ["1. problem: it is broken.", "   Mend it."]
