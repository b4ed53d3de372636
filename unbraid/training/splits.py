"""Which sequences a run was trained, chosen and tested on: kept with the run, checked later."""

import csv
import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from unbraid.data.collection import PARTS
from unbraid.data.corpus import Corpus
from unbraid.files import write_whole


def split_facts(corpus: Corpus) -> dict[str, Any]:
    """Return, for every split, how many sequences it has and a hash of which ones they are."""
    facts = {}
    for part in PARTS:
        split = corpus.split(part)
        digest = hashlib.sha256(np.ascontiguousarray(split.rows, dtype="<i8").tobytes())
        if "name" in split.labels:  # of files: another file in the same row is another sequence
            digest.update("\n".join(map(str, split.label("name"))).encode())
        facts[part] = {"sequences": len(split), "sha256": digest.hexdigest()}
    return facts


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


def check_splits(corpus: Corpus, facts: dict[str, Any], where: Path) -> None:
    """Raise `ValueError` if the data are no longer those a run was trained on.

    Args:
        corpus: the data as they are now.
        facts: from `split_facts` when the run was trained; nothing is checked if empty.
        where: the run folder, for the message.
    """
    now = split_facts(corpus)
    for part in PARTS if facts else ():
        if facts[part] != now[part]:
            raise ValueError(
                f"the data have changed since {where} was trained: its {part} split had "
                f"{facts[part]['sequences']} sequences, now there are {now[part]['sequences']}, or "
                "others (splits.csv in the run folder lists them). Measuring now could mix "
                "training sequences into the test. Restore the data, or give the sequences "
                "with --input."
            )
