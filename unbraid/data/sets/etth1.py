"""ETTh1: load and oil temperature of an electricity transformer, hour by hour, for two years.

As DBSE prepares it: a sequence is the first 672 hours of a month, a step is a day of 24 hours, the
six loads are seen. The dynamic factor is the mean oil temperature of a day. July 2016 to June 2018
gives 23 sequences, for June 2018 stops after 620 hours: so few that a published spread means
little, and month and year are labels but no factors (a class of month has two sequences at most).
In 2016 the oil was twice as warm as later (22 against 11 °C): always saying the training mean errs
by about 12 on those months (11.5 to 12.7 for five seeds), which is where the published errors lie,
too.

`cut` says which months are test:

* "authors": those of 2016 (6); of the 17 others 15 % by seed (3) are validation. The
  authors' public code does this, so the published numbers are presumably of these months.
* "paper": the text of the paper has "a 12/4/4-month split", as others use it for ETT: in order of
  time 12 months of training, 4 of validation and 4 of test. The last 3 months are not used.

Departures: none.
"""

import hashlib
import io
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from unbraid.data.cache import NewArray
from unbraid.data.collection import Collection
from unbraid.data.corpus import Array, Corpus, Rows, cut_validation
from unbraid.data.download import Publisher
from unbraid.data.published import Progress, Published
from unbraid.data.windows import cut_windows, window_labels
from unbraid.records import Factor
from unbraid.settings import at_least, proper_share

FILE = "ETTh1.csv"
HOURS = 28 * 24  # of a sequence
TEST_YEAR = 2016
CHANNELS = ("HUFL", "HULL", "MUFL", "MULL", "LUFL", "LULL")  # high, middle, low; useful, useless
HEADING = ",".join(("date", *CHANNELS, "OT"))
SHA256 = "f18de3ad269cef59bb07b5438d79bb3042d3be49bdeecf01c1cd6d29695ee066"
PAPER = (12, 4, 4)  # months of training, validation and test
_log = logging.getLogger(__name__)

SET = Published(
    name="etth1",
    folder="etth1",
    source=Publisher(
        name="ETTh1, electricity transformer temperature",
        base="https://raw.githubusercontent.com/zhouhaoyi/ETDataset/main/ETT-small",
        files={FILE: SHA256},
        licence="Creative Commons Attribution-NoDerivatives 4.0 (CC BY-ND 4.0): pass on whole "
        "copies only.",
        citation="H. Zhou, S. Zhang, J. Peng, S. Zhang, J. Li, H. Xiong and W. Zhang, Informer: "
        "Beyond Efficient Transformer for Long Sequence Time-Series Forecasting, AAAI 2021.",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Where the table is and how the months are cut."""

    root: str = ""  # folder of ETTh1.csv; empty: UNBRAID_DATA/etth1. Unused once prepared
    window: int = 24  # hours of a step
    cut: Literal["authors", "paper"] = "authors"  # which months are test: see above
    validation: float = 0.15  # share of the months that are not test; "authors" alone
    seed: int = 0  # decides which months validate; "authors" alone

    def __post_init__(self) -> None:
        at_least(self, 1, "window")
        if self.window > HOURS:
            raise ValueError(f"window must be at most {HOURS} hours, got {self.window}.")
        proper_share(self, "validation")


def load(config: Config, *, progress: Progress | None = None) -> Corpus:
    """Return the months, from the cache or, the first time, from the table.

    Raises:
        ValueError: the table is missing or unreadable, or holds too few months.
    """
    prepared = SET.open(config.root, {}, lambda root, new: _build(new, root, progress))
    arrays = prepared.arrays
    x, observed, _ = cut_windows(arrays["x"], config.window)
    moment = np.asarray(arrays["moment"])
    labels = {
        "oil_temperature": window_labels(np.asarray(arrays["oil"]), config.window, HOURS),
        "month": moment % 12,
        "year": moment // 12 + 1970,
    }
    collection = Collection(
        name="etth1",
        kind="series",
        x=x,
        observed=observed,
        labels=labels,
        dynamic=(Factor(name="oil_temperature", classes=0, per_step=True),),
        rate=float(config.window),
        channels=CHANNELS,
        skipped=prepared.facts["skipped"],
    )
    return collection.cut(**_rows(labels["year"], config))


def _rows(year: Array, config: Config) -> dict[str, Rows]:
    """Return the months of every split; those of the arrays are in order of time."""
    if config.cut == "paper":
        ends = np.cumsum(PAPER)
        if len(year) < ends[-1]:
            raise ValueError(f"cut = 'paper' wants {ends[-1]} months, the table has {len(year)}.")
        train, validation, test, _ = np.split(np.arange(len(year)), ends)
        return {"train": train, "validation": validation, "test": test}
    rest, test = np.flatnonzero(year != TEST_YEAR), np.flatnonzero(year == TEST_YEAR)
    if not len(test):
        raise ValueError(f"cut = 'authors' tests on {TEST_YEAR}, of which the table has no month.")
    groups, share = np.arange(len(year)), config.validation
    train, validation = cut_validation(rest, groups, share=share, seed=config.seed)
    return {"train": train, "validation": validation, "test": test}


def _build(new: NewArray, root: Path, progress: Progress | None) -> dict[str, dict[str, str]]:
    """Fill the arrays; return which months were skipped."""
    path = root / FILE
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ValueError(
            f"{path} cannot be read ({error.strerror}). Get it with `unbraid data prepare etth1 "
            "--root DIR --download`."
        ) from None
    try:
        months, skipped = read_months(text)
    except ValueError as error:
        raise ValueError(f"{path} cannot be used: {error}.") from None
    if hashlib.sha256(text).hexdigest() != SHA256:
        _log.warning("etth1: %s is not the published table, bit for bit.", path)
        skipped[f"{FILE} (used)"] = "it is not the published table, bit for bit"
    for name, values in months.items():
        new(name, values.shape, values.dtype)[:] = values
    if progress is not None:
        progress(1.0)
    return {"skipped": skipped}


def read_months(text: bytes) -> tuple[dict[str, Array], dict[str, str]]:
    """Return the first 672 hours of every month, and why months were skipped.

    Raises:
        ValueError: it is no such table, or hours are missing; the message says which.
    """
    hour, values = _read_hours(text)
    month = hour.astype("datetime64[M]")
    names, starts, counts = np.unique(month, return_index=True, return_counts=True)
    long = counts >= HOURS
    skipped = {
        str(name): f"{count} hours, fewer than {HOURS}"
        for name, count in zip(names[~long], counts[~long], strict=True)
    }
    rows = starts[long][:, None] + np.arange(HOURS)  # (N, hours)
    if not len(rows):
        raise ValueError(f"no month has {HOURS} hours")
    late = hour[rows[:, 0]] != names[long].astype("datetime64[h]")
    if late.any():
        raise ValueError(f"{names[long][late][0]} does not begin with its first hour")
    moment = names[long].astype(np.int64)  # months since 1970
    x, oil = values[rows][..., :-1].astype(np.float32), values[rows][..., -1]
    return {"x": x, "oil": oil, "moment": moment}, skipped


def _read_hours(text: bytes) -> tuple[Array, Array]:
    """Return the hours, one after the other, and their values: loads, then oil temperature."""
    heading, _, body = text.partition(b"\n")
    if heading.strip() != HEADING.encode() or not body.strip():
        raise ValueError(f"its first line should be '{HEADING}', with rows below")
    row = np.dtype([("date", "S19"), ("values", "f8", (len(CHANNELS) + 1,))])
    try:
        rows = np.loadtxt(io.BytesIO(body), dtype=row, delimiter=",", comments=None, ndmin=1)
        hour = rows["date"].astype("U19").astype("datetime64[s]").astype("datetime64[h]")
    except ValueError as error:
        raise ValueError(f"it has a wrong row: {error}") from None
    gaps = np.flatnonzero(np.diff(hour) != np.timedelta64(1, "h"))
    if len(gaps):
        raise ValueError(f"the hour after {hour[gaps[0]]} is {hour[gaps[0] + 1]}")
    if not np.isfinite(rows["values"]).all():
        raise ValueError("it has values that are not finite")
    return hour, rows["values"]
