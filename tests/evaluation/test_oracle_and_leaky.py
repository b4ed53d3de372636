"""A perfect model and one that leaks by construction, pushed through every protocol.

x holds who speaks (one of 4, constant) and what is said (one of 3, at every step) in the clear. The
oracle puts the first into s and the second into d; the leaky model puts both into d, and its
decoder does not look at s.
"""

import numpy as np
import pytest
import torch

from unbraid.data.corpus import Split
from unbraid.evaluation.manipulate import embed
from unbraid.evaluation.protocols.diagnosis import diagnose
from unbraid.evaluation.protocols.generation import (
    Draws,
    judge_generations,
    judge_samples,
    leakage_table,
)
from unbraid.evaluation.protocols.probes import gaps, probe
from unbraid.evaluation.protocols.series_tasks import code_examples, predict_target
from unbraid.evaluation.protocols.speakers import verify_speakers
from unbraid.evaluation.protocols.verdict import verdict
from unbraid.methods.base import Method
from unbraid.records import Batch, Codes, Factor, Spec

N, T, WHO, WHAT = 192, 6, 4, 3
SPEC = Spec(
    name="clear",
    kind="audio",
    frame=(WHO + WHAT,),
    length=T,
    static=(Factor(name="speaker", classes=WHO),),
    dynamic=(Factor(name="phone", classes=WHAT, per_step=True),),
    size=N,
)


class Oracle(Method):
    def __init__(self) -> None:
        super().__init__()
        self.spec = SPEC
        self.nothing = torch.nn.Parameter(torch.zeros(1))

    def encode(self, batch: Batch) -> Codes:
        return Codes(batch.x[:, 0, :WHO], batch.x[..., WHO:])

    def decode(self, codes: Codes) -> torch.Tensor:
        s = codes.s[:, None].expand(-1, codes.d.shape[1], -1)
        return torch.cat([s, codes.d], -1)

    def sample(self, n: int, length: int, *, means: bool = False) -> Codes:
        s, d = torch.randint(WHO, (n,)), torch.randint(WHAT, (n, length))
        return Codes(torch.eye(WHO)[s], torch.eye(WHAT)[d])

    def loss(self, batch: Batch, step: int) -> dict[str, tuple[float, torch.Tensor]]:
        return {}


class Leaky(Oracle):
    def encode(self, batch: Batch) -> Codes:
        return Codes(batch.x[:, 0, :WHO], batch.x)

    def decode(self, codes: Codes) -> torch.Tensor:
        return codes.d

    def sample(self, n: int, length: int, *, means: bool = False) -> Codes:
        z = super().sample(n, length)
        return Codes(z.s, Oracle.decode(self, super().sample(n, length)))


class Reading:
    """A judge that reads both factors off x."""

    factors = ((SPEC.static[0], "static"), (SPEC.dynamic[0], "dynamic"))

    def predict(self, batch: Batch) -> dict[str, np.ndarray]:
        x = batch.x.numpy()
        return {"speaker": x[..., :WHO].mean(1), "phone": x[..., WHO:]}


@pytest.fixture(scope="module")
def split() -> Split:
    rng = np.random.default_rng(0)
    who, what = np.arange(N) % WHO, rng.integers(WHAT, size=(N, T))
    x = np.concatenate([np.repeat(np.eye(WHO)[who][:, None], T, 1), np.eye(WHAT)[what]], -1)
    labels = {"speaker": who, "utterance": np.arange(N) // 8, "phone": what}
    return Split(spec=SPEC, x=x.astype(np.float32), rows=np.arange(N), labels=labels)


@pytest.fixture(scope="module", params=[Oracle, Leaky], ids=["oracle", "leaky"])
def model(request: pytest.FixtureRequest) -> Method:
    return request.param().eval()


def test_probes_find_the_leak_in_d(model: Method, split: Split):
    rows = probe(embed(model, split), split, seeds=3)
    accuracy = {(row.code, row.factor): row.mean for row in rows}
    assert accuracy["s", "speaker"] == accuracy["d", "phone"] == 1.0
    assert accuracy["s", "phone"] < 0.5  # chance is near a third
    if isinstance(model, Leaky):
        assert accuracy["d", "speaker"] == 1.0
    else:
        assert accuracy["d", "speaker"] < 0.45  # chance is a quarter
        assert gaps(rows)["d_gap"] > 0.5


def test_the_judge_sees_who_is_kept(model: Method, split: Split):
    rows = judge_generations(model, Reading(), split, Draws(repeats=3, seed=0))
    accuracy = {(r.kept, r.factor): r.mean for r in rows if r.metric == "accuracy"}
    assert accuracy["d", "phone"] == 1.0
    if isinstance(model, Leaky):
        assert accuracy["d", "speaker"] == 1.0  # d alone says who it is
        assert accuracy["s", "speaker"] < 0.4  # and s has no say
    else:
        assert accuracy["s", "speaker"] == 1.0
        assert accuracy["d", "speaker"] < 0.4
        assert accuracy["s", "phone"] < 0.45
    by_kept = {row.kept: row.gap for row in leakage_table(rows)}
    assert (by_kept["d"] < 0.1) == isinstance(model, Leaky)


def test_two_samples_with_one_code_in_common_agree_in_what_that_code_holds(
    model: Method, split: Split
):
    rows = {row.factor: row for row in judge_samples(model, Reading(), split, Draws(repeats=3))}
    assert rows["phone"].mean == 1.0
    assert rows["phone"].chance == pytest.approx(1 / WHAT, abs=0.01)
    assert rows["speaker"].chance == pytest.approx(1 / WHO, abs=0.01)
    if isinstance(model, Leaky):  # d decides who speaks
        assert rows["speaker"].mean == pytest.approx(1 / WHO, abs=0.05)
    else:
        assert rows["speaker"].mean == 1.0
    assert {row.kept for row in rows.values()} == {"prior"}


def test_chance_of_agreement_knows_what_a_step_usually_shows(split: Split):
    class Ordered(Oracle):
        """Every sample shows the classes in the same order."""

        def sample(self, n: int, length: int, *, means: bool = False) -> Codes:
            d = torch.eye(WHAT)[torch.arange(length) % WHAT].expand(n, -1, -1)
            return Codes(super().sample(n, length).s, d)

    row = next(r for r in judge_samples(Ordered(), Reading(), split) if r.factor == "phone")
    assert (row.mean, row.chance) == (1.0, pytest.approx(1.0))


def test_samples_decode_means_if_draws_are_not_wanted(split: Split):
    class Told(Oracle):
        def sample(self, n: int, length: int, *, means: bool = False) -> Codes:
            told.append(means)
            return super().sample(n, length)

    told: list[bool] = []
    judge_samples(Told(), Reading(), split, Draws(repeats=1, means=True))
    assert told
    assert all(told)


def test_speakers_are_verified_by_the_code_that_holds_them(model: Method, split: Split):
    result = verify_speakers(embed(model, split), split)
    assert result.static_eer == 0.0
    if isinstance(model, Leaky):
        assert result.dynamic_eer < 0.05
    else:
        assert result.dynamic_eer > 0.3
    assert result.gap == pytest.approx(result.dynamic_eer - result.static_eer)


def test_a_target_is_predicted_from_the_code_that_holds_it(model: Method, split: Split):
    factor, codes = SPEC.static[0], embed(model, split)
    parts = [code_examples(codes, split, factor, use="d")] * 3
    (score,) = predict_target(parts, factor, predictor="linear", seeds=1).scores
    assert (score.mean > 0.95) == isinstance(model, Leaky)


def test_the_diagnosis_needs_no_labels_to_tell_them_apart(model: Method, split: Split):
    diagnosis = diagnose(model, split)
    text = " ".join(verdict(diagnosis))
    assert diagnosis.explained == pytest.approx(1.0, abs=1e-5)
    assert diagnosis.dynamic_cycle.agreement > 0.95
    if isinstance(model, Leaky):
        assert diagnosis.explained_by_dynamic == pytest.approx(1.0, abs=1e-5)
        assert diagnosis.static_cycle.agreement < 0.5  # the swapped sequence is the other's
        assert "s" in text
        assert "No sign of leakage" not in text
    else:
        assert diagnosis.static_cycle.agreement > 0.85  # equal speakers are ties
        assert diagnosis.explained_by_dynamic < 0.9
