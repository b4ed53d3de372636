from dataclasses import replace

import numpy as np
import pytest

from unbraid.data import collection as module
from unbraid.data.collection import Collection, SplitConfig, deal_rows, fit_scale
from unbraid.records import Factor

PARTS = ("train", "validation", "test")


def _sizes(rows) -> list[int]:
    return [len(rows[part]) for part in PARTS]


def test_rows_are_dealt_in_shares_by_seed():
    first, again, other = (deal_rows(100, {}, SplitConfig(seed=seed)) for seed in (0, 0, 1))
    assert _sizes(first) == [80, 10, 10]
    assert np.array_equal(np.sort(np.concatenate(list(first.values()))), np.arange(100))
    assert all(np.array_equal(first[part], again[part]) for part in PARTS)
    assert not np.array_equal(first["test"], other["test"])


def test_shares_are_of_the_whole():
    assert _sizes(deal_rows(100, {}, SplitConfig(test=0.3, validation=0.2))) == [50, 20, 30]


@pytest.mark.parametrize("by", ["who", "name"])
def test_groups_stay_together(by):
    groups = np.repeat(np.arange(20), 5)
    rows = deal_rows(100, {by: groups}, SplitConfig(by="who" if by == "who" else ""))
    parts = [set(groups[rows[part]]) for part in PARTS]
    assert [len(part) for part in parts] == [16, 2, 2]
    assert len(set.union(*parts)) == 20


def test_a_group_that_is_named_goes_before_the_name():
    labels = {"name": np.repeat(["a", "b"], 6), "who": np.tile(np.arange(3), 4)}
    rows = deal_rows(12, labels, SplitConfig(by="who"))
    assert _sizes(rows) == [4, 4, 4]


def test_pieces_of_one_recording_are_a_group_for_probes():
    x = np.zeros((12, 2, 3), np.float32)
    alone = Collection(name="a", kind="audio", x=x, labels={"name": np.arange(12).astype(str)})
    pieces = Collection(name="a", kind="audio", x=x, labels={"name": np.repeat(list("abcd"), 3)})
    assert alone.deal(SplitConfig()).test.group == ""
    assert pieces.deal(SplitConfig()).test.group == "name"
    assert pieces.deal(SplitConfig()).spec.pieces


def test_three_groups_are_the_least():
    assert _sizes(deal_rows(3, {}, SplitConfig())) == [1, 1, 1]
    with pytest.raises(ValueError, match=r"need three sequences at least, got 2\..*`piece`"):
        deal_rows(2, {}, SplitConfig())
    with pytest.raises(ValueError, match="need three sequences at least, got 2"):
        deal_rows(6, {"name": np.array(list("aabbab"))}, SplitConfig())
    with pytest.raises(ValueError, match="need three values of 'who' at least, got 1"):
        deal_rows(9, {"who": np.zeros(9, dtype=int)}, SplitConfig(by="who"))


def test_a_group_must_be_one_label_per_sequence():
    with pytest.raises(KeyError, match=r"split\.by: there is no label 'whom'\. Did you mean 'who'"):
        deal_rows(4, {"who": np.arange(4)}, SplitConfig(by="whom"))
    with pytest.raises(ValueError, match=r"split\.by: 'state' must be one label per sequence"):
        deal_rows(4, {"state": np.zeros((4, 2))}, SplitConfig(by="state"))


def test_a_label_named_split_decides():
    words = np.array(["test", "train", "validation", "train", "test"])
    rows = deal_rows(5, {"split": words}, SplitConfig())
    assert {part: rows[part].tolist() for part in PARTS} == {
        "train": [1, 3],
        "validation": [2],
        "test": [0, 4],
    }


def test_validation_is_cut_from_training_by_group_if_it_is_not_named():
    words = np.array(["train"] * 20 + ["test"] * 5)
    groups = np.arange(25) // 2
    rows = deal_rows(25, {"split": words, "who": groups}, SplitConfig(by="who", validation=0.2))
    assert rows["test"].tolist() == [20, 21, 22, 23, 24]
    assert _sizes(rows) == [16, 4, 5]
    assert not set(groups[rows["train"]]) & set(groups[rows["validation"]])


@pytest.mark.parametrize(
    "words", [["train", "train"], ["test", "test"], ["train", "dev"], ["train", "test", ""]]
)
def test_other_words_for_splits_are_refused(words):
    with pytest.raises(
        ValueError, match="'split' must say train, validation or test once for every"
    ):
        deal_rows(len(words), {"split": np.array(words)}, SplitConfig())


def test_a_split_per_step_is_refused():
    with pytest.raises(
        ValueError, match="'split' must say train, validation or test once for every"
    ):
        deal_rows(2, {"split": np.array([["train", "test"]] * 2)}, SplitConfig())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"test": 0.0}, r"test must lie between 0 and 1, got 0\.0"),
        ({"validation": 1.0}, r"validation must lie between 0 and 1, got 1\.0"),
        ({"test": 0.5, "validation": 0.5}, r"leave nothing to train on: 0\.5 \+ 0\.5"),
    ],
)
def test_shares_are_checked(settings, message):
    with pytest.raises(ValueError, match=message):
        SplitConfig(**settings)


@pytest.mark.parametrize("chunk", [2, 256])
@pytest.mark.parametrize("frame", [(3,), (4, 3)])
def test_the_scale_is_the_mean_and_deviation_of_known_values_of_the_rows(monkeypatch, chunk, frame):
    monkeypatch.setattr(module, "CHUNK", chunk)
    rng = np.random.default_rng(0)
    x = rng.normal([3.0, -1e4, 0.0], [2.0, 1.0, 1e-4], (9, 5, *frame)).astype(np.float32)
    observed = rng.random(x.shape) < 0.7
    lengths = rng.integers(1, 6, 9)
    rows = np.array([0, 2, 3, 5, 8])
    mean, spread = fit_scale(x, rows, observed=observed, lengths=lengths)
    for channel in range(3):
        values = [
            x[n, : lengths[n], ..., channel][observed[n, : lengths[n], ..., channel]] for n in rows
        ]
        known = np.concatenate(values).astype(np.float64)
        assert mean[channel] == pytest.approx(known.mean(), rel=1e-9, abs=1e-9)
        assert spread[channel] == pytest.approx(known.std(), rel=1e-6)


def test_what_is_not_known_does_not_touch_the_scale():
    x = np.ones((4, 3, 1), np.float32) * np.arange(4)[:, None, None]
    wild = x.copy()
    wild[:, 2], wild[3] = np.nan, 1e30
    mean, spread = fit_scale(wild, np.array([0, 1, 2]), lengths=np.array([2, 2, 2, 2]))
    assert mean == (1.0,)
    assert spread == (pytest.approx(np.sqrt(2 / 3)),)


def test_a_constant_channel_has_scale_one_however_large():
    x = np.full((4, 3, 3), [0.0, 1e6, 0.1], np.float32)
    mean, spread = fit_scale(x, np.arange(4))
    assert mean == pytest.approx((0.0, 1e6, 0.1))
    assert spread == (1.0, 1.0, 1.0)


def test_a_small_unit_is_no_constant():
    x = (np.random.default_rng(0).normal(size=(20, 5, 1)) * 1e-10).astype(np.float32)
    _, spread = fit_scale(x, np.arange(20))
    assert spread[0] == pytest.approx(x.astype(np.float64).std(), rel=1e-6)


def test_a_channel_that_is_never_known_has_offset_zero_and_scale_one():
    x = np.full((4, 3, 2), np.nan, np.float32)
    x[..., 1] = 5.0
    assert fit_scale(x, np.arange(4), observed=np.isfinite(x)) == ((0.0, 5.0), (1.0, 1.0))


def test_a_mask_of_numbers_is_a_mask():
    x = np.array([[[1.0], [9.0]], [[3.0], [9.0]]], np.float32)
    observed = np.array([[[1], [0]], [[2], [0]]], np.uint8)
    assert fit_scale(x, np.arange(2), observed=observed) == ((2.0,), (1.0,))


def _series(count: int = 10) -> Collection:
    rng = np.random.default_rng(0)
    return Collection(
        name="mine",
        kind="series",
        x=rng.normal(5, 3, (count, 4, 2, 3)).astype(np.float32),
        lengths=np.full(count, 3),
        observed=rng.random((count, 4, 2, 3)) < 0.9,
        labels={"who": np.arange(count)},
        static=(Factor(name="who", classes=count),),
        channels=("a", "b", "c"),
        rate=2.0,
        skipped={"x.csv": "empty"},
        stand_in="other",
    )


def test_a_corpus_says_what_the_collection_said():
    collection = _series()
    rows = {"train": np.arange(6), "validation": np.array([6]), "test": np.array([9, 8])}
    corpus = collection.cut(**rows)
    spec = corpus.spec
    assert (spec.name, spec.kind, spec.frame, spec.length) == ("mine", "series", (2, 3), 4)
    assert (spec.channels, spec.rate, spec.stand_in) == (("a", "b", "c"), 2.0, "other")
    assert (spec.size, spec.missing) == (6, True)
    assert spec.static == collection.static
    assert corpus.skipped == {"x.csv": "empty"}
    assert corpus.test.label("who").tolist() == [9, 8]
    wanted = fit_scale(
        collection.x, rows["train"], observed=collection.observed, lengths=collection.lengths
    )
    assert (spec.offset, spec.scale) == wanted


def test_a_model_sees_training_values_with_mean_zero_and_deviation_one():
    batch = _series(400).deal(SplitConfig()).train.take(slice(None))
    for channel in range(3):
        known = batch.x[..., channel][batch.observed[..., channel]]
        assert known.mean().item() == pytest.approx(0, abs=1e-5)
        assert known.std(correction=0).item() == pytest.approx(1, abs=1e-5)


def test_video_is_scaled_by_its_white_alone():
    x = np.random.default_rng(0).integers(0, 256, (6, 2, 3, 4, 4)).astype(np.uint8)
    corpus = Collection(name="mine", kind="video", x=x).deal(SplitConfig())
    assert (corpus.spec.offset, corpus.spec.scale) == ((0.0,), (255.0,))
    assert corpus.train.take([0]).x.max() <= 1


def test_the_whole_is_seen_as_a_model_sees_its_own_data():
    spec = _series().deal(SplitConfig()).spec
    other = _series(5)
    split = other.whole(spec)
    assert len(split) == len(other) == 5
    assert split.spec == replace(spec, static=other.static, dynamic=other.dynamic)
    seen = split.take([3]).x[0, 0, 0]
    wanted = (other.x[3, 0, 0] - np.array(spec.offset)) / np.array(spec.scale)
    assert np.allclose(seen, np.where(other.observed[3, 0, 0], wanted, 0), atol=1e-5)


def test_alternatives_and_audio_features_pass_through():
    x = np.random.default_rng(0).normal(size=(6, 4, 5)).astype(np.float32)
    collection = Collection(
        name="mine", kind="audio", x=x, alternatives=x[:, None], features="log-mel"
    )
    corpus = collection.deal(SplitConfig())
    assert corpus.spec.features == "log-mel"
    batch = corpus.train.take([0, 1])
    assert np.allclose(batch.alternatives[:, 0], batch.x)
