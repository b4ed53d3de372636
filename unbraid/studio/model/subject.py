"""A run, or data without a model, opened once and shared by all requests."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import torch

from unbraid.data import load_data
from unbraid.data.corpus import Corpus, Split
from unbraid.evaluation.manipulate import Embedding, embed, encode
from unbraid.methods import Method, make_method
from unbraid.methods.store import spec_from_table
from unbraid.nets.folding import folded
from unbraid.records import Batch, Codes, Factor, Spec
from unbraid.runs.checkpoint import method_weights, read_checkpoint
from unbraid.runs.folder import CHECKPOINT
from unbraid.runs.run import Run

SHOWN = 1000  # sequences of the test split, spread over it
MOST_UPLOADED = 64  # sequences that people brought; the oldest go first
KEPT_CODES = 256  # of single sequences, before all are encoded


@dataclass(frozen=True, slots=True)
class Item:
    """A sequence that can be shown: position `row` of a split."""

    id: str
    split: Split
    row: int
    name: str = ""

    def batch(self) -> Batch:
        """Return it as a model sees it."""
        return self.split.take([self.row])

    @property
    def steps(self) -> int:
        """How many steps it has."""
        lengths = self.split.lengths
        row = self.split.rows[self.row]
        return int(self.split.x.shape[1] if lengths is None else lengths[row])


class Subject:
    """What one tab of the page is about.

    Attributes:
        key: its name in addresses.
        spec: what its sequences are.
        split: the test sequences that are shown; None if the data are gone.
        positions: their positions in the test split.
        method: the model; None for data alone.
        problem: why there is no split, in a sentence.
    """

    def __init__(self, key: str, spec: Spec, split: Split | None, method: Method | None) -> None:
        self.key, self.spec, self.method = key, spec, method
        self.split: Split | None = None
        self.positions = np.arange(0)
        self.problem = ""
        self.run: Run | None = None
        self.version = ""  # of the weights
        self.uploads: OrderedDict[str, Item] = OrderedDict()
        self.uploaded = 0
        self.lock = Lock()
        self.single: OrderedDict[str, Codes] = OrderedDict()
        self.embedding: Embedding | None = None
        if split is not None:
            self.positions = np.unique(np.linspace(0, len(split) - 1, SHOWN).astype(int))
            self.split = split.select(self.positions)

    @property
    def factors(self) -> list[tuple[Factor, str]]:
        """The labelled factors with their role."""
        spec = self.spec if self.split is None else self.split.spec
        return [(f, "static") for f in spec.static] + [(f, "dynamic") for f in spec.dynamic]

    def needs_model(self) -> Method:
        """Return the model, or say that there is none."""
        if self.method is None:
            raise ValueError("there is no trained model here yet. Train one first.")
        return self.method

    def needs_split(self) -> Split:
        """Return the test sequences, or say why there are none."""
        if self.split is None:
            raise ValueError(self.problem or "there are no test sequences here.")
        return self.split

    def item(self, word: str) -> Item:
        """Return a sequence by its id.

        Raises:
            KeyError: it is not there.
        """
        if word in self.uploads:
            return self.uploads[word]
        number = int(word[1:]) if word[:1] == "t" else -1
        row = int(np.searchsorted(self.positions, number))
        if self.split is None or row >= len(self.positions) or self.positions[row] != number:
            raise KeyError(f"there is no sequence {word} here. It may have been replaced.")
        return Item(word, self.split, row)

    def items(self) -> list[Item]:
        """Return all sequences, those that people brought first."""
        mine = list(self.uploads.values())[::-1]
        split = self.split
        if split is None:
            return mine
        return mine + [Item(f"t{p}", split, row) for row, p in enumerate(self.positions.tolist())]

    def add(self, split: Split, name: str) -> list[Item]:
        """Keep sequences that somebody brought and return them."""
        with self.lock:
            items = []
            for row in range(min(len(split), MOST_UPLOADED)):
                item = Item(f"u{self.uploaded}", split, row, name)
                self.uploaded += 1
                self.uploads[item.id] = item
                items.append(item)
            while len(self.uploads) > MOST_UPLOADED:
                old, _ = self.uploads.popitem(last=False)
                self.single.pop(old, None)
        return items

    def codes(self, item: Item) -> Codes:
        """Return the codes of a sequence, from all of them if they are there."""
        if self.embedding is not None and item.split is self.split:
            part = slice(item.row, item.row + 1)
            arrays = self.embedding.s[part], self.embedding.d[part]
            return Codes(*(torch.from_numpy(array) for array in arrays))
        with self.lock:
            if item.id in self.single:
                self.single.move_to_end(item.id)
                return self.single[item.id]
        codes = encode(self.needs_model(), item.batch())
        with self.lock:
            self.single[item.id] = codes
            while len(self.single) > KEPT_CODES:
                self.single.popitem(last=False)
        return codes

    def all_codes(self) -> Embedding:
        """Return the codes of all test sequences that are shown."""
        if self.embedding is None:
            self.embedding = embed(self.needs_model(), self.needs_split())
        return self.embedding

    def replace_method(self, method: Method, version: str) -> None:
        """Go on with other weights, those of a later checkpoint."""
        with self.lock:
            self.method, self.version = method, version
            self.embedding = None
            self.single.clear()


def open_data(key: str, data: str, options: Mapping[str, Any] | None = None) -> Subject:
    """Return data without a model."""
    corpus = load_data(data, options)
    return Subject(key, corpus.spec, corpus.test, None)


def open_subject(key: str, run: Run) -> Subject:
    """Return a run with its model, or with its last checkpoint while it is being trained."""
    corpus, problem = _corpus(run)
    if corpus is None and not (run.path / "model.json").is_file():
        raise ValueError(problem)
    spec = corpus.spec if corpus else spec_from_table(run.about["spec"])
    version = latest_weights(run.path)
    method = load_weights(run, spec, version) if version else None
    subject = Subject(key, spec, corpus.test if corpus else None, method)
    subject.run, subject.version, subject.problem = run, version, problem
    return subject


def latest_weights(path: Path) -> str:
    """Return which weights of a run folder are newest, and since when; empty if there are none."""
    files = [path / "model.safetensors", path / CHECKPOINT]
    known = [(file.stat().st_mtime_ns, file.name) for file in files if file.is_file()]
    # The finished model may hold better weights than the last checkpoint of the same second.
    finished = [row for row in known if row[1] == "model.safetensors"]
    if finished and finished[0][0] >= max(known)[0] - 5_000_000_000:
        return f"{finished[0][1]}-{finished[0][0]}"
    return f"{max(known)[1]}-{max(known)[0]}" if known else ""


def load_weights(run: Run, spec: Spec, version: str) -> Method:
    """Return the model of a run with its finished weights, or those of its last checkpoint."""
    if version.startswith("model"):
        return folded(run.model())
    plan = run.plan
    method = make_method(plan.method, spec, plan.method_config)
    method.load_state_dict(method_weights(read_checkpoint(run.path / CHECKPOINT)))
    return folded(method.eval())


def _corpus(run: Run) -> tuple[Corpus | None, str]:
    """Return the data of a run, or why they cannot be had."""
    try:
        trained = (run.path / "model.json").is_file()
        return (run.corpus() if trained else run.plan.data.load()), ""
    except (ValueError, KeyError, OSError, ImportError) as error:
        message = str(error.args[0] if isinstance(error, KeyError) and error.args else error)
        return None, f"The data of this run cannot be shown: {message}"
