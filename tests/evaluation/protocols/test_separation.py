"""Separation of codes made by hand: perfect, exchanged, empty, leaky, memorising."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from unbraid.data.corpus import Split
from unbraid.evaluation.manipulate import Embedding
from unbraid.evaluation.protocols import probes
from unbraid.evaluation.protocols.separation import Separation, relative_error, separate
from unbraid.methods.base import Method
from unbraid.records import Batch, Codes, Factor, Spec

N, T, WHO, WHAT = 300, 6, 4, 3


@pytest.fixture(scope="module", autouse=True)
def small_forests() -> Iterator[None]:
    """Grow fewer trees: codes made by hand are clear."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(probes, "TREES", 30)
        yield


def make_split(length: int = T, *, per_step: bool = False) -> Split:
    rng = np.random.default_rng(0)
    what = rng.integers(WHAT, size=(N, length) if per_step else N)
    spec = Spec(
        name="made",
        kind="audio",
        frame=(2,),
        length=length,
        static=(Factor(name="who", classes=WHO), Factor(name="weight", classes=0)),
        dynamic=(Factor(name="what", classes=WHAT, per_step=per_step),),
    )
    labels = {"who": rng.integers(WHO, size=N), "what": what, "weight": rng.random(N)}
    x = rng.standard_normal((N, length, 2), dtype=np.float32)
    return Split(spec=spec, x=x, rows=np.arange(N), labels=labels)


def embedding(s: np.ndarray, d: np.ndarray) -> Embedding:
    """Codes with a little noise, d the same at every step unless it has steps."""
    rng = np.random.default_rng(1)
    d = np.repeat(d[:, None], T, axis=1) if d.ndim == 2 else d
    s, d = (a + 0.01 * rng.standard_normal(a.shape) for a in (s, d))
    return Embedding(s.astype(np.float32), d.astype(np.float32), np.ones(d.shape[:2], dtype=bool))


def clear(split: Split, name: str) -> np.ndarray:
    return np.eye(WHO)[split.label(name)]


def test_perfect_codes_have_separation_one():
    split = make_split()
    separation = separate(embedding(clear(split, "who"), clear(split, "what")), split)
    assert separation.separation > 0.9
    assert (separation.static_from_s, separation.dynamic_from_d) == (1.0, 1.0)
    assert max(separation.static_from_d, separation.dynamic_from_s) < 0.15


def test_exchanged_codes_have_separation_minus_one():
    split = make_split()
    separation = separate(embedding(clear(split, "what"), clear(split, "who")), split)
    assert separation.separation < -0.9


def test_noise_has_separation_zero():
    split, rng = make_split(), np.random.default_rng(2)
    codes = embedding(rng.standard_normal((N, 4)), rng.standard_normal((N, T, 4)))
    assert abs(separate(codes, split).separation) < 0.15


def test_a_d_that_tells_everything_halves_the_separation():
    split = make_split()
    both = np.concatenate([clear(split, "who"), clear(split, "what")], axis=1)
    separation = separate(embedding(clear(split, "who"), both), split)
    assert separation.static_from_d == 1.0
    assert separation.separation == pytest.approx(0.5, abs=0.1)  # who 1 - 1, what 1 - 0


def test_a_leak_that_only_one_classifier_reads_counts_in_full():
    split, rng = make_split(), np.random.default_rng(3)
    noise = rng.standard_normal((N, 64))  # neighbours drown in it, a forest does not
    d = np.concatenate([clear(split, "what"), clear(split, "who"), 3 * noise], axis=1)
    row = separate(embedding(clear(split, "who"), d), split).factors[0]
    assert (row.factor, row.d_by) == ("who", "forest")
    assert row.d > 0.9


def test_steps_of_one_sequence_are_never_on_both_sides():
    split = make_split(per_step=True)
    same = np.repeat(split.label("what")[:, :1], T, axis=1)  # every step as the first
    split = Split(
        spec=split.spec, x=split.x, rows=split.rows, labels={**split.labels, "what": same}
    )
    own = np.random.default_rng(4).standard_normal((N, 8))  # s names the sequence, nothing else
    assert separate(embedding(own, np.eye(WHAT)[same]), split).dynamic_from_s < 0.2


def test_a_label_per_step_is_read_from_the_code_of_that_step():
    split = make_split(per_step=True)
    separation = separate(embedding(clear(split, "who"), np.eye(WHAT)[split.label("what")]), split)
    assert separation.dynamic_from_d == 1.0
    assert separation.separation > 0.9


def test_long_sequences_tell_by_their_beginning_and_by_mean_and_deviation():
    split, rng = make_split(40), np.random.default_rng(5)
    d = 0.1 * rng.standard_normal((N, 40, 2))
    late = np.arange(40) >= 16
    d[:, late, 0] += split.label("what")[:, None]  # the mean of later steps
    d[:, late, 1] *= 1 + 20 * (split.label("who") == 0)[:, None]  # how much they vary
    separation = separate(embedding(clear(split, "who"), d), split)
    assert separation.dynamic_from_d > 0.9
    assert separation.static_from_d > 0.1


def test_unknown_labels_and_padding_are_no_examples():
    split = make_split(per_step=True)
    codes = embedding(clear(split, "who"), np.eye(WHAT)[split.label("what")])
    what = split.label("what").copy()
    what[:, 0] = -1
    mask = codes.mask.copy()
    mask[:, -1] = False
    d = codes.d.copy()
    d[:, (0, -1)] = 7.0
    split = Split(
        spec=split.spec, x=split.x, rows=split.rows, labels={**split.labels, "what": what}
    )
    assert separate(Embedding(codes.s, d, mask), split).dynamic_from_d == 1.0


def test_a_factor_that_is_nowhere_known_is_left_out():
    split = make_split()
    labels = {**split.labels, "who": np.full(N, -1)}
    split = Split(spec=split.spec, x=split.x, rows=split.rows, labels=labels)
    separation = separate(embedding(np.zeros((N, 2)), clear(split, "what")), split)
    assert [row.factor for row in separation.factors] == ["what"]
    assert np.isnan(separation.static_from_s)


def test_sequences_of_a_declared_group_are_on_one_side():
    split, rng = make_split(), np.random.default_rng(7)
    group = np.repeat(np.arange(N // 10), 10)  # ten sequences each, of one label and one code
    what, names = rng.integers(WHAT, size=N // 10)[group], rng.standard_normal((N // 10, 8))[group]
    labels = {**split.labels, "what": what, "group": group}
    alone, grouped = (
        Split(spec=split.spec, x=split.x, rows=split.rows, labels=labels, group=name)
        for name in ("", "group")
    )
    codes = embedding(clear(split, "who"), names)  # d names the group and nothing else
    assert separate(codes, alone).dynamic_from_d > 0.9
    assert separate(codes, grouped).dynamic_from_d < 0.5


def test_one_seed_gives_one_result():
    split, rng = make_split(), np.random.default_rng(6)
    codes = embedding(rng.standard_normal((N, 4)), rng.standard_normal((N, T, 4)))
    assert separate(codes, split) == separate(codes, split)


def test_data_without_classes_are_refused():
    split = make_split()
    spec = Spec(name="bare", kind="audio", frame=(2,), length=T)
    bare = Split(spec=spec, x=split.x, rows=split.rows)
    with pytest.raises(ValueError, match="bare has no factor with two classes"):
        separate(embedding(np.zeros((N, 2)), np.zeros((N, T, 2))), bare)


class Echo(Method):
    """Decodes what it was given, `share` of the way from the mean to the truth."""

    def __init__(self, split: Split, share: float) -> None:
        super().__init__()
        self.spec, self.share = split.spec, torch.nn.Parameter(torch.tensor(share))
        self.mean = torch.from_numpy(np.asarray(split.x).mean(0))

    def encode(self, batch: Batch) -> Codes:
        return Codes(batch.x[:, 0], batch.x)

    def decode(self, codes: Codes) -> torch.Tensor:
        return torch.lerp(self.mean.expand_as(codes.d), codes.d, self.share)

    def sample(self, n: int, length: int, *, means: bool = False) -> Codes:
        raise NotImplementedError

    def loss(self, batch: Batch, step: int) -> dict[str, tuple[float, torch.Tensor]]:
        return {}


@pytest.mark.parametrize(("share", "wanted"), [(1.0, 0.0), (0.5, 0.25), (0.0, 1.0)])
def test_the_error_is_relative_to_that_of_the_mean_sequence(share: float, wanted: float):
    split = make_split()
    assert relative_error(Echo(split, share), split) == pytest.approx(wanted, abs=1e-5)


def test_separation_keeps_all_its_parts():
    names = {"separation", "static_from_s", "static_from_d", "dynamic_from_d", "dynamic_from_s"}
    assert names < set(Separation.__dataclass_fields__)
