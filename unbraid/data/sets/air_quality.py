"""Beijing Multi-Site Air Quality: 12 stations, hour by hour, March 2013 to February 2017.

As GLR, SPYL and DBSE prepare it: a sequence is the first 672 hours of a month at a station (576 in
all), a step is a day of 24 hours, ten channels are seen. 2016 is test (144), of the rest 15 % by
seed are validation. Static factors are station, month and season; dynamic is the rain of a day.

Rain is the total of a day in mm, though SPYL calls it "average daily rain level": the published
errors are near 1.8, and on the test days always saying "dry" errs by 1.96 mm of the total but by
0.08 of the hourly mean. Hours whose rain is not known (377 of 387,072) count as dry.

`cut` says what validation keeps together. "sequence" is the published way: every month of a
station by itself. But the stations share the weather, so for nearly every validation sequence
training holds the same month of a neighbour; "month" keeps a calendar month of all stations on one
side. Test is a year of its own either way. Another `test_year` leaves 2016 out of every split, to
choose settings by a year whose weather neither model nor predictor has seen. Probes keep a calendar
month of all stations on one side, except the probe of the month itself.

Departures: what is missing is unobserved, not 0.
"""

import hashlib
import io
import logging
import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unbraid.data.cache import NewArray
from unbraid.data.collection import Collection
from unbraid.data.corpus import Array, Corpus, cut_validation
from unbraid.data.download import Publisher
from unbraid.data.published import Progress, Published
from unbraid.data.windows import cut_windows
from unbraid.records import Factor
from unbraid.settings import at_least, proper_share, share_below_one

HOURS = 28 * 24  # of a sequence
TEST_YEAR = 2016  # of the published numbers
CHANNELS = ("PM2.5", "PM10", "SO2", "NO2", "CO", "O3", "TEMP", "PRES", "DEWP", "WSPM")
COLUMNS = ("year", "month", "day", "hour", "RAIN", *CHANNELS)
SEASONS = ("winter", "spring", "summer", "autumn")
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
# station -> SHA-256 of its table. One public copy of Aotizhongxin has an empty cell for one "NA".
STATIONS = {
    "Aotizhongxin": "a94fbcfc71708b6ffdc033360163d91efb7f675e496f6b5860929aa96b96351b",
    "Changping": "a2e21402a6d95fb7043f87959e6e3dcbecb957aac356a6f8028a85b047c772e7",
    "Dingling": "3d8dff81f18a80d9f455876a785642bffe1e9b9924ec1e6b7ce8cca790432eeb",
    "Dongsi": "9c0020214425e5ee2a64d42f97a1f632e1d8f6b53ad50edd85a686cc7999f27e",
    "Guanyuan": "59390fee3b032597b387491f5230e7edb90a8558e30217ebd6d9befbe669fbf9",
    "Gucheng": "10ae48801ea55869fee56a48b885fb1127859c130551888d71673f34216ba951",
    "Huairou": "812dcbe848b3ba2c2d25731064797bff803c46eb0c602156a1fa044df136dc26",
    "Nongzhanguan": "572cf87b65ef543cd55d3a711b28474def224a46b0ec3fc8add8aaf13b67a487",
    "Shunyi": "520b59e4ead3b0cfe7f1ed673e30275de8441e999db6f413d5172d2277b8c15a",
    "Tiantan": "0743e34799cf1ee36195b73321b91baa5625276532e7263c588f68cdef3b4daa",
    "Wanliu": "0b1a6d754a07f0def2f55434ddfa3870dcd0063b7f766a6f66b6c11bb05a377a",
    "Wanshouxigong": "ab1d6a356d6997a45f6d657ad47de1e05a4a08d4a7015b38a329a90665ab74d0",
}
_OTHER_COPY = "20eb12cbe62df6000a00bdb49ad1c15af8bba31b060025816764820fb811a0ec"
_TABLE = re.compile(r"PRSA_Data_(\w+)_20130301-20170228\.csv")
_log = logging.getLogger(__name__)

SET = Published(
    name="air-quality",
    folder="beijing_air_quality",
    source=Publisher(
        name="Beijing Multi-Site Air Quality",
        base="https://archive.ics.uci.edu/static/public/501",
        # An archive of an archive, packed anew from time to time: the tables in it are checked.
        files={"beijing+multi+site+air+quality+data.zip -> air_quality.zip": ""},
        licence="Creative Commons Attribution 4.0 (CC BY 4.0).",
        citation="S. Chen, Beijing Multi-Site Air Quality, UCI Machine Learning Repository, 2017, "
        "doi:10.24432/C5RK5G; S. Zhang, B. Guo, A. Dong, J. He, Z. Xu and S. X. Chen, Cautionary "
        "Tales on Air-Quality Improvement in Beijing, Proc. R. Soc. A 473, 2017.",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Where the tables are and how the sequences are cut."""

    root: str = ""  # folder of the tables; empty: UNBRAID_DATA/beijing_air_quality
    window: int = 24  # hours of a step
    cut: Literal["sequence", "month"] = "sequence"  # what validation keeps together: see above
    test_year: Literal[2013, 2014, 2015, 2016] = 2016  # another: 2016 is in no split
    validation: float = 0.15  # share of what is neither test nor of 2016
    broken: float = 0.1  # share of missing or unreadable stations above which preparation stops
    seed: int = 0  # decides what validates

    def __post_init__(self) -> None:
        at_least(self, 1, "window")
        if self.window > HOURS:
            raise ValueError(f"window must be at most {HOURS} hours, got {self.window}.")
        proper_share(self, "validation")
        share_below_one(self, "broken")


def load(config: Config, *, progress: Progress | None = None) -> Corpus:
    """Return the sequences, from the cache or, the first time, from the tables.

    Raises:
        ValueError: tables are missing or unreadable, or hold other hours.
    """
    prepared = SET.open(
        config.root, {}, lambda root, new: _build(new, root, config.broken, progress)
    )
    arrays = prepared.arrays
    x, observed, _ = cut_windows(arrays["x"], config.window, observed=arrays["observed"])
    year, month = np.asarray(arrays["year"]), np.asarray(arrays["month"])
    starts = np.arange(0, HOURS, config.window)
    labels = {
        "season": (month + 1) % 12 // 3,  # December to February is winter
        "month": month,
        "station": np.asarray(arrays["station"]),
        "rain": np.add.reduceat(arrays["rain"], starts, axis=1),
        "year": year,
        "period": year * 12 + month,
    }
    collection = Collection(
        name="air-quality",
        kind="series",
        x=x,
        observed=observed,
        labels=labels,
        group="period",
        static=(
            Factor(name="season", classes=len(SEASONS), values=SEASONS),
            Factor(name="month", classes=len(MONTHS), values=MONTHS),
            Factor(name="station", classes=len(STATIONS), values=tuple(STATIONS)),
        ),
        dynamic=(Factor(name="rain", classes=0, per_step=True),),
        rate=float(config.window),
        channels=CHANNELS,
        skipped=prepared.facts["skipped"],
    )
    test = np.flatnonzero(year == config.test_year)
    rest = np.flatnonzero((year != config.test_year) & (year != TEST_YEAR))
    if not len(test):
        raise ValueError(f"the tables have no month of {config.test_year}, which is the test year.")
    groups = np.arange(len(x)) if config.cut == "sequence" else labels["period"]
    train, validation = cut_validation(rest, groups, share=config.validation, seed=config.seed)
    return collection.cut(train=train, validation=validation, test=test)


def _build(
    new: NewArray, root: Path, broken: float, progress: Progress | None
) -> dict[str, dict[str, str]]:
    """Fill the arrays, station after station; return what was skipped, and why."""
    texts = dict(_read_texts(root))
    parts: list[dict[str, Array]] = []
    notes, bad = {}, {}
    for number, (station, sha256) in enumerate(STATIONS.items()):
        try:
            part = read_table(texts[station])
        except (KeyError, ValueError) as error:
            bad[station] = "there is no table" if station not in texts else str(error)
            continue
        parts.append(part | {"station": np.full(len(part["year"]), number)})
        if hashlib.sha256(texts[station]).hexdigest() not in (sha256, _OTHER_COPY):
            notes[f"{station} (used)"] = "its table is not the published one, bit for bit"
            _log.warning("air-quality: the table of %s is not the published one.", station)
        if progress is not None:
            progress((number + 1) / len(STATIONS))
    if len(bad) > broken * len(STATIONS):
        some = "; ".join(f"{name}: {reason}" for name, reason in list(bad.items())[:3])
        raise ValueError(
            f"{len(bad)} of {len(STATIONS)} stations in {root} cannot be used: {some}. Get the "
            "tables with `unbraid data prepare air-quality --root DIR --download`."
        )
    for name in parts[0]:
        joined = np.concatenate([part[name] for part in parts])
        new(name, joined.shape, joined.dtype)[:] = joined
    return {"skipped": notes | bad}


def read_table(text: bytes) -> dict[str, Array]:
    """Return the first 672 hours of every month of a station, with year and month (0 to 11).

    Raises:
        ValueError: it is no such table, or hours are missing.
    """
    rows = _read_columns(text)
    moment = rows[:, 0] * 12 + rows[:, 1] - 1
    starts = np.flatnonzero(np.diff(moment, prepend=-1))
    starts = starts[np.diff(starts, append=len(rows)) >= HOURS]
    months = rows[starts[:, None] + np.arange(HOURS)]  # (N, hours, columns)
    hour = (months[..., 2] - 1) * 24 + months[..., 3]
    if not len(months) or not (hour == np.arange(HOURS)).all():
        raise ValueError("its rows are not the hours of months, one after the other")
    values, rain = months[..., 5:], months[..., 4]
    return {
        "x": np.nan_to_num(values).astype(np.float32),
        "observed": ~np.isnan(values),
        "rain": np.nan_to_num(rain),
        "year": months[:, 0, 0].astype(np.int64),
        "month": months[:, 0, 1].astype(np.int64) - 1,
    }


def _read_columns(text: bytes) -> NDArray[np.float64]:
    """Return the columns in use as numbers; `NA` and empty cells are NaN."""
    first, _, body = text.partition(b"\n")
    heading = first.decode(errors="replace").replace('"', "").strip().split(",")
    missing = [name for name in COLUMNS if name not in heading]
    if missing or not body.strip():
        raise ValueError(f"it has no column {', '.join(missing)}" if missing else "it has no rows")
    body = body.replace(b",NA", b",nan").replace(b",,", b",nan,").replace(b",,", b",nan,")
    try:
        return np.loadtxt(
            io.BytesIO(body),
            delimiter=",",
            quotechar='"',
            comments=None,
            ndmin=2,
            usecols=[heading.index(name) for name in COLUMNS],
        )
    except ValueError as error:
        raise ValueError(f"it has a wrong row: {error}") from None


def _read_texts(root: Path) -> Iterator[tuple[str, bytes]]:
    """Yield (station, table) from files, else from archives and the archives in them."""
    files = [path for path in sorted(root.rglob("*.csv")) if _TABLE.fullmatch(path.name)]
    archives = [] if files else sorted(root.glob("*.zip"))
    place = root
    try:
        for place in files:
            yield _TABLE.sub(r"\1", place.name), place.read_bytes()
        for place in archives:
            yield from _unzip(place.read_bytes())
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError) as error:
        raise ValueError(f"{place} cannot be read: {error}.") from None


def _unzip(archive: bytes, *, inner: bool = False) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(archive)) as file:
        for name in file.namelist():
            if match := _TABLE.fullmatch(Path(name).name):
                yield match[1], file.read(name)
            elif name.endswith(".zip") and not inner:
                yield from _unzip(file.read(name), inner=True)
