"""Codes as Parquet tables, read with pandas as anybody would."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from unbraid.evaluation.manipulate import embed
from unbraid.runs.run import open_run
from unbraid.workflows.export import EncodeConfig, encode, tables
from unbraid.workflows.export.use import Source

TWO = EncodeConfig(batch_size=2)
X = np.random.default_rng(0).normal(size=(4, 5, 4, 6)).astype(np.float32)


@pytest.fixture(autouse=True)
def small_groups(monkeypatch):
    monkeypatch.setattr(tables, "GROUP_BYTES", 200)  # several parts, several row groups


def encoded(run: Path, folder: Path, **arrays: np.ndarray) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return both tables of the test split, or of arrays."""
    source = Source()
    if arrays:
        np.savez(folder / "mine.npz", **arrays)
        source = Source(file=str(folder / "mine.npz"))
    paths = encode(run, source, folder / "codes.parquet", config=TWO)
    assert paths == (folder / "codes.parquet", folder / "codes.d.parquet")
    first, second = map(pd.read_parquet, paths)
    return first, second


def test_one_row_per_sequence_with_id_split_length_labels_and_s(run, tmp_path):
    table, _ = encoded(run, tmp_path)
    split = open_run(run).corpus().test
    codes = embed(open_run(run).model(), split, batch_size=2)
    assert table.columns.tolist() == [
        "id",
        "split",
        "length",
        "machine",
        "load",
        "regime",
        "s_0",
        "s_1",
        "s_2",
        "s_3",
    ]
    assert table.id.tolist() == split.rows.tolist()
    assert set(table.split) == {"test"}
    assert table.length.tolist() == split.lengths[split.rows].tolist()
    assert table.filter(regex="^s_").dtypes.eq("float32").all()
    assert np.array_equal(table.filter(regex="^s_"), codes.s)
    assert table.regime.tolist() == split.label("regime").tolist()


def test_one_row_per_step_that_is_there_with_its_labels_and_d(run, tmp_path):
    table, steps = encoded(run, tmp_path)
    split = open_run(run).corpus().test
    codes = embed(open_run(run).model(), split, batch_size=2)
    assert steps.columns.tolist() == ["id", "step", "state", "d_0", "d_1", "d_2"]
    assert len(steps) == codes.mask.sum() < codes.mask.size  # padding has no rows
    assert np.array_equal(steps.filter(regex="^d_"), codes.d[codes.mask])
    last = steps.groupby("id").step.max() + 1
    assert last.to_dict() == table.set_index("id").length.to_dict()
    assert np.array_equal(steps.state.cat.codes, split.label("state")[codes.mask])


def test_labels_are_words_whose_codes_are_the_class_numbers(run, tmp_path):
    table, _ = encoded(run, tmp_path)
    split = open_run(run).corpus().test
    assert table.machine.cat.categories.tolist() == ["pump", "fan", "press", "mill"]
    assert np.array_equal(table.machine.cat.codes, split.label("machine"))


def test_own_files_keep_their_own_classes_and_unknown_ones_are_empty(run, tmp_path):
    """The model was trained with pump, fan, press and mill, numbered in that order."""
    table, _ = encoded(run, tmp_path, x=X, machine=np.array(["mill", "", "drill", "mill"]))
    assert table.machine.isna().tolist() == [False, True, False, False]
    assert table.machine.dropna().tolist() == ["mill", "drill", "mill"]
    assert set(table.split) == {"input"}
    assert table.id.tolist() == [0, 1, 2, 3]


def test_names_and_splits_of_own_files_are_kept(run, tmp_path):
    names, splits = ["a", "b", "c", "d"], ["train", "test", "train", "validation"]
    table, _ = encoded(run, tmp_path, x=X, name=np.array(names), split=np.array(splits))
    assert table.name.tolist() == names
    assert table.split.tolist() == splits


def test_a_label_whose_name_is_taken_gets_another_one(run, tmp_path):
    ages = np.array([0.5, 1.5, 2.5, 3.5])
    steps_of = np.tile(np.arange(5), (4, 1))
    table, steps = encoded(run, tmp_path, x=X, id=ages, s_0=ages, step=steps_of)
    assert table.label_id.tolist() == table.label_s_0.tolist() == ages.tolist()
    assert table.id.tolist() == [0, 1, 2, 3]
    assert steps.label_step.tolist() == steps_of.ravel().tolist()


def test_large_row_groups_hold_the_same_rows(run, tmp_path, monkeypatch):
    small = encoded(run, tmp_path)
    monkeypatch.setattr(tables, "GROUP_BYTES", 10**6)
    for before, after in zip(small, encoded(run, tmp_path), strict=True):
        pd.testing.assert_frame_equal(before, after)


def test_without_pyarrow_a_sentence_says_what_to_install(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ValueError, match=r'pip install "unbraid\[tables\]"'):
        encode(run, Source(), tmp_path / "codes.parquet")
    assert list(tmp_path.iterdir()) == []
