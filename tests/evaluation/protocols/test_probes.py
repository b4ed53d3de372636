"""Probes on codes made by hand: a perfect model, and one that leaks."""

import numpy as np
import pytest

from unbraid.data.corpus import Split
from unbraid.evaluation.manipulate import Embedding
from unbraid.evaluation.protocols.probes import gaps, probe
from unbraid.records import Factor, Spec

N, T = 120, 4


@pytest.fixture(scope="module")
def split() -> Split:
    rng = np.random.default_rng(0)
    spec = Spec(
        name="made",
        kind="audio",
        frame=(3,),
        length=T,
        static=(Factor(name="who", classes=4),),
        dynamic=(Factor(name="what", classes=3), Factor(name="now", classes=2, per_step=True)),
    )
    labels = {
        "who": rng.integers(4, size=N),
        "what": rng.integers(3, size=N),
        "now": rng.integers(2, size=(N, T)),
    }
    x = np.zeros((N, T, 3), dtype=np.float32)
    return Split(spec=spec, x=x, rows=np.arange(N), labels=labels)


def _codes(split: Split, *, leak: bool) -> Embedding:
    who, what = np.eye(4)[split.label("who")], np.eye(3)[split.label("what")]
    now = np.eye(2)[split.label("now")]
    d = np.concatenate([np.repeat(what[:, None], T, 1), now], -1)
    if leak:
        d = np.concatenate([d, np.repeat(who[:, None], T, 1)], -1)
    noise = 0.01 * np.random.default_rng(1).standard_normal((N, 4))
    return Embedding(
        (who + noise).astype(np.float32), d.astype(np.float32), np.ones((N, T), dtype=bool)
    )


def _table(split: Split, codes: Embedding) -> dict[tuple[str, str], float]:
    return {(row.code, row.factor): row.mean for row in probe(codes, split, seeds=3)}


def test_a_perfect_model_tells_each_factor_from_its_own_code_only(split: Split):
    table = _table(split, _codes(split, leak=False))
    for key in (("s", "who"), ("d", "what"), ("d", "now")):
        assert table[key] == 1.0
    assert table["s", "what"] < 0.55  # chance is near a third
    assert table["s", "now"] < 0.65  # chance is near a half
    assert table["d", "who"] < 0.5  # chance is near a quarter


def test_a_leaky_model_is_found_out(split: Split):
    assert _table(split, _codes(split, leak=True))["d", "who"] == 1.0


def test_the_gap_of_d_falls_when_d_leaks(split: Split):
    clean, leaky = (gaps(probe(_codes(split, leak=x), split, seeds=2)) for x in (False, True))
    assert clean["d_gap"] > leaky["d_gap"] + 0.3
    assert clean["s_gap"] == pytest.approx(leaky["s_gap"])


def test_padded_steps_are_no_examples(split: Split):
    codes = _codes(split, leak=False)
    wrong = codes.d.copy()
    wrong[:, 2:] = 7.0  # what stands behind the end of a sequence must not matter
    mask = codes.mask.copy()
    mask[:, 2:] = False
    rows = probe(Embedding(codes.s, wrong, mask), split, seeds=2)
    assert {(r.code, r.factor): r.mean for r in rows}["d", "now"] == 1.0


@pytest.mark.parametrize("classifier", ["svc", "forest", "knn"])
def test_every_classifier_reads_a_clear_code(split: Split, classifier):
    rows = probe(_codes(split, leak=False), split, classifiers=(classifier,), seeds=1)
    assert {(r.code, r.factor): r.mean for r in rows}["s", "who"] > 0.95


def _steps(labels: np.ndarray, group: np.ndarray | None = None) -> tuple[Split, Embedding]:
    """Codes of pure noise, and a label per step."""
    rng, n = np.random.default_rng(0), len(labels)
    spec = Spec(
        name="made",
        kind="audio",
        frame=(3,),
        length=labels.shape[1],
        dynamic=(Factor(name="now", classes=4, per_step=True),),
    )
    extra = {} if group is None else {"recording": group}
    split = Split(
        spec=spec,
        x=np.zeros((*labels.shape, 3), np.float32),
        rows=np.arange(n),
        labels={"now": labels, **extra},
        group="" if group is None else "recording",
    )
    s, d = (rng.normal(size=shape).astype(np.float32) for shape in ((n, 8), (*labels.shape, 4)))
    return split, Embedding(s, d, np.ones(labels.shape, bool))


@pytest.mark.parametrize("classifier", ["svc", "knn"])
def test_steps_of_one_sequence_are_never_on_both_sides_of_a_probe(classifier):
    labels = np.repeat(np.random.default_rng(1).integers(4, size=(100, 1)), 10, axis=1)
    split, codes = _steps(labels)
    rows = probe(codes, split, classifiers=(classifier,), seeds=3)
    assert max(row.mean - row.chance for row in rows) < 0.1  # 0.7 if a sequence is looked up
    assert {row.group for row in rows} == {""}


def test_a_label_per_step_is_split_by_a_declared_group():
    group = np.repeat(np.arange(20), 5)
    labels = np.repeat(np.random.default_rng(1).integers(4, size=20)[group][:, None], 10, axis=1)
    split, codes = _steps(labels, group)
    codes.s[:] = codes.s[5 * group]  # s names the group and nothing else
    row = probe(codes, split, classifiers=("knn",), seeds=3)[0]
    assert row.mean - row.chance < 0.2
    assert row.group == "recording"


def test_steps_of_a_single_sequence_leave_nothing_to_train_on():
    split, codes = _steps(np.arange(10)[None] % 4)
    assert {row.mean for row in probe(codes, split, seeds=1)} == {0.3}


def _weather(leaky: bool) -> tuple[Split, Embedding]:
    """Ten stations share the weather of each of twenty months; a code tells the month alone.

    The month says nothing of a class drawn for it, so a probe on other months can only guess.
    """
    rng = np.random.default_rng(0)
    month = np.repeat(np.arange(20), 10)
    labels = {"period": month, "kind": rng.permutation(np.arange(20) % 2)[month], "month": month}
    spec = Spec(
        name="air",
        kind="audio",
        frame=(3,),
        length=T,
        static=(Factor(name="kind", classes=2), Factor(name="month", classes=20)),
    )
    x = np.zeros((200, T, 3), np.float32)
    group = "" if leaky else "period"
    split = Split(spec=spec, x=x, rows=np.arange(200), labels=labels, group=group)
    s = rng.normal(size=(20, 8))[month] + 0.01 * rng.normal(size=(200, 8))
    d = np.zeros((200, T, 2), np.float32)
    return split, Embedding(s.astype(np.float32), d, np.ones((200, T), bool))


def test_sequences_of_one_group_are_never_on_both_sides_of_a_probe():
    split, codes = _weather(leaky=False)
    rows = {(r.code, r.factor): r for r in probe(codes, split, classifiers=("knn",), seeds=5)}
    assert rows["s", "kind"].mean < 0.8
    assert rows["s", "kind"].group == "period"
    split, codes = _weather(leaky=True)
    rows = {(r.code, r.factor): r for r in probe(codes, split, classifiers=("knn",), seeds=5)}
    assert rows["s", "kind"].mean == 1.0
    assert rows["s", "kind"].group == ""


def test_a_factor_whose_classes_are_groups_is_split_by_sequence_and_says_so():
    split, codes = _weather(leaky=False)
    rows = {(r.code, r.factor): r for r in probe(codes, split, classifiers=("knn",), seeds=2)}
    assert rows["s", "month"].group == ""
    assert rows["s", "month"].mean > 0.9


def _labelled(labels: np.ndarray, classes: int) -> tuple[Split, Embedding]:
    spec = Spec(
        name="made",
        kind="audio",
        frame=(3,),
        length=T,
        static=(Factor(name="who", classes=classes),),
    )
    n = len(labels)
    x = np.zeros((n, T, 3), np.float32)
    split = Split(spec=spec, x=x, rows=np.arange(n), labels={"who": labels})
    s = np.eye(8, dtype=np.float32)[labels % 8] + labels[:, None].astype(np.float32)
    return split, Embedding(s, np.zeros((n, T, 2), np.float32), np.ones((n, T), bool))


@pytest.mark.parametrize("count", [2, 3, 6])
def test_a_few_sequences_are_enough_for_every_classifier(count: int):
    split, codes = _labelled(np.arange(count) % 2, 2)
    rows = probe(codes, split, classifiers=("svc", "knn", "forest"), seeds=2)
    assert len(rows) == 6
    assert all(0 <= row.mean <= 1 for row in rows)


def test_of_very_many_classes_the_most_frequent_are_probed_and_it_says_so():
    labels = np.concatenate([np.repeat(np.arange(100), 3), np.arange(100, 900)])
    split, codes = _labelled(labels, 900)
    row = probe(codes, split, classifiers=("knn",), seeds=1)[0]
    assert row.left_out == 800
    assert row.chance == pytest.approx(0.01)


def test_sequences_whose_label_is_unknown_are_no_examples():
    labels = np.array([0, 1] * 30 + [-1] * 60)
    split, codes = _labelled(labels, 2)
    row = probe(codes, split, classifiers=("knn",), seeds=1)[0]
    assert row.chance == 0.5
