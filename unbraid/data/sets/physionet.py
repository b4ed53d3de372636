"""PhysioNet/CinC Challenge 2012: the first 48 hours in intensive care, ten signs, hour by hour.

As GLR, SPYL and DBSE prepare it: the mean of every hour, implausible values taken out, a stay
dropped if more than 60 % of its values are missing or it has fewer than 40 hours, windows of four
hours. Static factors are in-hospital death and the unit (ICU type); of dynamic factors none is
labelled. In record order the first 20 % of the stays are test; 20 % of the others, by seed, are
validation. Who a patient is was not published, so every stay counts as a person of its own.

Departures: hours begin at admission (`grid`, explained in physionet_records.py, takes the
authors' hours, too; half of all stays have close to 60 % of their values missing, so of set a
1,780 stays are kept with ours and 1,858 with theirs). The authors pad to 80 hours; here lengths
and masks are obeyed, so 48 is enough. Sets b and c come after a in record order: with all three,
test is still from set a.
"""

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unbraid.data.cache import NewArray
from unbraid.data.collection import Collection
from unbraid.data.corpus import Array, Corpus, cut_validation
from unbraid.data.download import Publisher
from unbraid.data.published import Progress, Published
from unbraid.data.sets.intensive_care import (
    SIGNS,
    UNITS,
    Grid,
    read_outcomes,
    read_stay,
    read_texts,
)
from unbraid.data.windows import cut_windows
from unbraid.records import Factor
from unbraid.settings import at_least, proper_share, share_below_one

PUBLISHED = {"a": (4000, 554), "b": (4000, 568), "c": (4000, 585)}  # records, deaths
LABELS = ("mortality", "icu_type", "age", "gender", "record")
_log = logging.getLogger(__name__)

SET = Published(
    name="physionet",
    folder="physionet2012",
    source=Publisher(
        name="PhysioNet/Computing in Cardiology Challenge 2012",
        base="https://physionet.org/files/challenge-2012/1.0.0",
        # Archives may be packed anew: the records and deaths in them are counted instead.
        files={name: "" for k in PUBLISHED for name in (f"set-{k}.tar.gz", f"Outcomes-{k}.txt")},
        licence="Open Data Commons Attribution 1.0 (ODC-By).",
        citation="I. Silva, G. Moody, D. J. Scott, L. A. Celi and R. G. Mark, Predicting "
        "In-Hospital Mortality of ICU Patients: The PhysioNet/Computing in Cardiology Challenge "
        "2012, Computing in Cardiology 39, 2012; A. L. Goldberger et al., PhysioBank, "
        "PhysioToolkit, and PhysioNet, Circulation 101(23), 2000.",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Where the records are, which stays are used, and how they are cut."""

    root: str = ""  # folder of the records; empty: UNBRAID_DATA/physionet2012. Unused once prepared
    sets: tuple[Literal["a", "b", "c"], ...] = ("a",)  # the papers use set a
    grid: Grid = "admission"  # where the hours begin; "first": at the first row, as the authors'
    window: int = 4  # hours of a step
    missing: float = 0.6  # a stay with a larger share of missing values is dropped
    hours: int = 40  # a stay with fewer is dropped
    test: float = 0.2  # share of the stays, the first in record order
    validation: float = 0.2  # share of the other stays
    broken: float = 0.1  # share of unreadable records above which preparation stops
    seed: int = 0  # decides which stays validate

    def __post_init__(self) -> None:
        at_least(self, 1, "window", "hours")
        proper_share(self, "test", "validation")
        share_below_one(self, "broken")
        if not self.sets or len(set(self.sets)) < len(self.sets):
            raise ValueError(f"sets must name some of a, b, c, each once, got {list(self.sets)}.")


def load(config: Config, *, progress: Progress | None = None) -> Corpus:
    """Return the stays, from the cache or, the first time, from the records.

    Raises:
        ValueError: files are missing or unreadable, or too few stays are left.
    """
    options = {"sets": sorted(config.sets), "grid": config.grid}
    prepared = SET.open(config.root, options, lambda root, new: _build(new, root, config, progress))
    arrays = prepared.arrays
    rows, dropped = _select(arrays, config)
    if len(rows) < 3:
        raise ValueError(
            f"physionet: {len(rows)} of {len(arrays['x'])} stays are left with missing="
            f"{config.missing} and hours={config.hours}; training, validation and test need three."
        )
    x, observed, lengths = cut_windows(
        arrays["x"], config.window, observed=arrays["observed"], lengths=arrays["hours"]
    )
    collection = Collection(
        name="physionet",
        kind="series",
        x=x,
        observed=observed,
        lengths=lengths,
        labels={name: arrays[name] for name in LABELS},
        static=(
            Factor(name="mortality", classes=2, values=("survived", "died")),
            Factor(name="icu_type", classes=len(UNITS), values=UNITS),
        ),
        rate=float(config.window),
        channels=SIGNS,
        skipped={**prepared.facts["skipped"], **dropped},
    )
    first = max(1, int(config.test * len(rows)))
    train, validation = cut_validation(
        rows[first:], arrays["record"], share=config.validation, seed=config.seed
    )
    return collection.cut(train=train, validation=validation, test=rows[:first])


def _select(arrays: dict[str, Array], config: Config) -> tuple[NDArray[np.int64], dict[str, str]]:
    """Return the rows of the stays that are used, in record order, and why others are not."""
    hours = np.asarray(arrays["hours"])
    share = 1 - arrays["observed"].sum((1, 2)) / (hours * len(SIGNS))
    few, empty = hours < config.hours, share > config.missing
    reasons = {}
    for row in np.flatnonzero(few | empty).tolist():
        reasons[str(arrays["record"][row])] = (
            f"{hours[row]} hours, fewer than {config.hours}"
            if few[row]
            else f"{share[row]:.1%} of its values are missing, more than {config.missing:.1%}"
        )
    return np.flatnonzero(~(few | empty)), reasons


def _build(new: NewArray, root: Path, config: Config, progress: Progress | None) -> dict[str, Any]:
    """Fill the arrays of all readable stays; return what was skipped, and why."""
    stays: list[dict[str, Any]] = []
    skipped: dict[str, str] = {}
    for done, name in enumerate(sorted(config.sets), start=1):
        read, bad, note = _read_set(root, name, config)
        stays += read
        skipped |= bad | note
        if progress is not None:
            progress(done / len(config.sets))
    why = "no time series" if config.grid == "admission" else "no full hour of time series"
    bare = {str(stay["record"]): why for stay in stays if stay["hours"] == 0}
    stays = [stay for stay in stays if stay["hours"] > 0]
    if not stays:
        raise ValueError(f"none of the records of {root} has a time series.")
    means = np.stack([stay["means"] for stay in stays])  # (N, hours, signs)
    new("x", means.shape, np.float32)[:] = np.nan_to_num(means)
    new("observed", means.shape, np.bool_)[:] = ~np.isnan(means)
    for label in ("hours", *LABELS):
        new(label, (len(stays),), np.int64)[:] = [stay[label] for stay in stays]
    return {"skipped": skipped | bare}


def _read_set(
    root: Path, name: str, config: Config
) -> tuple[list[dict[str, Any]], dict[str, str], dict[str, str]]:
    """Return the stays of a set, why records cannot be used, and a note if it is another copy."""
    deaths = read_outcomes(root / f"Outcomes-{name}.txt")
    texts = dict(read_texts(root, name))
    stays, bad = [], {}
    for record, text in sorted(texts.items()):
        try:
            stay = read_stay(record, text, config.grid)
        except ValueError as error:
            bad[str(record)] = str(error)
            continue
        if record in deaths:
            stays.append(stay | {"mortality": deaths[record]})
        else:
            bad[str(record)] = f"it is not in Outcomes-{name}.txt"
    if len(bad) > config.broken * len(texts):
        some = "; ".join(f"{record}: {reason}" for record, reason in list(bad.items())[:3])
        raise ValueError(
            f"{len(bad)} of {len(texts)} records of set {name} in {root} cannot be used: {some}."
        )
    return stays, bad, _compare(name, len(texts), sum(deaths.values()))


def _compare(name: str, records: int, deaths: int) -> dict[str, str]:
    """Say so if a set is not the publisher's by its numbers of records and deaths."""
    wanted = PUBLISHED[name]
    if (records, deaths) == wanted:
        return {}
    note = f"{records} records and {deaths} deaths, the publisher's has {wanted[0]} and {wanted[1]}"
    _log.warning("physionet: set-%s is another copy: %s.", name, note)
    return {f"set-{name}": f"another copy: {note}"}
