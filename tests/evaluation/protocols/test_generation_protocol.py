"""Judged generation on a method whose codes are the labels, and on ones that leak."""

import numpy as np
import pytest
import torch
from torch.nn.functional import one_hot

from unbraid.data.corpus import Split
from unbraid.evaluation.protocols.generation import (
    Draws,
    JudgedRow,
    judge_controls,
    judge_generations,
    leakage_table,
)
from unbraid.methods.base import Method
from unbraid.records import Batch, Codes, Factor, Spec

N, T, WHO, WHAT, NOW = 240, 4, 4, 3, 2
SPEC = Spec(
    name="labels",
    kind="audio",
    frame=(WHO + WHAT + NOW,),
    length=T,
    static=(Factor(name="who", classes=WHO),),
    dynamic=(Factor(name="what", classes=WHAT), Factor(name="now", classes=NOW, per_step=True)),
)


class Oracle(Method):
    """x shows one-hot (who, what, now); s is who, d is the rest; a leak gives d who as well."""

    def __init__(self, *, leak: bool = False) -> None:
        super().__init__()
        self.spec, self.leak = SPEC, leak
        self.anything = torch.nn.Parameter(torch.zeros(1))
        self.asked: list[bool] = []

    def encode(self, batch: Batch) -> Codes:
        return Codes(batch.x[:, 0, :WHO], batch.x if self.leak else batch.x[..., WHO:])

    def decode(self, codes: Codes) -> torch.Tensor:
        if self.leak:
            return codes.d
        return torch.cat([codes.s[:, None].expand(-1, codes.d.shape[1], -1), codes.d], -1)

    def sample(self, n: int, length: int, *, means: bool = False) -> Codes:
        self.asked.append(means)
        who = one_hot(torch.randint(WHO, (n,)), WHO).float()
        what = one_hot(torch.randint(WHAT, (n, 1)).expand(-1, length), WHAT).float()
        now = one_hot(torch.randint(NOW, (n, length)), NOW).float()
        d = torch.cat([what, now], -1)
        someone = one_hot(torch.randint(WHO, (n, 1)).expand(-1, length), WHO).float()
        return Codes(who, torch.cat([someone, d], -1) if self.leak else d)

    def loss(self, batch: Batch, step: int) -> dict[str, tuple[float, torch.Tensor]]:
        return {}


class Reader:
    """Reads the labels off x, as a perfect judge would."""

    factors = (
        (SPEC.static[0], "static"),
        (SPEC.dynamic[0], "dynamic"),
        (SPEC.dynamic[1], "dynamic"),
    )

    def predict(self, batch: Batch) -> dict[str, np.ndarray]:
        x = batch.x.numpy()
        return {
            "who": x[:, 0, :WHO],
            "what": x[:, 0, WHO : WHO + WHAT],
            "now": x[..., WHO + WHAT :],
        }


def _split(lengths: np.ndarray | None = None) -> Split:
    rng = np.random.default_rng(0)
    labels = {
        "who": np.arange(N) % WHO,
        "what": np.arange(N) // WHO % WHAT,
        "now": rng.integers(NOW, size=(N, T)),
    }
    who, what = np.eye(WHO)[labels["who"]], np.eye(WHAT)[labels["what"]]
    still = np.repeat(np.concatenate([who, what], -1)[:, None], T, 1)
    x = np.concatenate([still, np.eye(NOW)[labels["now"]]], -1).astype(np.float32)
    return Split(spec=SPEC, x=x, rows=np.arange(N), labels=labels, lengths=lengths)


def _by(rows: list[JudgedRow], metric: str = "accuracy") -> dict[tuple[str, str], JudgedRow]:
    return {(row.kept, row.factor): row for row in rows if row.metric == metric}


@pytest.fixture(scope="module")
def clean() -> list[JudgedRow]:
    return judge_generations(Oracle(), Reader(), _split(), Draws(repeats=5, seed=0))


def test_a_perfect_method_keeps_what_is_kept_and_loses_the_rest(clean: list[JudgedRow]):
    scores = _by(clean)
    for key in (("s", "who"), ("d", "what"), ("d", "now")):
        assert (scores[key].mean, scores[key].std, scores[key].low, scores[key].high) == (
            1,
            0,
            1,
            1,
        )
    for key, classes in ((("d", "who"), WHO), (("s", "what"), WHAT), (("s", "now"), NOW)):
        assert scores[key].mean == pytest.approx(1 / classes, abs=0.05)
        assert scores[key].low < scores[key].mean < scores[key].high
        assert scores[key].std > 0
    assert scores["s", "who"].chance == pytest.approx(1 / WHO)


def test_scores_of_a_perfect_method_are_the_optimum(clean: list[JudgedRow]):
    for code, factor, classes in (("s", "who", WHO), ("d", "what", WHAT)):
        score, sure, varied = (
            _by(clean, metric)[code, factor]
            for metric in ("inception_score", "intra_entropy", "inter_entropy")
        )
        assert (score.mean, score.low, score.high) == pytest.approx((classes,) * 3)
        assert (sure.mean, varied.mean) == pytest.approx((0.0, np.log(classes)))
        assert (score.chance, sure.chance) == pytest.approx((1.0, np.log(classes)))


def test_factors_with_a_label_per_step_have_accuracy_only(clean: list[JudgedRow]):
    assert {row.metric for row in clean if row.factor == "now"} == {"accuracy"}


def test_the_table_has_both_directions_chance_and_gaps(clean: list[JudgedRow]):
    s, d = leakage_table(clean)
    assert (s.kept, s.static, d.kept, d.dynamic) == ("s", 1.0, "d", 1.0)
    assert s.gap == pytest.approx(1 - s.dynamic)
    assert d.gap == pytest.approx(1 - d.static)
    assert s.gap == pytest.approx(1 - (1 / WHAT + 1 / NOW) / 2, abs=0.05)
    assert d.static_chance == pytest.approx(1 / WHO)


def test_a_leaky_method_is_found_out(clean: list[JudgedRow]):
    rows = judge_generations(Oracle(leak=True), Reader(), _split(), Draws(repeats=2, seed=0))
    s, d = leakage_table(rows)
    assert (d.static, d.dynamic, d.gap) == (1.0, 1.0, 0.0)  # d tells who as well
    assert s.static == pytest.approx(1 / WHO, abs=0.06)  # and s tells nothing
    assert s.gap < leakage_table(clean)[0].gap - 0.5


def test_a_role_without_factors_leaves_its_place_empty(clean: list[JudgedRow]):
    s, d = leakage_table([row for row in clean if row.role == "static"])
    assert (s.static, s.dynamic, s.gap, d.gap) == (1.0, None, None, None)


def test_one_seed_gives_one_result_and_repeats_draw_anew():
    split = _split()
    rows = [
        judge_generations(Oracle(), Reader(), split, Draws(repeats=2, seed=s)) for s in (3, 3, 4)
    ]
    assert rows[0] == rows[1]
    assert rows[0] != rows[2]
    assert _by(rows[0])["d", "who"].std > 0


def test_means_are_asked_of_the_prior():
    method = Oracle()
    judge_generations(method, Reader(), _split(), Draws(repeats=1, means=True))
    judge_generations(method, Reader(), _split(), Draws(repeats=1))
    assert method.asked == [True, True, False, False]  # 240 sequences are two batches


def test_controls_are_perfect_where_decoding_is():
    scores = _by(judge_controls(Oracle(), Reader(), _split()))
    assert {key for key, row in scores.items() if row.mean == 1.0} == {
        (code, factor) for code in ("both", "data") for factor in ("who", "what", "now")
    }


def test_padded_steps_do_not_count_in_judged_accuracy():
    lengths = np.where(np.arange(N) % 2, 2, T)
    split = _split(lengths)
    behind = np.arange(T) >= lengths[:, None]
    split.labels["now"][behind] = 1 - split.labels["now"][behind]  # wrong, but of no step
    assert _by(judge_controls(Oracle(), Reader(), split))["data", "now"].mean == 1.0


def test_no_repeats_are_refused():
    with pytest.raises(ValueError, match="repeats must be 1 or more, got 0"):
        judge_generations(Oracle(), Reader(), _split(), Draws(repeats=0))


def test_only_the_sides_asked_for_are_judged_and_by_the_same_draws(clean: list[JudgedRow]):
    rows = judge_generations(Oracle(), Reader(), _split(), Draws(repeats=5, seed=0, sides=("s",)))
    assert rows == [row for row in clean if row.kept == "s"]


def test_unknown_labels_count_neither_as_wrong_nor_as_a_class():
    split = _split()
    for name in ("who", "now"):
        split.labels[name][::5] = -1
    rows = judge_controls(Oracle(), Reader(), split)
    known = split.label("who")[np.arange(N) % 5 > 0]
    for factor in ("who", "now"):
        row = _by(rows)["data", factor]
        assert (row.mean, row.low, row.high) == (1.0, 1.0, 1.0)
    assert _by(rows)["data", "who"].chance == np.bincount(known).max() / len(known)
    assert _by(rows, "inception_score")["data", "who"].mean == pytest.approx(WHO)


def test_a_few_known_labels_have_an_interval():
    split = _split()
    split.labels["who"][3:] = -1
    row = _by(judge_controls(Oracle(), Reader(), split))["data", "who"]
    assert (row.mean, row.low, row.high) == (1.0, 1.0, 1.0)


def test_a_factor_that_is_nowhere_known_has_no_figures():
    split = _split()
    split.labels["who"][:] = -1
    rows = judge_controls(Oracle(), Reader(), split)
    assert {row.factor for row in rows} == {"what", "now"}
