"""Sequences as they were read, before they are cut into training, validation and test."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from unbraid.data.corpus import Array, Corpus, Rows, RowSource, Split, cut_validation, release
from unbraid.records import Factor, Kind, Spec
from unbraid.settings import closest, proper_share

PARTS = ("train", "validation", "test")
CHUNK = 256  # sequences looked at together when a scale is fitted
Moments = tuple[tuple[float, ...], tuple[float, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitConfig:
    """How sequences are dealt to training, validation and test; always the same for one seed."""

    by: str = ""  # label whose groups stay together (speaker, patient); empty: name, else alone
    test: float = 0.1  # share of the groups
    validation: float = 0.1  # share of the groups
    seed: int = 0

    def __post_init__(self) -> None:
        proper_share(self, "test", "validation")
        if self.test + self.validation >= 1:
            raise ValueError(
                f"test and validation leave nothing to train on: {self.test} + {self.validation}."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """Sequences with their labels, not yet cut into splits.

    Attributes:
        name: of the data set.
        kind: video, audio or series.
        x: (N, T, *F) raw values, uint8 or float32; may be memory-mapped, or made when rows are
            asked for.
        lengths: (N,) steps of each sequence; None if all have T.
        observed: (N, T, *F) True where an element is known; None if all are.
        alternatives: (N, K, T, *F) the same dynamics under other identities, or None.
        labels: factor or group name -> (N,) or (N, T).
        group: label of sequences that share more than the factors, see `Split`.
        static: factors that stay; each is a label.
        dynamic: factors that move; each is a label.
        white: video: the raw value a model sees as 1.
        rate: steps per second, for players.
        channels: names of the columns of a series.
        features: how audio features were made.
        stand_in: name of the benchmark it stands in for; empty if it is itself.
        pieces: whether several sequences are cut out of one recording.
        skipped: what could not be used, by name, and why.
        columns: of a table: "sequence" and "time" -> column that tells it, empty if none does.
    """

    name: str
    kind: Kind
    x: RowSource
    lengths: Array | None = None
    observed: Array | None = None
    alternatives: Array | None = None
    labels: Mapping[str, Array] = field(default_factory=dict)
    group: str = ""
    static: tuple[Factor, ...] = ()
    dynamic: tuple[Factor, ...] = ()
    white: float = 255.0
    rate: float = 10.0
    channels: tuple[str, ...] = ()
    features: str = ""
    stand_in: str = ""
    pieces: bool = False
    skipped: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.x)

    def whole(self, spec: Spec) -> Split:
        """Return all sequences as one split of a model's data: no scale is fitted.

        The factors are those of these sequences, whose classes may be numbered differently.
        """
        own = replace(spec, static=self.static, dynamic=self.dynamic)
        return self._split(own, np.arange(len(self)))

    def cut(self, *, train: Rows, validation: Rows, test: Rows) -> Corpus:
        """Return the corpus of these splits; offset and scale come from training alone."""
        moments: Moments = (0.0,), (self.white,)
        if self.kind != "video":
            moments = fit_scale(self.x, train, observed=self.observed, lengths=self.lengths)
        spec = Spec(
            name=self.name,
            kind=self.kind,
            frame=self.x.shape[2:],
            length=self.x.shape[1],
            static=self.static,
            dynamic=self.dynamic,
            offset=moments[0],
            scale=moments[1],
            size=len(train),
            missing=self.observed is not None,
            rate=self.rate,
            channels=self.channels,
            features=self.features,
            stand_in=self.stand_in,
            pieces=self.pieces,
        )
        return Corpus(
            spec=spec,
            train=self._split(spec, train),
            validation=self._split(spec, validation),
            test=self._split(spec, test),
            skipped=self.skipped,
            columns=self.columns,
        )

    def deal(self, config: SplitConfig) -> Corpus:
        """Cut by seed and group, or as a label named `split` says."""
        self._check_column(config.by)
        names = self.labels.get("name", np.arange(0))
        shared = len(np.unique(names)) < len(names)  # several sequences of one recording
        group = self.group or ("name" if shared else "")
        grouped = replace(self, group=group, pieces=self.pieces or shared)
        return grouped.cut(**deal_rows(len(self), self.labels, config))

    def _check_column(self, by: str) -> None:
        """Raise `KeyError` if a group is a column of the table that is no label."""
        if not by or by in self.labels:
            return
        if by == self.columns.get("sequence"):
            raise KeyError(
                f"split.by: '{by}' is the column of sequences: the rows of one {by} are in one "
                "split already. Leave it out."
            )
        if by in (*self.channels, self.columns.get("time")) or f"column {by}" in self.skipped:
            raise KeyError(f"split.by: '{by}' is a column but no label: add it to data.labels.")

    def _split(self, spec: Spec, rows: Rows) -> Split:
        return Split(
            spec=spec,
            x=self.x,
            rows=rows,
            lengths=self.lengths,
            observed=self.observed,
            alternatives=self.alternatives,
            labels=self.labels,
            group=self.group,
        )


def deal_rows(count: int, labels: Mapping[str, Array], config: SplitConfig) -> dict[str, Rows]:
    """Return the rows of every split.

    A label `split` of the words train, validation and test decides; without validation, that is
    cut from training. Else whole groups are dealt by seed; sequences of one `name`, the pieces of a
    recording, are a group unless `by` says otherwise.
    """
    if config.by and config.by not in labels:
        raise KeyError(f"split.by: there is no label '{config.by}'.{closest(config.by, labels)}")
    groups = np.asarray(labels.get(config.by or "name", np.arange(count)))
    if groups.ndim != 1:
        raise ValueError(f"split.by: '{config.by or 'name'}' must be one label per sequence.")
    if "split" in labels:
        return _named_splits(labels["split"], groups, config)
    if len(np.unique(groups)) < 3:
        what = f"values of '{config.by}'" if config.by else "sequences"
        raise ValueError(
            f"training, validation and test need three {what} at least, got "
            f"{len(np.unique(groups))}. One long recording can be cut into pieces: see `piece` "
            "(tables), `clip` (videos)."
        )
    rest, test = cut_validation(np.arange(count), groups, share=config.test, seed=config.seed)
    share = config.validation / (1 - config.test)
    train, validation = cut_validation(rest, groups, share=share, seed=config.seed + 1)
    return {"train": train, "validation": validation, "test": test}


def _named_splits(words: Array, groups: Array, config: SplitConfig) -> dict[str, Rows]:
    """Return the rows of splits that the data name themselves."""
    names = set(map(str, np.unique(words)))
    if words.ndim != 1 or names - set(PARTS) or not {"train", "test"} <= names:
        raise ValueError(
            "the label 'split' must say train, validation or test once for every sequence, and "
            f"both train and test must occur, got {', '.join(map(repr, sorted(names)[:9]))}."
        )
    rows = {part: np.flatnonzero(words == part) for part in PARTS}
    if not len(rows["validation"]):
        share = config.validation
        train, held_out = cut_validation(rows["train"], groups, share=share, seed=config.seed)
        rows |= {"train": train, "validation": held_out}
    return rows


def fit_scale(
    x: RowSource, rows: Rows, *, observed: Array | None = None, lengths: Array | None = None
) -> Moments:
    """Return mean and standard deviation of every channel (last axis) over known values of rows.

    The data pass by in pieces, so they may be larger than memory. A constant channel gets scale 1:
    one that varies by less than float32 can tell from its mean.
    """
    width = x.shape[-1]
    count, total, squares = np.zeros(width), np.zeros(width), np.zeros(width)
    shift: NDArray[np.float64] | None = None
    for start in range(0, len(rows), CHUNK):
        some = rows[start : start + CHUNK]
        values = x[some].astype(np.float64)
        known = np.ones(values.shape, dtype=bool) if observed is None else observed[some] != 0
        if lengths is not None:
            known &= _existing(values.shape, lengths[some])
        values, known = values.reshape(-1, width), known.reshape(-1, width)
        if shift is None:  # squares about some value near the mean lose no digits
            shift = np.where(known, values, 0).sum(0) / np.maximum(known.sum(0), 1)
        centred = np.where(known, values - shift, 0)
        count += known.sum(0)
        total += centred.sum(0)
        squares += (centred**2).sum(0)
        release(x)
    mean = total / np.maximum(count, 1)
    spread = np.sqrt(np.maximum(squares / np.maximum(count, 1) - mean**2, 0))
    mean = mean + (0 if shift is None else shift)
    spread = np.where(spread > 1e-7 * np.abs(mean), spread, 1.0)
    return tuple(mean.tolist()), tuple(spread.tolist())


def _existing(shape: tuple[int, ...], lengths: Array) -> NDArray[np.bool_]:
    """Return, broadcast to `shape`, where a sequence has a step."""
    steps = np.arange(shape[1]) < np.asarray(lengths)[:, None]
    return np.broadcast_to(steps.reshape(*steps.shape, *([1] * (len(shape) - 2))), shape)
