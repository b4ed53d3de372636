"""Records of the PhysioNet Challenge 2012: files of rows `hh:mm,name,value` become hourly means.

Two grids of hours:

* "admission": hour k is [60 k, 60 k + 60) minutes after admission, up to 48. The only minute beyond
  them, 48:00 (455 of the 1.76 M rows of set a), belongs to the hour that ends there: a 49th would
  hold nothing else. A stay ends with the hour of its last row, whichever sign that is of.
* "first": as the authors have it. Hour k is (60 k, 60 k + 60] minutes after the first row and must
  be full, so the first and the last values of a stay are lost and 47 hours is the most.
"""

import io
import re
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unbraid.data.corpus import UNKNOWN, Array

Grid = Literal["admission", "first"]
HOURS = 48
# sign -> range of plausible values, ends included; others count as not measured: the authors' table
PLAUSIBLE = {
    "DiasABP": (1.0, 200.0),  # invasive diastolic pressure, mmHg; 0 is a disconnected line
    "GCS": (0.0, np.inf),  # Glasgow coma score
    "HCT": (0.0, np.inf),  # haematocrit, %
    "MAP": (1.0, np.inf),  # invasive mean pressure
    "NIDiasABP": (1.0, np.inf),  # the same three by cuff
    "NIMAP": (1.0, np.inf),
    "NISysABP": (1.0, np.inf),
    "RespRate": (1.0, np.inf),  # breaths per minute
    "SysABP": (1.0, np.inf),  # invasive systolic pressure
    "Temp": (25.0, 45.0),  # °C, once the units are put right
}
# Temperatures (low, high, factor, shift): °C taken for °F and converted once more; plain °F.
TEMPERATURE_UNITS = ((1.0, 10.0, 9 / 5, 32.0), (95.0, 113.0, 5 / 9, -160 / 9))
SIGNS = tuple(PLAUSIBLE)
DESCRIPTORS = (b"RecordID", b"Age", b"Gender", b"Height", b"ICUType", b"Weight")
UNITS = ("coronary care", "cardiac surgery recovery", "medical", "surgical")

_ROW = np.dtype([("time", "S5"), ("name", "S12"), ("value", "f8")])
_RECORD = re.compile(r"(\d+)\.txt")
_NAMES = np.array([name.encode() for name in SIGNS])  # ascending, for searchsorted
_LOW, _HIGH = np.array(list(PLAUSIBLE.values())).T


def read_stay(record: int, text: bytes, grid: Grid = "admission") -> dict[str, Any]:
    """Return a record as hourly means (48, 10), NaN where nothing was measured, and its labels.

    Raises:
        ValueError: a line is wrong; the message says which or what.
    """
    rows = _read_rows(text)
    minute = _minutes(rows["time"])
    about_stay = minute == 0
    about_stay[about_stay] = np.isin(rows["name"][about_stay], DESCRIPTORS)
    about = dict(zip(rows["name"][about_stay], rows["value"][about_stay], strict=True))
    if about.get(b"RecordID") != record:
        raise ValueError(f"it says that it is record {about.get(b'RecordID', 'unknown')}")
    series = ~about_stay & (rows["name"] != b"")  # set c has rows without a name
    rows, minute = rows[series], minute[series]
    hour, hours = _hours(minute, grid)
    place = np.searchsorted(_NAMES, rows["name"]).clip(max=len(SIGNS) - 1)
    wanted = (_NAMES[place] == rows["name"]) & (hour >= 0) & (hour < hours)
    unit = _whole(about, b"ICUType") - 1
    return {
        "record": record,
        "means": _hourly_means(hour[wanted], place[wanted], rows["value"][wanted]),
        "hours": hours,
        "icu_type": unit if 0 <= unit < len(UNITS) else UNKNOWN,
        "age": _whole(about, b"Age"),
        "gender": _whole(about, b"Gender"),  # 0 female, 1 male
    }


def _hours(minute: NDArray[np.int64], grid: Grid) -> tuple[NDArray[np.int64], int]:
    """Return the hour of every row, and how many hours the stay has."""
    if not len(minute):
        return minute, 0
    if grid == "admission":
        hour = np.minimum(minute // 60, HOURS - 1)
        return hour, int(hour.max()) + 1
    since = minute - minute.min()
    return (since - 1) // 60, max(0, int(since.max()) - 1) // 60


def _hourly_means(hour: Array, place: Array, value: Array) -> NDArray[np.float64]:
    """Return the mean of the plausible values of every hour and sign; NaN where there is none."""
    value = value.copy()
    for low, high, factor, shift in TEMPERATURE_UNITS:
        wrong = (place == SIGNS.index("Temp")) & (value > low) & (value < high)
        value[wrong] = value[wrong] * factor + shift
    good = (value >= _LOW[place]) & (value <= _HIGH[place]) & np.isfinite(value)
    cell, size = (hour * len(SIGNS) + place)[good], HOURS * len(SIGNS)
    count = np.bincount(cell, minlength=size)
    total = np.bincount(cell, weights=value[good], minlength=size)
    means = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return means.reshape(HOURS, len(SIGNS))


def _whole(about: dict[bytes, float], name: bytes) -> int:
    value = about.get(name, UNKNOWN)
    return int(value) if np.isfinite(value) else UNKNOWN


def _read_rows(text: bytes) -> NDArray[Any]:
    """Return the rows `hh:mm,name,value` below the heading."""
    heading, _, body = text.partition(b"\n")
    if heading.strip() != b"Time,Parameter,Value" or not body.strip():
        raise ValueError("it should begin with 'Time,Parameter,Value' and go on with such rows")
    try:
        return np.loadtxt(io.BytesIO(body), dtype=_ROW, delimiter=",", comments=None, ndmin=1)
    except ValueError as error:
        raise ValueError(f"it has a wrong row: {error}") from None


def _minutes(times: Array) -> NDArray[np.int64]:
    """Return `hh:mm` as minutes."""
    signs = np.ascontiguousarray(times).view(np.uint8).reshape(-1, 5).astype(np.int64) - ord("0")
    digits = signs[:, [0, 1, 3, 4]]
    minutes = digits @ np.array([600, 60, 10, 1])
    right = (digits >= 0).all(1) & (digits <= 9).all(1) & (signs[:, 2] == ord(":") - ord("0"))
    right &= minutes <= HOURS * 60
    if not right.all():
        wrong = times[~right][0].decode(errors="replace")
        raise ValueError(f"it has a time {wrong!r}, wanted hh:mm up to {HOURS}:00")
    return minutes


def read_texts(root: Path, name: str) -> Iterator[tuple[int, bytes]]:
    """Yield (record, text) of a set, from its folder or its archive, which is never unpacked."""
    folder, archive = root / f"set-{name}", root / f"set-{name}.tar.gz"
    try:
        if folder.is_dir():
            for path in sorted(folder.iterdir()):
                if match := _RECORD.fullmatch(path.name):
                    yield int(match[1]), path.read_bytes()
            return
        with tarfile.open(archive) as file:
            for member in file:
                opened = file.extractfile(member) if member.isreg() else None
                if opened and (match := _RECORD.fullmatch(Path(member.name).name)):
                    yield int(match[1]), opened.read()
    except FileNotFoundError:
        raise ValueError(
            f"{root} should hold the records of set {name}: {archive.name} or a folder "
            f"{folder.name}. Get them with `unbraid data prepare physionet --root DIR --download`."
        ) from None
    except (OSError, EOFError, tarfile.TarError, zlib.error) as error:
        raise ValueError(f"the records of set {name} in {root} cannot be read: {error}.") from None


def read_outcomes(path: Path) -> dict[int, int]:
    """Return record -> 1 if the patient died in hospital, else 0."""
    try:
        heading, *lines = path.read_text(encoding="utf-8").splitlines() or [""]
        names = heading.strip().split(",")
        columns = [names.index(name) for name in ("RecordID", "In-hospital_death")]
        if not lines:
            raise ValueError("it has no rows")
        table = np.loadtxt(lines, delimiter=",", usecols=columns, dtype=np.int64, ndmin=2)
    except (OSError, ValueError) as error:
        raise ValueError(f"the outcomes {path} cannot be read as a table: {error}.") from None
    return dict(table.tolist())
