"""Data frames and data sets in memory, in long form or with lists in their cells."""

import numpy as np
import pandas as pd
import pytest

import unbraid
from unbraid.data.readers.own import read_own
from unbraid.data.readers.tables.frames import from_dataset, from_frame


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))


class _Dataset:
    """What is used of `datasets.Dataset`."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame
        self.column_names = list(frame.columns)

    def to_pandas(self) -> pd.DataFrame:
        return self.frame


class _Stream:
    """What is used of `datasets.IterableDataset`."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame
        self.column_names = list(frame.columns)

    def __iter__(self):
        return iter(self.frame.to_dict("records"))


def _long(sequences: int = 10, rows: int = 6) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "id": np.repeat(np.arange(sequences), rows),
            "t": np.tile(np.arange(rows), sequences),
            "a": rng.normal(size=sequences * rows),
            "b": rng.normal(size=sequences * rows),
        }
    )


def _of_arrays(rows: np.ndarray) -> np.ndarray:
    cell = np.empty(len(rows), dtype=object)
    cell[:] = list(rows)
    return cell


def _nested(sequences: int = 10) -> pd.DataFrame:
    """One row per sequence of 4 to 6 steps, as `to_pandas` of a data set gives it."""
    rng = np.random.default_rng(0)
    steps = 4 + np.arange(sequences) % 3
    return pd.DataFrame(
        {
            "x": [_of_arrays(rng.normal(size=(n, 2))) for n in steps],
            "state": [np.arange(n) % 3 for n in steps],
            "label": np.arange(sequences) % 2,
        }
    )


def _sizes(corpus) -> tuple[int, ...]:
    return tuple(len(corpus.split(part)) for part in ("train", "validation", "test"))


def test_both_are_public_names():
    assert unbraid.from_frame is from_frame
    assert unbraid.from_dataset is from_dataset


def test_a_data_frame_is_a_corpus():
    corpus = from_frame(_long(), name="mine", options={"window": 2})
    assert _sizes(corpus) == (8, 1, 1)
    assert corpus.spec.name == "mine"
    assert corpus.spec.frame == (2, 2)
    train = corpus.train.x[corpus.train.rows].reshape(-1, 2).astype(np.float64)
    assert corpus.spec.offset == pytest.approx(train.mean(0), abs=1e-6)  # of training alone
    assert corpus.spec.scale == pytest.approx(train.std(0), rel=1e-6)
    batch = corpus.train.take(slice(None))
    assert batch.x.mean().item() == pytest.approx(0, abs=1e-6)


def test_the_data_frame_is_not_changed():
    frame = _long()
    from_frame(frame)
    pd.testing.assert_frame_equal(frame, _long())


@pytest.mark.parametrize("how", ["id", "both", "dates", "dates without a name"])
def test_an_index_is_a_column(how):
    frame = _long()
    if how == "id":
        frame = frame.set_index("id")
    elif how == "both":
        frame = frame.set_index(["id", "t"])
    else:
        frame.index = pd.Timestamp("2020-01-01") + pd.to_timedelta(frame.pop("t"), "h")
        frame.index.name = "when" if how == "dates" else None
    options = {"time": "when"} if how == "dates" else {}
    corpus = from_frame(frame.sample(frac=1, random_state=0).sort_index(), options=options)
    assert corpus.train.x.shape == (10, 6, 1, 2)
    first = corpus.train.x[corpus.train.labels["name"] == "0"]
    assert np.allclose(first[0, :, 0], _long()[["a", "b"]][:6], atol=1e-6) or how == "id"
    assert corpus.spec.channels == ("a", "b")


def test_what_can_become_a_data_frame_is_one():
    assert _sizes(from_frame(_Dataset(_long()))) == (8, 1, 1)
    with pytest.raises(ValueError, match="a data frame or data set is wanted, got list"):
        from_frame([1, 2])
    with pytest.raises(ValueError, match="frame holds no rows"):
        from_frame(_long()[:0])


@pytest.mark.parametrize("columns", [["a", "a", "b"], [0, 1, 2]])
def test_columns_need_names(columns):
    with pytest.raises(ValueError, match="every column needs a name of its own, got"):
        from_frame(pd.DataFrame(np.zeros((9, 3)), columns=columns))


@pytest.mark.parametrize("dtype", ["Float32", "Int64", "float32[pyarrow]", "bool", "object"])
def test_numbers_come_in_many_types(dtype):
    frame = _long()
    frame["a"] = pd.Series([0, 1] * 30).astype(dtype)
    if dtype != "bool":
        frame.loc[0, "a"] = None
    corpus = from_frame(frame, options={"window": 1})
    assert corpus.spec.channels == ("a", "b")
    assert corpus.train.x[0, :, 0, 0].tolist() == [0, 1] * 3
    assert corpus.spec.missing == (dtype != "bool")


def test_values_beyond_float32_and_infinite_ones_are_unknown():
    frame = _long()
    frame.loc[[0, 1, 2], "a"] = [1e300, np.inf, -np.inf]
    corpus = from_frame(frame, options={"window": 1})
    assert corpus.train.observed[0, :, 0, 0].tolist() == [False] * 3 + [True] * 3


def test_lists_in_cells_are_sequences():
    frame = _nested()
    corpus = from_frame(frame, options={"window": 1})
    assert corpus.train.x.shape == (10, 6, 1, 2)
    assert corpus.train.lengths.tolist() == [4, 5, 6] * 3 + [4]
    assert corpus.spec.channels == ("x0", "x1")
    for row, cell in enumerate(frame["x"]):
        assert np.allclose(corpus.train.x[row, : len(cell), 0], np.stack(cell), atol=1e-6)
    assert corpus.train.labels["label"].tolist() == [0, 1] * 5
    assert corpus.train.labels["state"][0].tolist() == [0, 1, 2, 0, -1, -1]
    assert [f.name for f in corpus.spec.static] == ["label"]
    assert [f.name for f in corpus.spec.dynamic] == ["state"]


def test_lists_are_the_same_in_long_form():
    frame = _nested()
    long = pd.DataFrame(
        {"id": row, "a": float(step[0]), "b": float(step[1])}
        for row, cell in enumerate(frame["x"])
        for step in cell
    )
    corpora = [from_frame(frame, options={"window": 2}), from_frame(long, options={"window": 2})]
    assert np.array_equal(corpora[0].train.x, corpora[1].train.x)
    assert np.array_equal(corpora[0].train.observed, corpora[1].train.observed)
    assert np.array_equal(corpora[0].train.rows, corpora[1].train.rows)


def test_one_series_per_cell_with_a_name_and_a_start():
    frame = pd.DataFrame(
        {
            "start": pd.Timestamp("2020-01-01"),
            "target": [np.arange(20.0) + n for n in range(6)],
            "feat_static_cat": [[n] for n in range(6)],
            "item_id": [f"T{n}" for n in range(6)],
        }
    )
    corpus = from_frame(frame, options={"window": 1})
    assert corpus.spec.channels == ("target",)
    assert corpus.train.labels["name"].tolist() == [f"T{n}" for n in range(6)]
    assert corpus.spec.static == ()
    assert corpus.train.x[2, :, 0, 0].tolist() == [n + 2.0 for n in range(20)]


def test_lists_of_times_sort_and_lists_of_words_label():
    frame = pd.DataFrame(
        {
            "value": [[3.0, 1.0, 2.0]] * 4,
            "timestamp": [["2020-03-01", "2020-01-01", "2020-02-01"]] * 4,
            "state": [["c", "a", "b"]] * 4,
        }
    )
    corpus = from_frame(frame, options={"window": 1})
    assert corpus.train.x[0, :, 0, 0].tolist() == [1.0, 2.0, 3.0]
    assert corpus.train.labels["state"].tolist() == [[0, 1, 2]] * 4
    assert corpus.spec.channels == ("value",)


def test_columns_of_lists_can_be_chosen():
    frame = _nested().assign(y=lambda f: f["state"])
    options = {"window": 1, "values": ["y"], "labels": ["label"]}
    corpus = from_frame(frame, options=options)
    assert corpus.spec.channels == ("y",)
    assert [f.name for f in (*corpus.spec.static, *corpus.spec.dynamic)] == ["label"]
    only = from_frame(_nested(), options={"window": 1, "values": ["x1"]})
    assert only.spec.channels == ("x1",)
    assert only.train.x[0, 0, 0, 0] == pytest.approx(_nested()["x"][0][0][1])
    with pytest.raises(ValueError, match="values: column 'label' must hold lists, as 'x' does"):
        from_frame(_nested(), options={"values": ["label"]})
    with pytest.raises(KeyError, match="values: there is no column 'z'"):
        from_frame(_nested(), options={"values": ["z"]})


def test_lists_that_do_not_fit_are_refused_in_words():
    frame = _nested()
    frame.at[3, "state"] = np.arange(9)
    with pytest.raises(
        ValueError, match=r"'state' must have as many steps .* row 3 has 9 instead of 4"
    ):
        from_frame(frame)
    frame = _nested()
    frame.at[3, "x"] = [[1.0, 2.0], [3.0], [4.0, 5.0], [1.0, 2.0]]
    with pytest.raises(ValueError, match="'x' must hold lists of one width in all rows"):
        from_frame(frame)
    deep = pd.DataFrame({"x": [np.zeros((4, 2, 2)).tolist()] * 4})
    with pytest.raises(ValueError, match="'x' must hold T or T x F numbers, got 3 axes"):
        from_frame(deep)
    with pytest.raises(ValueError, match="no row has an entry in all its lists"):
        from_frame(pd.DataFrame({"x": [[1.0], []], "y": [[], [1.0]]}))


def test_an_empty_list_is_a_sequence_of_which_nothing_is_known():
    frame = _nested()
    frame.at[3, "x"], frame.at[3, "state"] = [], []
    corpus = from_frame(frame, options={"window": 1})
    assert corpus.train.x.shape == (9, 6, 1, 2)
    assert corpus.skipped == {"sequence 3": "no value is known"}


def test_a_parquet_file_may_hold_lists(tmp_path, monkeypatch):
    frame = _nested(1200).assign(x=lambda f: [[*map(list, cell)] for cell in f["x"]])
    frame.to_parquet(tmp_path / "t.parquet")
    monkeypatch.setattr("unbraid.data.readers.tables.files.PART", 1)  # 1,000 rows at a time
    collection = read_own(str(tmp_path / "t.parquet"), {"window": 1})
    assert np.array_equal(collection.x, from_frame(frame, options={"window": 1}).train.x)
    assert collection.labels["name"][[0, 1199]].tolist() == ["0", "1199"]
    pinned = read_own(str(tmp_path / "t.parquet"), {"window": 1, "values": ["x0", "x1"]})
    assert np.array_equal(collection.x, pinned.x)


@pytest.mark.parametrize("kind", [_Dataset, _Stream])
@pytest.mark.parametrize("table", [_long(), _nested()])
def test_a_data_set_is_a_corpus(kind, table):
    corpus = from_dataset(kind(table), name="hub", options={"window": 1})
    assert _sizes(corpus) == (8, 1, 1)
    assert corpus.spec.name == "hub"
    assert np.array_equal(corpus.train.x, from_frame(table, options={"window": 1}).train.x)


@pytest.mark.parametrize("table", [_long, _nested])
def test_the_tables_of_a_data_set_are_its_splits(table):
    dataset = {"train": _Dataset(table()), "valid": _Dataset(table(3)), "test": _Dataset(table(4))}
    corpus = from_dataset(dataset, options={"window": 1})
    assert _sizes(corpus) == (10, 3, 4)
    assert corpus.test.label("name").tolist() == [f"test/{n}" for n in range(4)]  # not those of 0
    assert "split" not in [factor.name for factor in corpus.spec.static]


def test_validation_is_cut_from_training_if_a_data_set_has_none():
    corpus = from_dataset({"train": _Dataset(_long()), "test": _Dataset(_long(4))})
    assert _sizes(corpus) == (9, 1, 4)
    assert _sizes(from_dataset({"train": _Dataset(_long())})) == (8, 1, 1)


def test_recordings_of_a_data_set_are_cut_within_its_splits():
    table = _long(1, 60).drop(columns="id")
    dataset = {"train": _Dataset(table), "test": _Dataset(table[:20])}
    corpus = from_dataset(dataset, options={"piece": 10, "window": 1})
    assert _sizes(corpus) == (5, 1, 2)
    assert corpus.test.label("name").tolist() == ["test, piece 0", "test, piece 1"]
    assert corpus.spec.pieces  # though no two of them share a name


def test_splits_of_other_names_are_refused():
    with pytest.raises(
        ValueError, match="must be called train, validation and test, got all, 2020"
    ):
        from_dataset({"all": _Dataset(_long()), "2020": _Dataset(_long())})
    with pytest.raises(ValueError, match="got none"):
        from_dataset({})


def test_the_library_datasets_has_this_interface():
    datasets = pytest.importorskip("datasets")
    nested = _nested().assign(x=lambda f: [[*map(list, cell)] for cell in f["x"]])
    for table in (_long(), nested):
        real = datasets.Dataset.from_pandas(table)
        wanted = from_frame(table, options={"window": 1}).train
        for dataset in (real, real.with_format("numpy"), real.to_iterable_dataset()):
            assert np.array_equal(from_dataset(dataset, options={"window": 1}).train.x, wanted.x)
        both = datasets.DatasetDict({"train": real, "test": real.select(range(3))})
        assert from_dataset(both, options={"window": 1}).train.labels["name"][0] == "train/0"
