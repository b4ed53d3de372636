"""Tables in files and in folders of files."""

import io
import shutil
import zipfile
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from unbraid.data import load_data
from unbraid.data.readers.own import kind_of, read_own
from unbraid.data.readers.tables import columns as table_columns
from unbraid.data.readers.tables import files as table_files
from unbraid.data.readers.tables.frames import Config
from unbraid.settings import parse_sets
from unbraid.training.fit import fit
from unbraid.workflows.export import encode, use


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("UNBRAID_DATA", raising=False)


def _table(sequences: int = 4, rows: int = 6) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    count = sequences * rows
    return pd.DataFrame(
        {
            "patient": np.repeat([f"{n:03d}" for n in range(sequences)], rows),
            "time": np.tile(np.arange(rows), sequences),
            "pulse": rng.normal(70, 5, count).round(3),
            "breath": rng.normal(15, 2, count).round(3),
            "ward": np.repeat(["east", "west"], count // 2),
        }
    )


def _write(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return str(path)


def _known(collection) -> np.ndarray:
    """Values as rows, NaN where unknown."""
    x = np.array(collection.x)
    if collection.observed is not None:
        x[~np.asarray(collection.observed)] = np.nan
    return x.reshape(len(x), -1, x.shape[-1])


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "semicolons", "spaces"])
def test_every_kind_of_file_gives_the_same_sequences(tmp_path, kind):
    frame, path = _table(), tmp_path / "stays.csv"
    frame.loc[3, "pulse"] = np.nan
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "tsv":
        frame.to_csv(path := path.with_suffix(".tsv"), index=False, sep="\t")
    elif kind == "parquet":
        frame.to_parquet(path := path.with_suffix(".parquet"))
    elif kind == "semicolons":
        frame.to_csv(path, index=False, sep=";", decimal=",", encoding="utf-8-sig")
    else:
        path.write_text(frame.to_csv(index=False, na_rep="NA").replace(",", ", "), encoding="utf-8")
    collection = read_own(str(path), {"labels": ["ward"], "window": 1})
    wanted = frame[["pulse", "breath"]].to_numpy(np.float32).reshape(4, 6, 2)
    assert np.array_equal(_known(collection), wanted, equal_nan=True)
    assert collection.labels["name"].tolist() == ["000", "001", "002", "003"]
    assert collection.labels["ward"].tolist() == [0, 0, 1, 1]
    assert collection.static[0].values == ("east", "west")
    assert collection.channels == ("pulse", "breath")
    assert (collection.name, collection.kind) == ("stays", "series")
    assert kind_of(str(path)) == "series"


def test_a_file_in_parts_is_the_file_in_one(tmp_path, monkeypatch):
    frame = _table(20, 300).sample(frac=1, random_state=0)  # every part has rows of every sequence
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    whole = _known(read_own(str(tmp_path / "t.csv"), {"labels": ["ward"]}))
    monkeypatch.setattr(table_files, "PART", 5000)  # 1,000 rows at least
    monkeypatch.setattr(table_files, "HEAD", 10)
    for name in ("t.csv", "t.parquet"):
        parts = list(table_files.table_parts(tmp_path / name))
        assert [len(part) for part in parts] == [1000] * 6
        assert np.array_equal(_known(read_own(str(tmp_path / name), {"labels": []})), whole)


def test_a_word_among_numbers_is_shown_with_column_and_row(tmp_path):
    text = _table().to_csv(index=False)
    path = _write(tmp_path / "t.csv", text + "003,6,70,fast,west\n")
    with pytest.raises(
        ValueError, match=r"'breath' must hold numbers, got 'fast' in row 25 below.*data\.missing"
    ):
        read_own(path)
    collection = read_own(path, {"missing": ["fast"]})
    assert np.isnan(_known(collection)[3, 6, 1])


def test_a_word_in_a_later_part_is_shown_with_its_row(tmp_path, monkeypatch):
    monkeypatch.setattr(table_files, "PART", 1)
    frame = _table(30, 100).astype({"pulse": object})
    frame.loc[2345, "pulse"] = "?"
    frame.to_csv(tmp_path / "t.csv", index=False)
    monkeypatch.setattr(table_files, "HEAD", 100)
    with pytest.raises(ValueError, match=r"'pulse' must hold numbers, got '\?' in row 2346 below"):
        read_own(str(tmp_path / "t.csv"))


def test_numbers_and_words_may_stand_for_unknown(tmp_path):
    path = _write(tmp_path / "t.csv", "id,a,b,who\n1,-9999,NA,?\n1,2,null,?\n1,,?,?\n1,4,1,?\n")
    collection = read_own(path, {"missing": ["?", "-9999"], "labels": ["who"], "window": 1})
    assert np.array_equal(
        _known(collection)[0], [[np.nan] * 2, [2, np.nan], [np.nan] * 2, [4, 1]], equal_nan=True
    )
    assert collection.labels["who"].tolist() == [-1]
    assert collection.static == ()


@pytest.mark.parametrize(
    ("header", "sequence", "time"),
    [
        ("RecordID,Time,a", "RecordID", ("Time",)),
        ("Subject Id,Timestamp,a", "Subject Id", ("Timestamp",)),
        ("unit_id,cycle,a", "unit_id", ("cycle",)),
        ("unique_id,ds,a", "unique_id", ("ds",)),
        ("case,date,a", "case", ("date",)),
        ("year,month,day,a,hour", "", ("year", "month", "day", "hour")),
        ("hour,a,minute", "", ("hour",)),
        ("a,b,c", "", ()),
        ("idea,tea,a", "", ()),
    ],
)
def test_columns_are_guessed_by_their_names(header, sequence, time):
    frame = pd.DataFrame([[1] * len(header.split(","))] * 3, columns=header.split(","))
    columns = table_columns.find_columns(frame, Config())
    assert (columns.sequence, columns.time) == (sequence, time)
    assert "a" in columns.values


def test_a_column_that_is_a_label_is_not_taken_for_the_sequence():
    frame = _table().rename(columns={"patient": "id", "ward": "station"})
    assert table_columns.find_columns(frame, Config()).sequence == "id"
    frame = frame.drop(columns="id")
    assert table_columns.find_columns(frame, Config()).sequence == "station"
    assert table_columns.find_columns(frame, Config(labels=("station",))).sequence == ""
    assert table_columns.find_columns(frame, Config(sequence="none")).sequence == ""


def test_columns_that_are_not_used_are_named_with_the_reason(tmp_path):
    frame = _table(20, 10).assign(note="fine", row=np.arange(200))
    frame.reset_index().to_csv(tmp_path / "t.csv")
    collection = read_own(str(tmp_path / "t.csv"))
    assert collection.channels == ("pulse", "breath")
    reasons = collection.skipped
    assert list(reasons) == [
        "column Unnamed: 0",
        "column index",
        "column ward",
        "column note",
        "column row",
    ]
    assert reasons["column Unnamed: 0"] == "it has no name"
    assert reasons["column ward"].startswith("words such as 'east': name it in data.labels")
    assert reasons["column row"].startswith("it counts the rows")
    assert read_own(str(tmp_path / "t.csv"), {"values": ["pulse"]}).skipped == {}


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"sequence": "patent"},
            KeyError,
            "sequence: there is no column 'patent'. Did you mean 'pat",
        ),
        ({"time": "when"}, KeyError, "time: there is no column 'when'"),
        ({"values": ["puls"]}, KeyError, "values: there is no column 'puls'. Did you mean 'pulse'"),
        ({"labels": ["none"]}, KeyError, "labels: there is no column 'none'"),
        ({"values": ["pulse"], "labels": ["pulse"]}, ValueError, "'pulse' cannot be a value and"),
        ({"labels": ["name"]}, KeyError, "there is no column 'name'"),
        ({"labels": ["ward"], "dynamic": ["war"]}, KeyError, "dynamic: there is no label 'war'"),
        ({"values": ["ward"]}, ValueError, "column 'ward' must hold numbers, got 'east' in row 1"),
        ({"windows": 1}, KeyError, "Did you mean 'window'"),
        ({"piece": -1}, ValueError, "piece must not be negative"),
        ({"broken": 1.0}, ValueError, r"broken must be at least 0 and below 1, got 1\.0"),
    ],
)
def test_settings_that_do_not_fit_are_refused_in_words(tmp_path, options, error, message):
    _table().to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(error, match=message):
        read_own(str(tmp_path / "t.csv"), options)


def test_a_label_cannot_be_called_name(tmp_path):
    _table().assign(name="x").to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(
        ValueError, match=r"'name' is what sequences are called.*data\.sequence=name"
    ):
        read_own(str(tmp_path / "t.csv"), {"labels": ["name"]})


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"", "No columns to parse"),
        ("t.csv", b"id,t,a\n", r"t\.csv holds no rows"),
        (
            "t.csv",
            b"1,2,3\n4,5,6\n",
            "the first row must hold the names of the columns, .* 1, 2, 3",
        ),
        ("t.csv", b"id,t,a\n1,0,1,9\n", "names 3 columns, the next has 4 cells"),
        ("t.csv", b"id,t,a\n1,0,1\n1,1,1,9\n", "Expected 3 fields in line 3, saw 4"),
        ("t.csv", "id,t,a\n1,0,é\n".encode("latin-1"), "it is not UTF-8 text"),
        ("t.csv", b"id,t,who\n1,0,ann\n", "no column of numbers is left.*id, t, who"),
        ("t.parquet", b"PAR1", r"t\.parquet cannot be read as a table: .*[Pp]arquet"),
        ("t.parquet", b"", r"t\.parquet cannot be read as a table"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_the_reason(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_own(str(tmp_path / name))
    cache = tmp_path / "cache"
    assert not cache.exists() or list(cache.iterdir()) == []


def test_without_pandas_the_message_says_what_to_install(tmp_path, monkeypatch):
    def without(name: str):
        if name == "pandas":
            raise ImportError
        return import_module(name)

    _table().to_csv(tmp_path / "t.csv", index=False)
    monkeypatch.setattr(table_columns, "import_module", without)
    with pytest.raises(ValueError, match=r'pip install "unbraid\[tables\]"'):
        read_own(str(tmp_path / "t.csv"))


def test_a_file_is_read_once_and_again_when_it_changes(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    _table().to_csv(path, index=False)
    first = read_own(str(path))
    assert isinstance(first.x, np.memmap)
    with monkeypatch.context() as patch:
        patch.setattr("unbraid.data.readers.tables.frames.table_parts", None)
        assert np.array_equal(read_own(str(path)).x, first.x)
        assert len(load_data(str(path), {"split": {"seed": 3}, "dynamic": []}).train) == 2
    read_own(str(path), {"window": 2})
    assert len(list((tmp_path / "cache").iterdir())) == 2
    _table(sequences=6).to_csv(path, index=False)
    assert len(read_own(str(path))) == 6


@pytest.fixture
def folder(tmp_path) -> Path:
    for name, part in _table(12).groupby("patient"):
        place = tmp_path / "stays" / part["ward"].iloc[0]
        place.mkdir(parents=True, exist_ok=True)
        part.drop(columns=["patient", "ward"]).to_csv(place / f"{name}.csv", index=False)
    return tmp_path / "stays"


def test_the_files_of_a_folder_are_its_sequences(folder):
    collection = read_own(str(folder), {"pattern": "{side}/*", "window": 1})
    assert collection.labels["name"][:2].tolist() == ["east/000.csv", "east/001.csv"]
    assert collection.labels["side"].tolist() == [0] * 6 + [1] * 6
    wanted = _table(12)[["pulse", "breath"]].to_numpy(np.float32).reshape(12, 6, 2)
    assert np.array_equal(_known(collection), wanted)
    assert "folder" in read_own(str(folder)).labels


def test_a_table_of_labels_lies_beside_the_files(folder):
    _write(folder / "labels.csv", "file,age\neast/000.csv,41\nwest/011.csv,70\n")
    collection = read_own(str(folder))
    assert len(collection) == 12
    assert collection.static[-1].values == ("41", "70")
    _write(folder / "labels.csv", "file,age\neast/000.csv,42\nwest/011.csv,70\n")
    assert read_own(str(folder)).static[-1].values == ("42", "70")


def test_folders_named_after_the_splits_decide_them(folder):
    (folder / "east").rename(folder / "train")
    (folder / "west").rename(folder / "test")
    corpus = load_data(str(folder))
    assert (len(corpus.train), len(corpus.validation), len(corpus.test)) == (5, 1, 6)
    assert set(corpus.test.label("name")) == {f"test/{n:03d}.csv" for n in range(6, 12)}


def test_pieces_of_a_file_stay_in_one_split(folder):
    corpus = load_data(str(folder), {"piece": 3})
    assert corpus.spec.pieces
    assert not load_data(str(folder)).spec.pieces
    parts = [set(corpus.split(part).label("name")) for part in ("train", "validation", "test")]
    assert len(corpus.train) == 20
    assert sum(map(len, parts)) == len(set.union(*parts)) == 12


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("east/000.csv", "", "No columns to parse"),
        ("east/000.csv", "time,pulse\n1,2\n", "it has no column 'breath'"),
        ("west/011.csv", "time,pulse,breath\n1,2,x\n", "got 'x' in row 1 below"),
        ("west/011.csv", "time,pulse,breath\n", "holds no rows"),
    ],
)
def test_a_broken_file_of_a_folder_is_skipped_by_name(folder, name, text, reason):
    _write(folder / name, text)
    collection = read_own(str(folder))
    assert len(collection) == 11
    assert name not in collection.labels["name"]
    assert reason in collection.skipped[name]


def test_a_broken_part_takes_its_whole_file_with_it(folder, monkeypatch):
    monkeypatch.setattr(table_files, "PART", 1)
    long = _table(1, 2500).drop(columns=["patient", "ward"]).astype({"pulse": object})
    long.loc[2200, "pulse"] = "x"  # in the third part
    long.to_csv(folder / "east" / "000.csv", index=False)
    collection = read_own(str(folder), {"window": 1})
    assert collection.x.shape == (11, 6, 1, 2)
    assert "row 2201" in collection.skipped["east/000.csv"]


def test_too_many_broken_files_are_an_error(folder):
    for name in ("east/001.csv", "west/010.csv"):
        _write(folder / name, "")
    with pytest.raises(ValueError, match=r"2 of 12 tables .* data\.broken=0\.1 allows\. east/001"):
        read_own(str(folder))
    assert len(read_own(str(folder), {"broken": 0.2})) == 10
    for path in folder.rglob("*.csv"):
        path.write_text("")
    with pytest.raises(ValueError, match="No columns to parse"):
        read_own(str(folder), {"broken": 0.2})


def test_a_folder_may_hold_one_table_in_several_files(tmp_path):
    frame = _table()
    for part in range(3):  # cut in the middle of sequences
        frame[part * 8 : part * 8 + 8].to_csv(tmp_path / f"part{part}.csv", index=False)
    collection = read_own(str(tmp_path), {"sequence": "patient", "labels": ["ward"], "window": 1})
    wanted = frame[["pulse", "breath"]].to_numpy(np.float32).reshape(4, 6, 2)
    assert np.array_equal(_known(collection), wanted)
    assert collection.labels["name"].tolist() == ["000", "001", "002", "003"]


def test_hidden_files_are_no_tables(folder):
    shutil.copytree(folder / "east", folder / ".old")
    _write(folder / ".hidden.csv", "nothing")
    assert len(read_own(str(folder))) == 12


def test_codes_of_another_table_need_neither_labels_nor_the_same_columns(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = _table(12, 40)
    frame.to_csv("mine.csv", index=False)
    words = [
        "method.static_dim=4",
        "method.dynamic_dim=4",
        "method.net.hidden=8",
        "training.steps=1",
        "training.batch_size=4",
        'data.labels=["ward"]',
        'data.dynamic=["ward"]',
    ]
    run = fit("./mine.csv", "dbse", settings=parse_sets(words), out=tmp_path / "runs")
    other = frame[frame["patient"] < "003"].drop(columns="ward").assign(extra=1.0)
    other = other[other["time"] < 30]  # shorter: a window chosen anew would be another one
    other[["extra", "breath", "pulse", "time", "patient"]].to_csv("other.csv", index=False)
    source = use.Source(file="other.csv")
    encode(run.path, source, tmp_path / "codes.npz")
    with np.load(tmp_path / "codes.npz") as file:
        assert file["s"].shape == (3, 4)
        assert file["d"].shape == (3, 15, 4)  # windows of two rows
        assert file["label_name"].tolist() == ["000", "001", "002"]
    mine = run.corpus().train
    assert np.array_equal(use.open_source(run.path, source).split.x, mine.x[:3, :15])


@pytest.mark.data
def test_etth1_is_one_recording_in_pieces(real_data):
    path = real_data / "etth1" / "ETTh1.csv"
    collection = read_own(str(path), {"piece": 672, "window": 24})
    assert collection.x.shape == (26, 28, 24, 7)  # 17,420 = 25 · 672 + 620 rows
    assert collection.lengths.tolist() == [28] * 25 + [26]
    assert collection.channels == ("HUFL", "HULL", "MUFL", "MULL", "LUFL", "LULL", "OT")
    assert collection.observed.sum() == 17_420 * 7
    assert collection.x[0, 0, 0, 6] == pytest.approx(30.531, abs=1e-4)  # first line of the file
    assert collection.skipped == {}


@pytest.mark.data
def test_a_station_of_beijing_has_its_missing_values(real_data, tmp_path):
    archive = real_data / "beijing_air_quality" / "PRSA_Data_20130301-20170228.zip"
    with zipfile.ZipFile(archive) as file:
        name = next(name for name in file.namelist() if "Aotizhongxin" in name)
        text = file.read(name)
    (tmp_path / "Aotizhongxin.csv").write_bytes(text)
    options = {"piece": 672, "window": 24, "labels": ["station", "month"]}
    collection = read_own(str(tmp_path / "Aotizhongxin.csv"), options)
    assert collection.x.shape == (52, 28, 24, 11)  # 35,064 = 52 · 672 + 120 hours
    assert list(collection.skipped) == ["column No", "column wd", "ends of sequences"]
    table = pd.read_csv(io.BytesIO(text))[: 52 * 672][list(collection.channels)]
    assert collection.observed.sum() == table.notna().sum().sum()
    assert np.allclose(_known(collection).reshape(-1, 11), table, equal_nan=True, rtol=1e-6)
    assert collection.labels["month"][0].tolist() == [3] * 28  # 1 to 28 March 2013
