"""How rows of a table become sequences: sorted, averaged, cut, labelled."""

import numpy as np
import pandas as pd
import pytest

from unbraid.data.readers.tables import fill as table_fill
from unbraid.data.readers.tables.fill import label_values
from unbraid.data.readers.tables.frames import Config, _from_memory, _in_memory, from_frame
from unbraid.settings import build


def _collect(frame: pd.DataFrame, **options):
    config = build(Config, options, where="test")
    return _from_memory([_in_memory("test", frame)], "test", config)


def _table(sequences: int = 4, rows: int = 6, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    count = sequences * rows
    return pd.DataFrame(
        {
            "id": np.repeat(np.arange(sequences), rows),
            "t": np.tile(np.arange(rows), sequences),
            "a": rng.normal(size=count),
            "b": rng.normal(size=count),
        }
    )


def _rows(collection) -> tuple[np.ndarray, np.ndarray]:
    """Values and which of them are known, (N, rows, channels)."""
    x = np.asarray(collection.x)
    known = np.ones(x.shape, dtype=bool) if collection.observed is None else collection.observed
    shape = (len(x), -1, x.shape[-1])
    return x.reshape(shape), np.asarray(known).reshape(shape)


def test_rows_come_in_the_order_of_time_whatever_their_order_in_the_table():
    frame = _table()
    shuffled = frame.sample(frac=1, random_state=0)
    x, known = _rows(_collect(shuffled, window=1))
    order = shuffled["id"].unique()  # sequences as they first appear
    assert np.allclose(x, frame[["a", "b"]].to_numpy().reshape(4, 6, 2)[order], atol=1e-6)
    assert known.all()


def _reference(frame: pd.DataFrame, piece: int, length: int, every: float) -> dict:
    """Plain loops: (id, piece) -> row -> channel -> list of known values; and rows of each."""
    cells: dict = {}
    for name in frame["id"].dropna().unique():
        part = frame[(frame["id"] == name) & frame["t"].notna()]
        times = sorted(set(part["t"]))
        first = min(times) // every if every else 0
        for _, row in part.iterrows():
            place = int(row["t"] // every - first) if every else times.index(row["t"])
            if length and place >= length:
                continue
            number = place // piece if piece else 0
            sequence = cells.setdefault((name, number), {})
            cell = sequence.setdefault(place - number * piece, ([], []))
            for channel, column in enumerate("ab"):
                if np.isfinite(row[column]):
                    cell[channel].append(row[column])
    last = {name: max(n for other, n in cells if other == name) for name, _ in cells}
    sequences = {}
    for (name, number), rows in cells.items():
        size = max(rows) + 1 if number == last[name] else piece
        too_short = number == last[name] > 0 and 2 * size < piece
        if not too_short and any(values for row in rows.values() for values in row):
            sequences[name, number] = (size, rows)
    return sequences


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("piece", "length", "every"), [(0, 0, 0.0), (3, 0, 0.0), (4, 7, 0.0), (0, 0, 2.5), (3, 8, 1.5)]
)
def test_random_tables_agree_with_plain_loops(seed, piece, length, every):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"]).astype(np.float32)
    frame = frame.mask(rng.random((60, 2)) < 0.2)
    frame["id"] = rng.choice(["x", "y", "z", "w", None], 60, p=[0.4, 0.2, 0.2, 0.15, 0.05])
    frame["t"] = np.where(rng.random(60) < 0.05, np.nan, rng.integers(0, 30, 60))  # repeats
    wanted = _reference(frame, piece, length, every)
    options = {"piece": piece, "length": length, "window": 2, "sequence": "id", "time": "t"}
    collected = _collect(frame, every=str(every) if every else "", **options)
    x, known = _rows(collected)
    order = [(name, n) for name in frame["id"].dropna().unique() for n in range(30)]
    order = [key for key in order if key in wanted]
    assert collected.labels["name"].tolist() == [name for name, _ in order]
    for row, key in enumerate(order):
        size, cells = wanted[key]
        steps = x.shape[1] // 2 if collected.lengths is None else collected.lengths[row]
        assert steps == -(-size // 2)
        for place in range(x.shape[1]):
            for channel in range(2):
                values = cells.get(place, ([], []))[channel]
                assert known[row, place, channel] == bool(values)
                if values:
                    assert x[row, place, channel] == pytest.approx(np.mean(values), abs=1e-5)


def test_a_full_table_has_neither_lengths_nor_missing_values():
    collection = _collect(_table(), window=3)
    assert collection.x.shape == (4, 2, 3, 2)
    assert collection.lengths is None
    assert collection.observed is None
    assert collection.channels == ("a", "b")
    assert collection.rate == 3.0


def test_without_a_window_there_are_about_20_steps():
    assert _collect(_table(rows=100)).x.shape == (4, 20, 5, 2)
    assert _collect(_table(rows=8)).x.shape == (4, 8, 1, 2)


def test_unequal_lengths_are_padded_with_unknown():
    collection = _collect(_table().drop(index=[4, 5]), window=4)
    assert collection.x.shape == (4, 2, 4, 2)
    assert collection.lengths.tolist() == [1, 2, 2, 2]
    assert collection.observed[0, 1].any() == np.False_
    assert collection.observed[1, 1, :, 0].tolist() == [True, True, False, False]


def test_what_was_joined_or_left_out_is_counted():
    frame = pd.concat([_table(), _table()[:2]])  # two rows come twice
    frame = pd.concat(
        [frame, pd.DataFrame({"id": [None, 1], "t": [0, np.nan], "a": 1.0, "b": 1.0})]
    )
    assert dict(_collect(frame).skipped) == {
        "rows without a sequence": "1 of 28 rows",
        "rows without a time": "1 of 28 rows",
        "repeated rows": "2 with the sequence and time of another row: averaged",
    }


def test_a_sequence_of_which_nothing_is_known_is_named():
    frame = _table()
    frame.loc[frame["id"] == 2, ["a", "b"]] = [np.nan, np.inf]
    collection = _collect(frame)
    assert collection.labels["name"].tolist() == ["0", "1", "3"]
    assert collection.skipped == {"sequence 2": "no value is known"}
    with pytest.raises(ValueError, match="no value is known in any of 4 sequences"):
        _collect(frame.assign(a=np.nan, b=np.nan))


def test_pieces_of_a_sequence_stay_in_one_split():
    corpus = from_frame(_table(sequences=20, rows=12), options={"piece": 4, "window": 2})
    names = [set(corpus.split(part).label("name")) for part in ("train", "validation", "test")]
    assert [len(corpus.split(part)) for part in ("train", "validation", "test")] == [48, 6, 6]
    assert not names[0] & names[1] | names[0] & names[2] | names[1] & names[2]


def test_pieces_of_one_recording_are_dealt_one_by_one():
    frame = _table(sequences=1, rows=100).drop(columns="id")
    corpus = from_frame(frame, name="run", options={"piece": 10, "window": 5})
    assert (len(corpus.train), len(corpus.validation), len(corpus.test)) == (8, 1, 1)
    assert corpus.train.labels["name"][3] == "run, piece 3"


def test_one_recording_that_is_not_cut_cannot_be_dealt():
    with pytest.raises(ValueError, match=r"three sequences at least, got 1\..*`piece`"):
        from_frame(_table(sequences=1, rows=100).drop(columns="id"))


def test_an_end_shorter_than_half_a_piece_is_left_out_and_counted():
    collection = _collect(_table(rows=9), piece=4)
    assert len(collection) == 8
    assert collection.skipped["ends of sequences"] == (
        "4 that are shorter than half a piece, 4 rows in all"
    )
    longer = _collect(_table(rows=10), piece=4)
    assert len(longer) == 12
    assert longer.lengths.tolist() == [4, 4, 2] * 4


def test_the_first_rows_of_a_sequence_are_kept():
    x, _ = _rows(_collect(_table(), length=4, window=1))
    assert np.allclose(x, _table()[["a", "b"]].to_numpy().reshape(4, 6, 2)[:, :4], atol=1e-6)


def test_a_grid_has_the_mean_of_every_bin_and_gaps_are_unknown():
    times = ["2020-01-01 00:10", "2020-01-01 00:50", "2020-01-01 03:00"]
    frame = pd.DataFrame({"id": "x", "time": times, "a": [1.0, 3.0, 5.0]})
    x, known = _rows(_collect(frame, every="1h", window=1))
    assert x[0, :, 0].tolist() == [2.0, 0.0, 0.0, 5.0]
    assert known[0, :, 0].tolist() == [True, False, False, True]


def test_a_grid_needs_times_of_its_kind():
    with pytest.raises(ValueError, match=r"every must be a number, as times are, got '1h'"):
        _collect(_table(), every="1h")
    with pytest.raises(ValueError, match=r"every must be a number, as times are, got '-1'"):
        _collect(_table(), every="-1")
    with pytest.raises(ValueError, match=r"every='1h' needs a column of times"):
        _collect(_table().drop(columns="t"), every="1h")
    dated = _table().assign(t=pd.Timestamp("2020-01-01") + pd.to_timedelta(_table()["t"], "h"))
    with pytest.raises(
        ValueError, match=r'every must be a duration such as "10min".*got \'often\''
    ):
        _collect(dated, every="often")


@pytest.mark.parametrize(
    "times",
    [
        ["2020-01-02", "2020-01-03", "2020-01-01"],
        ["2020-01-02T00:00:00+01:00", "2020-01-02T00:00:00Z", "2020-01-02T00:00:00+02:00"],
        ["01/02/2020", "01/03/2020", "01/01/2020"],
        ["30/01/2020", "31/01/2020", "29/01/2020"],
        ["9:30", "10:05", "08:59"],
        ["47:59:30", "48:00:00", "1:00:00"],
        [2.5, 30, -1],
        [20, 1_700_000_000_000_000_001, 3],
        pd.to_datetime(["2020-01-02", "2020-01-03", "2020-01-01"]),
        pd.to_timedelta(["2h", "3h", "1h"]),
        pd.array([2, 3, 1], dtype="Int64"),
    ],
)
def test_times_may_be_dates_clocks_or_numbers(times):
    frame = pd.DataFrame({"id": "x", "time": times, "a": [2.0, 3.0, 1.0]})
    x, _ = _rows(_collect(frame, window=1))
    assert x[0, :, 0].tolist() == [1.0, 2.0, 3.0]


def test_numbers_far_from_zero_are_told_apart_as_times():
    frame = pd.DataFrame({"id": "x", "time": 10**18 + np.array([2, 3, 1]), "a": [2.0, 3.0, 1.0]})
    assert _rows(_collect(frame, window=1))[0][0, :, 0].tolist() == [1.0, 2.0, 3.0]


def test_a_time_in_columns_from_the_year_downwards_is_understood():
    frame = pd.DataFrame(
        {
            "year": 2020,
            "Month": [2, 1, 1],
            "day": [1, 31, 31],
            "hour": [0, 23, 7],
            "a": [3.0, 2.0, 1.0],
        }
    )
    collection = _collect(frame, window=1, labels=["Month"])
    assert _rows(collection)[0][0, :, 0].tolist() == [1.0, 2.0, 3.0]
    assert collection.labels["Month"].tolist() == [[1, 1, 2]]
    assert collection.channels == ("a",)


def test_times_that_are_none_are_shown():
    frame = _table().assign(t="soon")
    with pytest.raises(ValueError, match=r"'t' must hold dates, hh:mm or numbers, got 'soon'"):
        _collect(frame)
    with pytest.raises(ValueError, match="none of 24 rows has a sequence and a time"):
        _collect(_table().assign(t=np.nan))


def test_columns_that_were_misunderstood_are_noticed():
    with pytest.raises(ValueError, match=r"18 of 24 rows have the.*\(sequence: none, time: t\)"):
        _collect(_table().rename(columns={"id": "plant"}))
    with pytest.raises(ValueError, match=r"each of 6 rows is a sequence of its own.*sequence: id"):
        _collect(_table(sequences=6, rows=1))
    collected = _collect(_table().rename(columns={"id": "plant"}), sequence="none", time="t")
    assert collected.skipped["repeated rows"].startswith("18 with")


def test_a_label_belongs_to_the_sequence_if_it_never_changes_there():
    frame = _table()
    frame["who"] = frame["id"].map({0: "ann", 1: "bob", 2: None, 3: "ann"})
    frame["state"] = np.where(frame["t"] < 3, "low", "high")
    frame["level"] = frame["t"] * 0.5
    collection = _collect(frame, labels=["who", "state", "level"], window=2)
    assert collection.labels["who"].tolist() == [0, 1, -1, 0]
    assert collection.labels["state"].tolist() == [[1, 0, 0]] * 4  # of the middle row
    assert collection.labels["level"].tolist() == [[0.25, 1.25, 2.25]] * 4  # the mean
    assert [factor.name for factor in collection.static] == ["who"]
    assert [(f.name, f.classes, f.per_step) for f in collection.dynamic] == [
        ("state", 2, True),
        ("level", 0, True),
    ]
    assert collection.channels == ("a", "b")


def test_a_label_may_tell_what_moves():
    frame = _table().assign(action=np.repeat(["run", "walk"], 12))
    collection = _collect(frame, labels=["action"], dynamic=["action"])
    assert [factor.name for factor in collection.dynamic] == ["action"]
    assert collection.static == ()


def test_a_label_that_is_constant_in_every_piece_belongs_to_the_piece():
    frame = _table().assign(half=np.tile([1, 1, 1, 2, 2, 2], 4))
    assert _collect(frame, labels=["half"], piece=3).labels["half"].tolist() == [1, 2] * 4


def test_the_last_window_of_a_short_sequence_has_the_label_of_a_row_it_has():
    frame = _table().assign(state=np.tile([5, 5, 5, 5, 6, 7], 4)).drop(index=5)
    collection = _collect(frame, labels=["state"], window=4)
    assert collection.static == ()
    names = collection.dynamic[0].values
    assert [[names[code] for code in row] for row in collection.labels["state"][:2]] == [
        ["5", "6"],
        ["5", "7"],
    ]


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["2", "10"], [2, 10, -1]),
        (["2", "1.5"], [2.0, 1.5, None]),
        (["2.0", "1.0"], [2.0, 1.0, None]),
        ([2.0, 1.0], [2, 1, -1]),  # whole numbers with gaps are floats in a data frame
        ([True, False], [1, 0, -1]),
        (["x", "1"], ["x", "1", ""]),
        (["-1", "1"], ["-1", "1", ""]),
        ([], [""]),
        (["inf"], ["inf", ""]),
    ],
)
def test_labels_are_classes_words_or_numbers(words, wanted):
    values = [None if value != value else value for value in label_values("x", words).tolist()]
    assert values == wanted


def test_a_column_named_split_decides_the_splits():
    frame = _table(sequences=6)
    frame["split"] = frame["id"].map(
        dict(enumerate(["train", "Train", "test", "dev", "val", "train"]))
    )
    corpus = from_frame(frame)
    assert corpus.test.label("name").tolist() == ["2"]
    assert corpus.validation.label("name").tolist() == ["3", "4"]
    with pytest.raises(
        ValueError, match=r"'split' must say one thing for a sequence, not so in 6 of 6"
    ):
        from_frame(frame.assign(split=["train", "test"] * 18))


def test_tables_too_large_when_padded_are_refused(monkeypatch):
    monkeypatch.setattr(table_fill, "CELLS", 40)
    with pytest.raises(ValueError, match=r"4 sequences of up to 6 rows and 2 values.*data\.piece"):
        _collect(_table())
