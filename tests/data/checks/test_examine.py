"""What a corpus holds is counted right: against plain NumPy and by hand."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from unbraid.data.checks import examine as module
from unbraid.data.checks.balance import weigh_labels
from unbraid.data.checks.examine import examine
from unbraid.data.checks.overlaps import Group, find_groups, is_named_group, leaking_groups
from unbraid.data.corpus import Corpus
from unbraid.data.readers.arrays import from_arrays

RNG = np.random.default_rng(0)


def _series(count: int = 30, **labels: Any) -> tuple[np.ndarray, Corpus]:
    x = RNG.normal(size=(count, 6, 3)).astype(np.float32)
    return x, from_arrays(x, labels=labels, options={"window": 2})


def _corpus(x: np.ndarray, words: str, **kwargs: Any) -> Corpus:
    """Return a corpus whose splits are told by letters: t, v, e."""
    split = [{"t": "train", "v": "validation", "e": "test"}[word] for word in words]
    labels = {"split": np.array(split), **kwargs.pop("labels", {})}
    return from_arrays(x, labels=labels, options={"window": 1}, **kwargs)


def test_values_and_gaps_are_those_of_plain_numpy():
    x = RNG.normal(5.0, 2.0, size=(40, 6, 3)).astype(np.float32)
    x[RNG.random(x.shape) < 0.2] = np.nan
    corpus = from_arrays(x, options={"window": 2})
    contents, rows = examine(corpus), corpus.train.rows
    train = contents.parts["train"]
    assert train.low == np.nanmin(x[rows])
    assert train.high == np.nanmax(x[rows])
    assert train.missing == pytest.approx(np.isnan(x[rows]).mean())
    for k, channel in enumerate(contents.channels):
        assert channel.missing == pytest.approx(np.isnan(x[rows][..., k]).mean())
        assert channel.mean == pytest.approx(np.nanmean(x[rows][..., k]), rel=1e-4)
        assert channel.std == pytest.approx(np.nanstd(x[rows][..., k]), rel=1e-4)
    seen = corpus.test.take(slice(None))
    shown = seen.x[seen.observed].numpy()
    assert contents.parts["test"].low_seen == pytest.approx(shown.min(), rel=1e-4)
    assert contents.parts["test"].high_seen == pytest.approx(shown.max(), rel=1e-4)


def test_padding_is_neither_missing_nor_a_value():
    parts = [np.full((steps, 2), 3.0) + np.arange(steps)[:, None] for steps in [2, 3, 3, 5, 5]]
    contents = examine(_corpus(parts, "tttve"))
    train = contents.parts["train"]
    assert (train.shortest, train.median, train.longest, train.lengths) == (2, 3.0, 3, 2)
    assert (train.low, train.high, train.missing) == (3.0, 5.0, 0.0)
    assert contents.parts["test"].longest == 5


def test_video_channels_are_its_colours():
    x = RNG.integers(0, 256, (20, 4, 3, 8, 6)).astype(np.uint8)
    x[:, :, 1] = 9
    corpus = from_arrays(x)
    contents, rows = examine(corpus), corpus.train.rows
    assert [c.constant for c in contents.channels] == [False, True, False]
    assert contents.channels[0].mean == pytest.approx(x[rows][:, :, 0].mean(), rel=1e-4)
    assert contents.channels[2].std == pytest.approx(x[rows][:, :, 2].std(), rel=1e-4)
    assert contents.parts["train"].high_seen == pytest.approx(x[rows].max() / 255)
    assert (contents.kept, contents.dtype, contents.bytes) == ("in memory", "uint8", x.nbytes)


def test_a_value_far_out_is_counted_once_and_in_its_channel():
    x = RNG.normal(size=(600, 4, 2)).astype(np.float32)
    x[0, 1, 1] = 1e4
    contents = examine(_corpus(x, "t" * 500 + "v" * 50 + "e" * 50))
    assert contents.parts["train"].far == 1
    assert [c.far for c in contents.channels] == [0, 1]
    assert contents.parts["test"].far == 0


def test_what_is_not_finite_but_called_known_is_counted():
    _, corpus = _series()
    x = np.array(corpus.train.x)
    x[corpus.train.rows[3], 0, 0, 0] = np.nan
    x[corpus.train.rows[4], 0, 0, 0] = np.inf
    broken = replace(corpus, train=replace(corpus.train, x=x))
    part = examine(broken).parts["train"]
    assert part.not_finite == 2
    assert part.missing == 0.0
    assert np.isfinite(part.high)


def test_sequences_without_values_or_without_change_are_counted():
    x = RNG.normal(size=(10, 4, 2)).astype(np.float32)
    x[0] = np.nan
    x[1] = x[1, 0]
    x[2, 1:] = np.nan  # one known step is not "no change"
    train = examine(_corpus(x, "tttttttvve")).parts["train"]
    assert (train.empty, train.still) == (1, 1)


def test_only_a_spread_of_many_sequences_is_examined_unless_deep(monkeypatch):
    monkeypatch.setattr(module, "SEQUENCES", 10)
    _, corpus = _series(100)
    assert examine(corpus).parts["train"].examined == 10
    assert examine(corpus, deep=True).parts["train"].examined == 80
    monkeypatch.setattr(module, "SEQUENCES", 2000)
    monkeypatch.setattr(module, "VALUES", 5 * 6 * 3)
    assert examine(corpus).parts["train"].examined == 5


def test_only_so_many_bytes_are_compared_unless_deep(monkeypatch):
    x, corpus = _series(100)
    monkeypatch.setattr(module, "COMPARED_BYTES", x.nbytes // 2)
    assert examine(corpus).twins.compared == 50
    assert examine(corpus, deep=True).twins.compared == 100


@dataclass
class _Painted:
    """Makes rows when asked for, by arrays of rows only."""

    x: np.ndarray
    asked: list[int]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.x.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.x.dtype

    @property
    def ndim(self) -> int:
        return self.x.ndim

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, rows: Any) -> np.ndarray:
        assert isinstance(rows, np.ndarray)
        self.asked.append(len(rows))
        return self.x[rows]


def test_sequences_that_are_painted_when_asked_for_pass_by_in_pieces():
    x = RNG.integers(0, 256, (60, 8, 3, 64, 64)).astype(np.uint8)  # 98,304 bytes each
    corpus = from_arrays(x)
    asked: list[int] = []
    painted = _Painted(x, asked)
    splits = {n: replace(corpus.split(n), x=painted) for n in ("train", "validation", "test")}
    contents = examine(replace(corpus, **splits))
    assert contents.kept == "made when asked for"
    assert contents.parts == examine(corpus).parts
    assert max(asked) * 98_304 <= 1 << 22


def test_the_same_sequence_in_two_splits_is_found_and_named():
    x = RNG.normal(size=(10, 4, 2)).astype(np.float32)
    x[9], x[7], x[2] = x[1], x[1], x[0]
    twins = examine(_corpus(x, "tttttttvve")).twins
    assert twins.across == {"validation in train": 1, "test in train": 1, "test in validation": 1}
    assert twins.inside == {"train": 1, "validation": 0, "test": 0}
    assert twins.examples[0] == "test 0 = train 1"


def test_twins_are_compared_by_what_is_known_and_exists():
    x = np.zeros((6, 4, 1), np.float32)
    x[:, 0, 0] = np.arange(6)
    x[5, :2], x[0, :2] = 7.0, 7.0
    x[5, 2:], x[0, 2:] = 1.0, 2.0  # beyond the end of both
    lengths = np.array([2, 4, 4, 4, 4, 2])
    assert examine(_corpus(x, "tttvee", lengths=lengths)).twins.across == {"test in train": 1}
    x[5], x[0] = 7.0, 7.0
    x[5, 3], x[0, 3] = np.nan, np.nan
    assert examine(_corpus(x, "tttvee")).twins.across == {"test in train": 1}
    x[5, 3], x[5, 2] = 7.0, np.nan
    assert examine(_corpus(x, "tttvee")).twins.across == {}


def test_label_counts_are_per_split_and_by_name():
    who = np.array(["ann", "bob", "ann", "", "cid", "bob"])
    state = np.tile([0, 0, 1, -1], (6, 1))
    corpus = _corpus(RNG.normal(size=(6, 4, 2)), "tttvee", labels={"who": who, "state": state})
    label, moving = weigh_labels(corpus)
    assert label.counts == {
        "train": {"ann": 2, "bob": 1},
        "validation": {},
        "test": {"bob": 1, "cid": 1},
    }
    assert (label.values, label.largest, label.unseen) == (3, 2 / 3, ("cid",))
    assert (moving.role, moving.per_step) == ("dynamic", True)
    assert moving.counts["train"] == {"0": 6, "1": 3}
    assert moving.unknown == 0.25


def test_labels_of_steps_beyond_the_end_do_not_count():
    x, state = RNG.normal(size=(6, 4, 2)), np.tile([0, 1, 2, 2], (6, 1))
    corpus = _corpus(x, "tttvee", labels={"state": state}, lengths=np.array([2, 2, 4, 4, 4, 4]))
    known, unknown = corpus.train.known_labels("state")
    assert sorted(known.tolist()) == [0, 0, 0, 1, 1, 1, 2, 2]
    assert unknown == 0.0


def test_numbers_have_a_range_instead_of_counts():
    dose = np.array([0.5, 2.5, np.nan, 1.0, 1.0, 9.0])
    (label,) = weigh_labels(_corpus(RNG.normal(size=(6, 4, 2)), "tttvee", labels={"dose": dose}))
    assert (label.values, label.low, label.high, label.counts) == (0, 0.5, 9.0, {})
    assert label.unknown == pytest.approx(1 / 3)


def test_a_speaker_in_training_and_test_leaks_but_a_property_of_hers_does_not():
    who = np.array([f"s{i % 12}" for i in range(60)])
    town = np.array([i % 20 for i in range(60)])
    x = RNG.normal(size=(60, 4, 2))
    corpus = from_arrays(x, labels={"speaker": who, "town": town})
    assert [g.name for g in leaking_groups(find_groups(corpus))] == ["speaker", "town"]
    options = {"split": {"by": "speaker"}}
    groups = find_groups(from_arrays(x, labels={"speaker": who, "town": town}, options=options))
    assert (groups[0].name, groups[0].shared) == ("speaker", 0)
    assert leaking_groups(groups) == ()


def test_names_of_single_sequences_and_factors_of_few_classes_are_no_groups():
    labels = {"name": np.array([f"f{i}" for i in range(60)]), "body": np.arange(60) % 6}
    assert find_groups(from_arrays(RNG.normal(size=(60, 4, 2)), labels=labels)) == ()


@pytest.mark.parametrize(
    ("name", "named"),
    [("speaker", True), ("patient_id", True), ("Writer", True), ("regime", False)],
)
def test_a_group_may_be_known_by_its_name(name, named):
    group = Group(name=name, values=12, test_values=3, shared=3)
    assert is_named_group(group) is named
    assert leaking_groups((group,)) == ((group,) if named else ())
