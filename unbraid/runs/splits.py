"""Which sequences a run was trained, chosen and tested on: kept with the run, checked later."""

import csv
import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbraid.data.collection import PARTS
from unbraid.data.corpus import Corpus, Split
from unbraid.files import write_whole

LOOKED_AT = 8  # sequences of a split whose values are told
MEASURING = (
    "Measuring now could mix training sequences into the test. Restore the data, or give the "
    "sequences with --input."
)
TRAINING = (
    "Going on would mix two data sets, and test sequences may already have been trained on. "
    "Restore them, or start a new run with another --out or --seed."
)


def split_facts(corpus: Corpus) -> dict[str, Any]:
    """Return, for every split, how many sequences it has, which ones, and what some of them hold.

    The values are told by means, not by a hash: features made anew on another machine differ in
    their last digits.
    """
    facts = {}
    for part in PARTS:
        split = corpus.split(part)
        digest = hashlib.sha256(np.ascontiguousarray(split.rows, dtype="<i8").tobytes())
        if "name" in split.labels:  # of files: another file in the same row is another sequence
            digest.update("\n".join(map(str, split.label("name"))).encode())
        facts[part] = {"sequences": len(split), "sha256": digest.hexdigest()}
        if part != "test":  # its values are left to evaluation
            facts[part] |= _values(split)
    return facts


def _values(split: Split) -> dict[str, Any]:
    """Return the means of a few sequences spread over a split, and the deviation of all in them."""
    chosen = np.linspace(0, len(split) - 1, min(LOOKED_AT, len(split))).round().astype(np.int64)
    known = [_known(split, int(row)) for row in split.rows[chosen]]
    everything = np.concatenate(known) if known else np.zeros(0)
    return {
        "means": [float(values.mean()) if len(values) else 0.0 for values in known],
        "std": float(everything.std()) if len(everything) else 0.0,
    }


def _known(split: Split, row: int) -> NDArray[np.float64]:
    """Return the finite values of a sequence that exist and are observed."""
    x = np.asarray(split.x[[row]])[0].astype(np.float64)
    end = len(x) if split.lengths is None else int(split.lengths[row])
    there = np.isfinite(x[:end])
    if split.observed is not None:
        there &= np.asarray(split.observed[row]).astype(bool)[:end]
    return x[:end][there]


def _same(facts: dict[str, Any], now: dict[str, Any]) -> bool:
    """Say whether the facts about a split agree; runs of older versions have none about values."""
    if any(facts[name] != now[name] for name in ("sequences", "sha256")):
        return False
    if "means" not in facts or "means" not in now:
        return True
    return np.allclose(facts["means"], now["means"], rtol=1e-5, atol=1e-3 * now["std"])


def write_splits(corpus: Corpus, path: Path) -> None:
    """Write a CSV file with the row, the split and, if it has one, the name of every sequence."""
    named = "name" in corpus.train.labels

    def write(aside: Path) -> None:
        with aside.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["row", "split", *(["name"] if named else [])])
            for part in PARTS:
                split = corpus.split(part)
                names = [split.label("name").tolist()] if named else []
                writer.writerows(
                    [row, part, *rest]
                    for row, *rest in zip(split.rows.tolist(), *names, strict=True)
                )

    write_whole(path, write)


def check_splits(
    corpus: Corpus, facts: dict[str, Any], where: Path, *, advice: str = MEASURING
) -> None:
    """Raise `ValueError` if the data are no longer those a run was trained on.

    Args:
        corpus: the data as they are now.
        facts: from `split_facts` when the run was trained; nothing is checked if empty.
        where: the run folder, for the message.
        advice: why that matters and what to do.
    """
    now = split_facts(corpus)
    for part in PARTS if facts else ():
        if not _same(facts[part], now[part]):
            raise ValueError(
                f"the data have changed since {where} was trained: its {part} split had "
                f"{facts[part]['sequences']} sequences, now there are {now[part]['sequences']}, or "
                f"others (splits.csv in the run folder lists them). {advice}"
            )
