import csv
import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from unbraid.data import load_data
from unbraid.data.sets import physionet
from unbraid.data.sets.intensive_care import (
    PLAUSIBLE,
    SIGNS,
    read_outcomes,
    read_stay,
    read_texts,
)
from unbraid.data.sets.physionet import Config
from unbraid.runs.plan import read_preset

HEADING = "Time,Parameter,Value\n"
NO_SERIES = {"140501", "140936", "141264"}  # README of the data
DEATHS = {"a": 554, "b": 568, "c": 585}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("UNBRAID_DATA", raising=False)


@pytest.fixture(scope="session")
def prepared_stays(real_data, tmp_path_factory) -> Iterator[Path]:
    root = tmp_path_factory.mktemp("stays")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UNBRAID_CACHE", str(root))
        shares: list[float] = []
        physionet.load(Config(root=str(real_data / "physionet2012")), progress=shares.append)
    assert shares == [1.0]
    yield root


@pytest.fixture
def cache(prepared_stays, monkeypatch) -> None:
    monkeypatch.setenv("UNBRAID_CACHE", str(prepared_stays))


def _record(number: int, *rows: str) -> bytes:
    about = f"00:00,RecordID,{number}\n00:00,Age,54\n00:00,Gender,0\n00:00,ICUType,4\n"
    return (HEADING + about + "".join(f"{row}\n" for row in rows)).encode()


def _full(number: int, hours: int = 48) -> bytes:
    """Every sign in every hour, at values that tell record and hour."""
    rows = [
        f"{hour:02d}:{30},{sign},{30 + number % 10 + hour / 100}"
        for hour in range(hours)
        for sign in SIGNS
    ]
    return _record(number, *rows)


def _write(root: Path, texts: dict[int, bytes], *, archive: bool = False, name: str = "a") -> Path:
    root.mkdir(exist_ok=True)
    outcomes = "".join(f"{number},6,1,5,-1,{number % 2}\n" for number in texts)
    heading = "RecordID,SAPS-I,SOFA,Length_of_stay,Survival,In-hospital_death\n"
    (root / f"Outcomes-{name}.txt").write_text(heading + outcomes)
    if not archive:
        (root / f"set-{name}").mkdir()
        for number, text in texts.items():
            (root / f"set-{name}" / f"{number}.txt").write_bytes(text)
        return root
    with tarfile.open(root / f"set-{name}.tar.gz", "w:gz") as file:
        for number, text in texts.items():
            info = tarfile.TarInfo(f"set-{name}/{number}.txt")
            info.size = len(text)
            file.addfile(info, io.BytesIO(text))
    return root


def _means(*rows: str, grid: str = "admission") -> dict[tuple[int, str], float]:
    means = read_stay(1, _record(1, *rows), grid)["means"]
    return {
        (int(hour), SIGNS[sign]): float(means[hour, sign])
        for hour, sign in zip(*np.nonzero(~np.isnan(means)), strict=True)
    }


def test_an_hour_is_the_mean_of_its_plausible_values():
    rows = ("00:00,MAP,60", "00:59,MAP,80", "00:30,MAP,0", "01:00,MAP,90", "01:10,HR,70")
    assert _means(*rows) == {(0, "MAP"): 70.0, (1, "MAP"): 90.0}


def test_the_minute_that_closes_a_stay_belongs_to_its_last_hour():
    assert _means("47:00,GCS,10", "48:00,GCS,14") == {(47, "GCS"): 12.0}
    assert read_stay(1, _record(1, "48:00,GCS,14"))["hours"] == 48
    assert read_stay(1, _record(1, "39:59,HR,80"))["hours"] == 40


def test_temperatures_in_other_units_become_celsius():
    means = _means("00:01,Temp,98.6", "01:01,Temp,2.8", "02:01,Temp,36.5")
    assert means[0, "Temp"] == pytest.approx(37.0)
    assert means[1, "Temp"] == pytest.approx(2.8 * 1.8 + 32)  # 37 °C taken for °F is 2.8 °C
    assert means[2, "Temp"] == 36.5
    assert _means("00:01,Temp,-17.8", "01:01,Temp,50", "02:01,Temp,0", "03:01,Temp,24") == {}


def test_implausible_values_count_as_not_measured():
    assert _means("00:01,DiasABP,201", "01:01,SysABP,0", "02:01,RespRate,0.5") == {}
    assert _means("00:01,HCT,-1", "01:01,NIMAP,nan", "02:01,GCS,inf") == {}
    assert _means("00:01,DiasABP,200", "01:01,NIMAP,1") == {(0, "DiasABP"): 200, (1, "NIMAP"): 1}


def test_rows_without_a_name_are_dropped():
    stay = read_stay(1, _record(1, "00:10,GCS,10", "30:00,,5"))
    assert stay["hours"] == 1
    assert np.nansum(stay["means"]) == 10


def test_hours_of_the_authors_begin_after_the_first_row_and_are_full():
    rows = ("00:10,GCS,3", "01:10,GCS,10", "01:11,GCS,12", "02:10,GCS,14", "02:40,GCS,15")
    assert _means(*rows, grid="first") == {(0, "GCS"): 10.0, (1, "GCS"): 13.0}
    assert read_stay(1, _record(1, *rows), "first")["hours"] == 2
    assert read_stay(1, _record(1, "00:10,GCS,3"), "first")["hours"] == 0


def test_labels_of_a_stay_are_read_and_unknown_ones_are_minus_one():
    stay = read_stay(7, _record(7, "00:10,GCS,3"))
    assert {name: stay[name] for name in ("record", "icu_type", "age", "gender")} == {
        "record": 7,
        "icu_type": 3,
        "age": 54,
        "gender": 0,
    }
    bare = read_stay(7, (HEADING + "00:00,RecordID,7\n00:00,Age,inf\n").encode())
    assert (bare["icu_type"], bare["age"], bare["gender"], bare["hours"]) == (-1, -1, -1, 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "should begin with 'Time,Parameter,Value'"),
        (HEADING.encode(), "go on with such rows"),
        (b"\x80\x00\xff", "should begin"),
        (_record(1, "00:10,GCS,three"), "it has a wrong row: .*three"),
        (_record(1, "00:10,GCS"), "it has a wrong row"),
        (_record(1, "soon,GCS,3"), "it has a time 'soon'"),
        (_record(1, "48:01,GCS,3"), "a time '48:01', wanted hh:mm up to 48:00"),
        (_record(2, "00:10,GCS,3"), "it says that it is record 2"),
    ],
)
def test_a_wrong_record_says_what_is_wrong(text, message):
    with pytest.raises(ValueError, match=message):
        read_stay(1, text)


def _reference_means(text: bytes) -> np.ndarray:
    cells: dict[tuple[int, int], list[float]] = {}
    for time, name, value in csv.reader(text.decode().splitlines()[1:]):
        if name not in PLAUSIBLE:
            continue
        number = float(value)
        if name == "Temp" and 1 < number < 10:
            number = number * 9 / 5 + 32
        if name == "Temp" and 95 < number < 113:
            number = (number - 32) * 5 / 9
        low, high = PLAUSIBLE[name]
        if low <= number <= high:
            hour = min(int(time[:2]), 47)
            cells.setdefault((hour, SIGNS.index(name)), []).append(number)
    means = np.full((48, 10), np.nan)
    for place, numbers in cells.items():
        means[place] = sum(numbers) / len(numbers)
    return means


@pytest.mark.data
def test_hourly_means_of_real_records_match_a_plain_reference(cache, real_data):
    texts = dict(read_texts(real_data / "physionet2012", "a"))
    split = load_data("physionet").train
    x, observed = (a.reshape(len(a), 48, 10) for a in (split.x, split.observed))
    for row in split.rows[::40].tolist():
        means = _reference_means(texts[int(split.labels["record"][row])])
        assert np.array_equal(observed[row], ~np.isnan(means))
        np.testing.assert_allclose(x[row], np.nan_to_num(means), rtol=1e-6)


@pytest.mark.data
def test_splits_hold_the_stays_of_set_a_that_are_full_enough(cache):
    corpus = load_data("physionet")
    assert (corpus.spec.length, corpus.spec.frame) == (12, (4, 10))
    parts = [corpus.split(name) for name in ("train", "validation", "test")]
    assert [len(part) for part in parts] == [1139, 285, 356]  # 64, 16 and 20 % of 1780
    records = [set(part.label("record").tolist()) for part in parts]
    assert len(set.union(*records)) == 1780
    assert max(records[2]) < min(records[0] | records[1])  # the first in record order are test
    assert len(corpus.skipped) == 4000 - 1780
    for part in parts:
        known = part.observed[part.rows].sum((1, 2, 3))
        hours = part.lengths[part.rows] * 4
        assert hours.min() >= 40
        assert (known >= 0.4 * 10 * (hours - 3)).all()


@pytest.mark.data
def test_what_was_skipped_is_named_with_its_reason(cache):
    skipped = load_data("physionet").skipped
    assert {name for name, why in skipped.items() if why == "no time series"} == NO_SERIES
    reasons = ("hours, fewer than 40", "missing, more than 60.0%", "no time series")
    assert all(any(reason in why for reason in reasons) for why in skipped.values())


@pytest.mark.data
def test_labels_agree_with_the_publishers_tables(cache, real_data):
    root = real_data / "physionet2012"
    died = {}
    for line in (root / "Outcomes-a.txt").read_text().splitlines()[1:]:
        fields = line.split(",")
        died[int(fields[0])] = int(fields[-1])
    test = load_data("physionet").test
    assert test.label("mortality").tolist() == [died[r] for r in test.label("record").tolist()]
    texts = dict(read_texts(root, "a"))
    for record, unit in list(zip(*map(test.label, ("record", "icu_type")), strict=True))[:50]:
        assert f"ICUType,{unit + 1}\n".encode() in texts[record]
    assert {f.name: f.classes for f in test.spec.static} == {"mortality": 2, "icu_type": 4}


@pytest.mark.data
@pytest.mark.parametrize("name", DEATHS)
def test_outcomes_have_the_published_number_of_deaths(real_data, name):
    outcomes = read_outcomes(real_data / "physionet2012" / f"Outcomes-{name}.txt")
    assert (len(outcomes), sum(outcomes.values())) == (4000, DEATHS[name])
    assert physionet.PUBLISHED[name] == (4000, DEATHS[name])


@pytest.mark.data
def test_known_training_values_are_standardised_and_others_are_zero(cache):
    batch = load_data("physionet").train.take(slice(None))
    for sign in range(10):
        known = batch.x[..., sign][batch.observed[..., sign]].double()
        assert abs(float(known.mean())) < 1e-4
        assert float(known.std()) == pytest.approx(1, abs=1e-3)
    assert not batch.x[~batch.observed].any()


@pytest.mark.data
def test_other_windows_thresholds_and_seeds_need_no_new_preparation(cache):
    assert load_data("physionet", {"window": 6}).spec.frame == (6, 10)
    uneven = load_data("physionet", {"window": 5})
    assert uneven.spec.length == 10
    assert not uneven.train.observed[:, -1, 3:].any()  # hours 49 and 50
    everyone = load_data("physionet", {"missing": 1.0, "hours": 1})
    assert sum(len(everyone.split(p)) for p in ("train", "validation", "test")) == 3997
    assert set(everyone.skipped) == NO_SERIES
    one, other = (load_data("physionet", {"seed": seed}) for seed in (0, 1))
    assert np.array_equal(one.test.rows, other.test.rows)
    assert not np.array_equal(one.validation.rows, other.validation.rows)


def test_a_folder_and_an_archive_give_the_same(tmp_path):
    texts = {number: _full(number) for number in range(101, 111)}
    roots = [_write(tmp_path / f"{a}", texts, archive=a) for a in (False, True)]
    first, second = (physionet.load(Config(root=str(root))) for root in roots)
    assert np.array_equal(first.train.x, second.train.x)
    assert np.array_equal(first.train.rows, second.train.rows)
    assert first.test.label("record").tolist() == [101, 102]
    assert first.test.label("mortality").tolist() == [1, 0]


def test_several_sets_are_one_in_record_order(tmp_path):
    root = _write(tmp_path / "d", {n: _full(n) for n in range(201, 206)}, name="b")
    _write(root, {n: _full(n) for n in range(101, 106)}, name="a", archive=True)
    corpus = physionet.load(Config(root=str(root), sets=("b", "a")))
    assert corpus.test.label("record").tolist() == [101, 102]
    assert len(corpus.train) + len(corpus.validation) == 8


def test_another_copy_is_said_to_be_one(tmp_path, caplog):
    root = _write(tmp_path / "d", {number: _full(number) for number in range(101, 111)})
    corpus = physionet.load(Config(root=str(root)))
    assert corpus.skipped["set-a"] == (
        "another copy: 10 records and 5 deaths, the publisher's has 4000 and 554"
    )
    assert "set-a is another copy" in caplog.text


def test_a_broken_record_is_skipped_by_name_and_many_stop_the_preparation(tmp_path):
    texts = {number: _full(number) for number in range(101, 111)}
    root = _write(tmp_path / "one", texts | {103: b"torn"})
    (root / "set-a" / "._104.txt").write_bytes(b"left by an operating system")
    assert "should begin" in physionet.load(Config(root=str(root))).skipped["103"]
    root = _write(tmp_path / "two", texts | {103: b"torn", 104: _record(5)})
    with pytest.raises(ValueError, match=r"2 of 10 records of set a.*103: it should begin.*104: "):
        physionet.load(Config(root=str(root)))
    assert physionet.load(Config(root=str(root), broken=0.3)).skipped["104"].endswith("record 5.0")


def test_a_record_without_an_outcome_is_skipped(tmp_path):
    root = _write(tmp_path / "d", {number: _full(number) for number in range(101, 111)})
    path = root / "Outcomes-a.txt"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    assert physionet.load(Config(root=str(root))).skipped["110"] == "it is not in Outcomes-a.txt"


def test_short_and_sparse_stays_are_dropped(tmp_path):
    texts = {number: _full(number) for number in range(101, 107)}
    texts |= {107: _full(107, hours=39), 108: _record(108, "47:30,GCS,15"), 109: _record(109)}
    skipped = physionet.load(Config(root=str(_write(tmp_path / "d", texts)))).skipped
    assert skipped["107"] == "39 hours, fewer than 40"
    assert skipped["108"] == "99.8% of its values are missing, more than 60.0%"
    assert skipped["109"] == "no time series"


def test_too_few_stays_are_refused(tmp_path):
    root = _write(tmp_path / "d", {101: _full(101), 102: _full(102)})
    with pytest.raises(ValueError, match="2 of 2 stays are left with missing="):
        physionet.load(Config(root=str(root)))
    with pytest.raises(ValueError, match="none of the records of"):
        physionet.load(Config(root=str(_write(tmp_path / "e", {101: _record(101)}))))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda root: (root / "set-a.tar.gz").unlink(), "should hold the records of set a: set-a"),
        (lambda root: (root / "set-a.tar.gz").write_bytes(b"no archive"), "set a .* cannot be re"),
        (lambda root: _tear(root / "set-a.tar.gz"), "records of set a .* cannot be read"),
        (lambda root: (root / "Outcomes-a.txt").unlink(), "outcomes .* cannot be read"),
        (lambda root: (root / "Outcomes-a.txt").write_text("a,b\n1,2\n"), "outcomes .*RecordID"),
        (lambda root: _keep_heading(root / "Outcomes-a.txt"), "outcomes .* it has no rows"),
    ],
)
def test_damaged_files_are_named_and_leave_no_cache(tmp_path, damage, message):
    texts = {number: _full(number) for number in range(101, 111)}
    root = _write(tmp_path / "d", texts, archive=True)
    damage(root)
    with pytest.raises(ValueError, match=message):
        physionet.load(Config(root=str(root)))
    assert list((tmp_path / "cache").iterdir()) == []


def _keep_heading(path: Path) -> None:
    path.write_text(path.read_text().splitlines(keepends=True)[0])


def _tear(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def test_without_files_and_cache_the_message_says_what_to_do(tmp_path):
    with pytest.raises(ValueError, match=r"there is neither.*prepare physionet --root DIR"):
        physionet.load(Config())


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"sets": ["d"]}, "sets must be one of a, b, c"),
        ({"sets": []}, "sets must name some of a, b, c"),
        ({"sets": ["a", "a"]}, "each once"),
        ({"window": 0}, "window must be at least 1"),
        ({"test": 1.0}, "test must lie between 0 and 1"),
        ({"broken": 1.0}, "broken must be at least 0 and below 1"),
        ({"grid": "noon"}, "grid must be one of admission, first"),
    ],
)
def test_settings_are_checked(setting, message):
    with pytest.raises(ValueError, match=message):
        load_data("physionet", setting)


def test_the_source_lists_three_sets_with_their_outcomes():
    names = [name for k in "abc" for name in (f"set-{k}.tar.gz", f"Outcomes-{k}.txt")]
    assert list(physionet.SET.source.files) == names
    assert "ODC-By" in physionet.SET.source.terms


@pytest.mark.parametrize("method", ["dsvae", "cdsvae", "spyl", "dbse"])
def test_there_is_a_preset_for_every_method_of_the_papers(method):
    assert "training" in read_preset("physionet", method)
