import csv

import numpy as np
import pytest

import unbraid
from unbraid.data.readers.arrays import from_arrays
from unbraid.runs.splits import check_splits, split_facts, write_splits

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 8, 3)).astype(np.float32)


def _corpus(seed=0, **labels):
    return from_arrays(X, labels=labels, options={"window": 2, "split": {"seed": seed}})


def test_every_sequence_is_listed_once_with_its_split_and_name(tmp_path):
    names = np.array([f"file {i}" for i in range(40)])
    corpus = _corpus(name=names)
    write_splits(corpus, tmp_path / "splits.csv")
    with (tmp_path / "splits.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert sorted(int(row["row"]) for row in rows) == list(range(40))
    assert all(row["name"] == f"file {row['row']}" for row in rows)
    assert [row["split"] for row in rows].count("test") == len(corpus.test)


def test_other_rows_are_noticed(tmp_path):
    facts = split_facts(_corpus())
    check_splits(_corpus(), facts, tmp_path)
    check_splits(_corpus(seed=1), {}, tmp_path)  # runs of before had no facts
    with pytest.raises(ValueError, match=r"data have changed since .* train split had 32"):
        check_splits(_corpus(seed=1), facts, tmp_path)


def test_another_file_in_the_same_row_is_noticed(tmp_path):
    names = np.array([f"file {i}" for i in range(40)])
    facts = split_facts(_corpus(name=names))
    with pytest.raises(ValueError, match="data have changed"):
        check_splits(_corpus(name=names[::-1]), facts, tmp_path)


def test_a_run_keeps_its_splits_and_refuses_changed_data(tmp_path):
    np.savez(tmp_path / "mine.npz", x=X)
    settings = {"training": {"steps": 2}, "data": {"window": 2}}
    run = unbraid.fit(str(tmp_path / "mine.npz"), "dsvae", settings=settings, out=tmp_path / "runs")
    assert len((run.path / "splits.csv").read_text().splitlines()) == 41
    assert 0 <= run.about["training"]["waiting"] < 1
    assert len(run.corpus().test) == 4
    np.savez(tmp_path / "mine.npz", x=X[:30])
    with pytest.raises(ValueError, match="data have changed"):
        run.corpus()
