import csv
import hashlib
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from unbraid.data import load_data
from unbraid.data.sets import etth1
from unbraid.data.sets.etth1 import Config, read_months
from unbraid.runs.plan import read_preset

PARTS = ("train", "validation", "test")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("UNBRAID_DATA", raising=False)


@pytest.fixture
def real(real_data, monkeypatch) -> Path:
    monkeypatch.setenv("UNBRAID_DATA", str(real_data))
    return real_data / "etth1" / "ETTh1.csv"


def _table(start: str = "2016-11-01", hours: int = 24 * 212) -> str:
    """A look-alike of seven months whose oil temperature is the hour since its start."""
    first = datetime.fromisoformat(start)
    lines = [
        f"{first + timedelta(hours=hour)},{hour % 24},{hour % 7},3,4,5,{hour % 5},{hour}"
        for hour in range(hours)
    ]
    return "\n".join([etth1.HEADING, *lines, ""])


def _folder(tmp_path: Path, text: str) -> str:
    (tmp_path / "ett").mkdir(exist_ok=True)
    (tmp_path / "ett" / "ETTh1.csv").write_text(text)
    return str(tmp_path / "ett")


@pytest.mark.data
def test_twenty_three_months_have_672_hours_and_june_2018_has_not(real):
    corpus = load_data("etth1")
    assert corpus.train.x.shape == (23, 28, 24, 6)
    assert corpus.train.x.dtype == np.float32
    assert corpus.skipped == {"2018-06": "620 hours, fewer than 672"}
    moments = list(zip(corpus.train.labels["year"], corpus.train.labels["month"] + 1, strict=True))
    wanted = [(2016 + m // 12, m % 12 + 1) for m in range(6, 29)]  # July 2016 to May 2018
    assert moments == wanted


@pytest.mark.data
def test_windows_and_targets_are_those_of_the_table(real):
    with real.open() as file:
        rows = list(csv.DictReader(file))
    corpus = load_data("etth1")
    for sequence, (year, month) in enumerate([(2016, 7), (2016, 8), (2016, 9)]):
        start = f"{year}-{month:02d}-15"  # day 15 of the month
        day = [row for row in rows if row["date"].startswith(start)]
        loads = [[float(row[name]) for name in etth1.CHANNELS] for row in day]
        np.testing.assert_allclose(corpus.test.x[sequence, 14], loads, rtol=1e-6)
        oil = corpus.test.label("oil_temperature")[sequence, 14]
        assert oil == pytest.approx(sum(float(row["OT"]) for row in day) / 24)


@pytest.mark.data
def test_the_authors_test_on_2016_and_cut_validation_by_seed(real):
    corpus = load_data("etth1")
    assert [len(corpus.split(part)) for part in PARTS] == [14, 3, 6]
    assert set(corpus.test.label("year")) == {2016}
    rows = np.concatenate([corpus.split(part).rows for part in PARTS])
    assert sorted(rows) == list(range(23))
    other = load_data("etth1", {"seed": 1})
    assert not np.array_equal(other.validation.rows, corpus.validation.rows)
    assert np.array_equal(other.test.rows, corpus.test.rows)


@pytest.mark.data
def test_the_paper_cuts_twelve_four_and_four_months_in_order_of_time(real):
    corpus = load_data("etth1", {"cut": "paper"})
    assert [corpus.split(part).rows.tolist() for part in PARTS] == [
        list(range(12)),
        list(range(12, 16)),
        list(range(16, 20)),
    ]
    assert corpus.spec.size == 12


@pytest.mark.data
def test_training_values_are_standardised_and_all_are_known(real):
    corpus = load_data("etth1")
    batch = corpus.train.take(slice(None))
    assert batch.observed is None
    flat = batch.x.reshape(-1, 6).double()
    assert flat.mean(0).abs().max() < 1e-4
    assert (flat.std(0) - 1).abs().max() < 1e-3


@pytest.mark.data
def test_the_source_has_the_hash_of_the_table(real):
    assert hashlib.sha256(real.read_bytes()).hexdigest() == etth1.SET.source.files["ETTh1.csv"]
    assert "CC BY-ND 4.0" in etth1.SET.source.terms


def test_a_month_begins_with_its_first_hour_and_its_rest_is_left_out():
    months, skipped = read_months(_table().encode())
    assert skipped == {}
    assert months["x"].shape == (7, 672, 6)
    november = 30 * 24
    assert months["oil"][:, 0].tolist()[:3] == [0, november, november + 31 * 24]
    assert months["oil"][0, -1] == 671


def test_targets_are_means_of_windows(tmp_path):
    root = _folder(tmp_path, _table())
    corpus = etth1.load(Config(root=root))
    assert corpus.test.label("oil_temperature")[0, :2].tolist() == [11.5, 35.5]
    assert corpus.test.label("oil_temperature").shape == (2, 28)
    uneven = etth1.load(Config(root=root, window=100))
    assert uneven.spec.length == 7
    assert uneven.test.label("oil_temperature")[0, -1] == pytest.approx(600 + 35.5)
    assert not uneven.train.observed[:, -1, 72:].any()


def test_another_copy_is_used_but_said_to_be_one(tmp_path, caplog):
    corpus = etth1.load(Config(root=_folder(tmp_path, _table())))
    assert "not the published table" in corpus.skipped["ETTh1.csv (used)"]
    assert "not the published table" in caplog.text


def test_once_prepared_the_table_is_not_needed(tmp_path):
    root = _folder(tmp_path, _table())
    first = etth1.load(Config(root=root))
    second = etth1.load(Config())
    assert np.array_equal(first.train.x, second.train.x)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "its first line should be 'date,HUFL"),
        ("date,OT\n", "its first line should be 'date,HUFL"),
        (_table(hours=24), "no month has 672 hours"),
        (_table("2016-11-02", hours=28 * 24), "2016-11 does not begin with its first hour"),
        (_table().replace("2016-11-03 05:00:00", "2016-11-03 06:00:00"), "after 2016-11-03T04"),
        (_table().replace("2016-11-03 05:00:00", "yesterday"), "it has a wrong row"),
        (_table().replace(",5,3,4,5,2,", ",x,3,4,5,2,"), "it has a wrong row"),
        (_table().replace(",5,3,4,5,2,", ",nan,3,4,5,2,"), "values that are not finite"),
    ],
)
def test_a_wrong_table_is_named_and_leaves_no_cache(tmp_path, text, message):
    root = _folder(tmp_path, text)
    with pytest.raises(ValueError, match=f"ETTh1.csv cannot be used: .*{message}"):
        etth1.load(Config(root=root))
    assert list((tmp_path / "cache").iterdir()) == []


def test_missing_files_are_said_to_be_missing(tmp_path):
    with pytest.raises(ValueError, match=r"there is neither.*prepare etth1 --root DIR"):
        etth1.load(Config())
    with pytest.raises(ValueError, match=r"ETTh1.csv cannot be read \(No such file.*--download"):
        etth1.load(Config(root=str(tmp_path)))


def test_months_that_do_not_fit_the_cut_are_refused(tmp_path):
    root = _folder(tmp_path, _table("2017-01-01"))
    with pytest.raises(ValueError, match="cut = 'authors' tests on 2016"):
        etth1.load(Config(root=root))
    with pytest.raises(ValueError, match="cut = 'paper' wants 20 months, the table has 7"):
        etth1.load(Config(root=root, cut="paper"))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"cut": "half"}, "cut must be one of authors, paper"),
        ({"window": 0}, "window must be at least 1"),
        ({"window": 700}, "window must be at most 672"),
        ({"validation": 0.0}, "validation must lie between 0 and 1"),
    ],
)
def test_settings_are_checked(setting, message):
    with pytest.raises(ValueError, match=message):
        load_data("etth1", setting)


@pytest.mark.parametrize("method", ["dsvae", "cdsvae", "spyl", "dbse"])
def test_presets_take_batches_that_the_few_months_can_fill(method):
    assert read_preset("etth1", method)["training"]["batch_size"] <= 14
