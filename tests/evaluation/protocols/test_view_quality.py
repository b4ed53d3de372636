"""Positive views of models whose codes are the labels, or are not."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from unbraid.data.corpus import Split
from unbraid.evaluation.protocols.view_quality import ViewRow, agreement, view_quality
from unbraid.methods.base import VariationalMethod
from unbraid.records import Batch, Factor, Gaussian, Posterior, Spec, Terms

N, T, CLASSES = 54, 5, 3
WHO, WHAT = np.arange(N) % CLASSES, np.arange(N) // CLASSES % CLASSES
SPEC = Spec(
    name="glass",
    kind="audio",
    frame=(2 * CLASSES,),
    length=T,
    static=(Factor(name="who", classes=CLASSES), Factor(name="weight", classes=0)),
    dynamic=(Factor(name="what", classes=CLASSES),),
)


class _Look(nn.Module):
    """The first half of a frame is the mean of q(s), the second that of q(d)."""

    def __init__(self, crossed: bool) -> None:
        super().__init__()
        self.anything, self.crossed = nn.Parameter(torch.zeros(1)), crossed

    def forward(self, h: Tensor, mask: Tensor) -> Posterior:
        who, what = h.split(CLASSES, -1)
        s, d = (what[:, 0], who) if self.crossed else (who[:, 0], what)
        return Posterior(*(Gaussian(part, torch.zeros_like(part)) for part in (s, d)))


class Glass(VariationalMethod):
    def __init__(self, crossed: bool = False) -> None:
        super().__init__()
        self.spec, self.posterior = SPEC, _Look(crossed)

    def encoder(self, batch: Batch) -> Tensor:
        return batch.x

    def loss(self, batch: Batch, step: int) -> Terms:
        return {}


@pytest.fixture
def split() -> Split:
    eye = np.eye(CLASSES, dtype=np.float32)
    frames = np.concatenate([eye[WHO], eye[WHAT]], 1)
    x = np.repeat(frames[:, None], T, axis=1)
    labels = {"who": WHO, "what": WHAT, "weight": np.arange(N) / N}
    return Split(spec=SPEC, x=x, rows=np.arange(N), labels=labels)


def _table(rows: list[ViewRow]) -> dict[tuple[str, str], float]:
    return {(row.code, row.factor): row.share for row in rows}


def test_positives_by_a_code_that_is_the_label_all_share_it(split):
    rows = view_quality([(0, Glass())], split)
    table = _table(rows)
    assert table["s", "who"] == table["d", "what"] == 1.0
    # Balanced and crossed: 5 of the 17 others of one `who` have the same `what`.
    assert table["s", "what"] == pytest.approx(5 / 17)
    assert table["d", "who"] == pytest.approx(5 / 17)
    # 17 of 53 others share a label.
    assert [row.chance for row in rows] == pytest.approx([17 / 53] * 4)


def test_rows_know_which_factor_a_code_should_share_and_numbers_are_left_out(split):
    rows = view_quality([(0, Glass())], split)
    assert [(row.code, row.factor) for row in rows if row.wanted] == [("s", "who"), ("d", "what")]
    assert {row.factor for row in rows} == {"who", "what"}


def test_several_checkpoints_give_rows_of_their_steps(split):
    made = ((step, Glass(crossed=step < 100)) for step in (0, 100))
    rows = view_quality(made, split)
    assert [row.step for row in rows] == [0] * 4 + [100] * 4
    assert _table(rows[:4])["s", "who"] == pytest.approx(5 / 17)
    assert _table(rows[:4])["s", "what"] == 1.0
    assert _table(rows[4:])["s", "who"] == 1.0


def test_labels_follow_their_sequences_through_shuffled_batches(split):
    rows = view_quality([(0, Glass())], split.select(np.arange(N)[::-1]), batch_size=27, seed=5)
    # A third of 27 with the anchor is 9; by chance a class may be smaller than that.
    assert _table(rows)["s", "who"] > 0.9


def test_labels_per_step_agree_at_the_steps_both_have():
    labels = np.array([[0, 1, 2, 9], [0, 5, 2, 9], [0, 1, 2, 9]])
    mask = np.array([[1, 1, 1, 0], [1, 1, 1, 1], [1, 1, 0, 0]], dtype=bool)
    table = agreement(labels, mask)
    np.testing.assert_allclose(table[0], [1, 2 / 3, 1])
    np.testing.assert_allclose(table[1], [2 / 3, 1, 1 / 2])
    np.testing.assert_array_equal(table, table.T)


def test_two_unknown_labels_do_not_agree():
    table = agreement(np.array([0, -1, -1, 0]), np.ones((4, 1), dtype=bool))
    np.testing.assert_array_equal(table[1:3], np.nan)
    np.testing.assert_array_equal(table[0, [0, 3]], 1)
    steps = agreement(np.array([[0, -1, 1], [0, -1, 2], [-1, 1, -1]]), np.ones((3, 3), dtype=bool))
    np.testing.assert_array_equal(steps[0], [1, 0.5, np.nan])


def test_shares_and_chance_are_those_of_known_labels(split):
    hidden = split.labels["who"].copy()
    hidden[::4] = -1
    labels = {**split.labels, "who": hidden, "what": np.full(N, -1)}
    rows = view_quality([(0, Glass())], replace(split, labels=labels))
    assert {row.factor for row in rows} == {"who"}  # the other is nowhere known
    known = hidden[hidden >= 0]
    pairs = (np.bincount(known) * (np.bincount(known) - 1)).sum()
    assert _table(rows)["s", "who"] == 1.0
    assert rows[0].chance == pytest.approx(pairs / (len(known) * (len(known) - 1)))
