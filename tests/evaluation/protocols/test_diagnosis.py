"""Diagnoses of models whose faults are known because they were built in."""

from dataclasses import asdict, replace

import numpy as np
import pytest
import torch

from tests.conformance.toys import toy_batch, toy_method
from unbraid.data.corpus import Split
from unbraid.evaluation.protocols.diagnosis import Diagnosis, diagnose
from unbraid.evaluation.protocols.probes import ProbeRow
from unbraid.evaluation.protocols.verdict import RECIPE_IF_NEW, verdict
from unbraid.methods import METHODS
from unbraid.methods.base import Method, VariationalMethod
from unbraid.nets import NetConfig
from unbraid.objectives.elbo import kl_standard
from unbraid.records import Batch, Codes, Spec
from unbraid.workflows.evaluate.diagnose import diagnosis_rows

N, T = 48, 6
SPEC = Spec(name="glass", kind="audio", frame=(5,), length=T, size=200)


class Glass(Method):
    """x = (s, d): the first 3 features never change, the other 2 are the dynamic code."""

    def __init__(self) -> None:
        super().__init__()
        self.spec = SPEC
        self.anything = torch.nn.Parameter(torch.zeros(1))

    def encode(self, batch: Batch) -> Codes:
        return Codes(batch.x[:, 0, :3], batch.x[..., 3:])

    def decode(self, codes: Codes) -> torch.Tensor:
        return torch.cat([codes.s[:, None].expand(-1, codes.d.shape[1], -1), codes.d], -1)

    def sample(self, n: int, length: int, *, means: bool = False) -> Codes:
        raise NotImplementedError

    def loss(self, batch: Batch, step: int) -> dict[str, tuple[float, torch.Tensor]]:
        return {}


class Leaky(Glass):
    """d holds everything and the decoder does not look at s."""

    def encode(self, batch: Batch) -> Codes:
        return Codes(batch.x[:, 0, :3], batch.x)

    def decode(self, codes: Codes) -> torch.Tensor:
        return codes.d


class Greedy(Glass):
    """s holds the whole sequence and the decoder does not look at d."""

    def encode(self, batch: Batch) -> Codes:
        return Codes(batch.x.flatten(1), batch.x[..., 3:])

    def decode(self, codes: Codes) -> torch.Tensor:
        return codes.s.unflatten(1, (-1, 5))


class Hasty(Glass):
    """s also holds what happens in the first frame."""

    def encode(self, batch: Batch) -> Codes:
        return Codes(torch.cat([0.1 * batch.x[:, 0, :3], batch.x[:, 0, 3:]], 1), batch.x[..., 3:])

    def decode(self, codes: Codes) -> torch.Tensor:
        return Glass.decode(self, Codes(10 * codes.s[:, :3], codes.d))


def _split(*, ragged: bool = False) -> Split:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((N, T, 5)).astype(np.float32)
    x[..., :3] = x[:, :1, :3]
    lengths = rng.integers(3, T + 1, N) if ragged else None
    if lengths is not None:
        x[np.arange(T) >= lengths[:, None]] = 1e4  # rubbish behind the end
    return Split(spec=SPEC, x=x, rows=np.arange(N), lengths=lengths)


def _diagnosis(method: Method, **kwargs) -> Diagnosis:
    return diagnose(method.eval(), _split(), batch_size=16, **kwargs)


def test_a_perfect_model_survives_the_cycle_and_each_code_explains_its_share():
    diagnosis = _diagnosis(Glass())
    for cycle in (diagnosis.static_cycle, diagnosis.dynamic_cycle):
        assert cycle.kept == pytest.approx(1.0)
        assert (cycle.agreement, cycle.retrieval, cycle.unswapped) == (1.0, 1.0, 1.0)
        assert abs(cycle.other) < 0.3
    x = _split().x.astype(np.float64)
    parts = x.var(0).sum(0)  # of every feature, about the mean sequence
    assert diagnosis.explained == pytest.approx(1.0)
    assert diagnosis.explained_by_static == pytest.approx(parts[:3].sum() / parts.sum(), abs=1e-5)
    assert diagnosis.explained_by_dynamic == pytest.approx(parts[3:].sum() / parts.sum(), abs=1e-5)
    assert diagnosis.order_change == 0.0
    assert (diagnosis.sequences, diagnosis.batch) == (48, 16)
    assert diagnosis.static_units is diagnosis.dynamic_units is diagnosis.mutual is None
    assert verdict(diagnosis) == [
        "No sign of leakage: after a swap s stays with its source in 100 % of pairs and d in "
        "100 %; "
        "both codes explain 100 % of the data."
    ]


def test_a_d_that_holds_everything_is_found_out():
    diagnosis = _diagnosis(Leaky())
    assert diagnosis.static_cycle.agreement == 0.0
    assert diagnosis.static_cycle.other == pytest.approx(1.0)
    assert diagnosis.static_cycle.unswapped == 1.0
    assert diagnosis.dynamic_cycle.agreement == 1.0
    assert diagnosis.explained_by_dynamic == pytest.approx(1.0)
    assert diagnosis.explained_by_static == pytest.approx(0.0, abs=1e-6)
    sentences = verdict(diagnosis)
    assert any(
        sentence.startswith("s adds little: d alone explains 100 %") for sentence in sentences
    )
    assert any(
        sentence.startswith("d carries static information: after a swap s")
        for sentence in sentences
    )
    assert not any("s carries" in sentence for sentence in sentences)


def test_an_s_that_holds_everything_is_found_out():
    diagnosis = _diagnosis(Greedy())
    assert diagnosis.dynamic_cycle.agreement == 0.0
    assert diagnosis.static_cycle.agreement == 1.0
    assert diagnosis.order_change > 0.5
    assert any(
        sentence.startswith("s carries dynamic information") for sentence in verdict(diagnosis)
    )


def test_an_s_that_depends_on_the_order_is_noticed():
    diagnosis = _diagnosis(Hasty())
    # 5 in 6 shuffles put another frame first, which is as far away as another sequence's.
    assert 0.6 < diagnosis.order_change < 1.1
    assert any("s changes when frames are shuffled" in sentence for sentence in verdict(diagnosis))


def test_a_dead_s_is_retrieved_by_chance_only():
    class Dead(Glass):
        def encode(self, batch: Batch) -> Codes:
            return Codes(torch.zeros(len(batch), 3), batch.x[..., 3:])

    diagnosis = _diagnosis(Dead())
    assert diagnosis.static_cycle.retrieval == pytest.approx(1 / 16)
    assert diagnosis.static_cycle.agreement == 0.5
    assert any("s cannot be read back" in sentence for sentence in verdict(diagnosis))


def test_what_stands_behind_the_end_does_not_count():
    diagnosis = diagnose(Glass(), _split(ragged=True), batch_size=16)
    assert diagnosis.explained == pytest.approx(1.0)
    assert diagnosis.explained_by_static + diagnosis.explained_by_dynamic == pytest.approx(
        1.0, abs=0.02
    )
    assert diagnosis.dynamic_cycle.retrieval == 1.0


def test_one_seed_gives_one_diagnosis():
    assert _diagnosis(Hasty(), seed=3) == _diagnosis(Hasty(), seed=3)
    assert _diagnosis(Hasty(), seed=3).order_change != _diagnosis(Hasty(), seed=4).order_change


@pytest.mark.parametrize("name", ["dsvae", "dbse"])
def test_a_posterior_tells_units_their_cost_and_mutual_information(name):
    torch.manual_seed(0)
    cls = METHODS[name]
    net = NetConfig(hidden=8, audio_hidden=8)
    method = cls(SPEC, cls.Config(static_dim=6, dynamic_dim=4, net=net)).eval()
    split = _split(ragged=True)
    diagnosis = diagnose(method, split, batch_size=48)
    with torch.inference_mode():
        _, q = method.infer(split.take(slice(None)))
    assert sum(diagnosis.static_units.kl) == pytest.approx(float(kl_standard(q.s).mean()), rel=1e-4)
    assert diagnosis.static_units.active == int((q.s.mean.var(0, correction=0) > 0.01).sum())
    assert (diagnosis.static_units.total, diagnosis.dynamic_units.total) == (6, 4)
    assert min(diagnosis.dynamic_units.kl) >= 0
    low, high = diagnosis.mutual_range
    assert (low, high) == pytest.approx((np.log(200), np.log(200 * 48)))
    assert low - 1 < diagnosis.mutual < high + 1e-3


VARIATIONAL = [name for name, cls in METHODS.items() if issubclass(cls, VariationalMethod)]


@pytest.mark.parametrize("name", VARIATIONAL)
def test_the_kl_of_s_is_reported_where_it_is_that_of_the_loss(name):
    kind = METHODS[name].kinds[0]
    settings = {"share": 1.0} if name == "glr" else {}  # else s is read from a random piece
    method, batch = toy_method(name, kind, **settings).eval(), toy_batch(kind)
    x = batch.x.masked_fill(~batch.valid, 0.0).numpy()
    lengths = batch.mask.sum(1).numpy()
    split = Split(spec=method.spec, x=x, rows=np.arange(len(x)), lengths=lengths)
    batch = split.take(slice(None))
    units = diagnose(method, split, batch_size=len(x)).static_units
    with torch.no_grad():
        terms = method.loss(batch, 0)
        cost = kl_standard(method.infer(batch)[1].s).mean()
    same = "kl_static" in terms and torch.isclose(terms["kl_static"][1], cost, rtol=1e-4)
    assert (units is not None) == same
    if units is not None:
        assert sum(units.kl) == pytest.approx(float(terms["kl_static"][1]), rel=1e-4)


def test_a_mean_of_codes_of_steps_has_no_units_and_its_place_stays_empty():
    cls = METHODS["vae"]
    net = NetConfig(hidden=8, audio_hidden=8)
    method = cls(SPEC, cls.Config(static_dim=6, dynamic_dim=4, net=net)).eval()
    with torch.no_grad():  # q(z_t) = N(0, I), the prior: no code costs anything
        for parameter in method.posterior.head.parameters():
            parameter.zero_()
    diagnosis = _diagnosis(method)
    assert diagnosis.static_units is None  # that of the mean of 6 codes would be 0.48 nats a unit
    assert diagnosis.dynamic_units.kl == pytest.approx([0.0] * 4, abs=1e-6)
    rows = {row[0]: row[1:3] for row in diagnosis_rows(asdict(diagnosis))}
    assert rows["KL, nats"] == ["", "0.0"]
    assert rows["active units"] == ["", "0 of 4"]


def test_units_and_reconstruction_have_their_sentences():
    units = diagnose(_dsvae(), _split(), batch_size=16).static_units
    diagnosis = replace(
        _diagnosis(Glass()),
        explained=0.3,
        explained_by_static=0.2,
        explained_by_dynamic=0.1,
        static_units=replace(units, active=3, total=256),
    )
    assert verdict(diagnosis) == [
        "Both codes explain 30 % of the data only: train longer, then judge.",
        "s is hardly used: 3 of 256 units active; lower method.w_kl_static.",
    ]


def _dsvae() -> Method:
    cls = METHODS["dsvae"]
    net = NetConfig(hidden=8, audio_hidden=8)
    return cls(SPEC, cls.Config(static_dim=6, dynamic_dim=4, net=net)).eval()


def test_probes_speak_where_there_are_labels():
    rows = [
        ProbeRow("s", "speaker", "static", "svc", 0.05, 0.0, 0.02),
        ProbeRow("d", "speaker", "static", "svc", 0.61, 0.0, 0.02),
        ProbeRow("s", "phone", "dynamic", "svc", 0.12, 0.0, 0.1),
        ProbeRow("d", "phone", "dynamic", "svc", 0.9, 0.0, 0.1),
    ]
    assert verdict(_diagnosis(Glass()), rows) == [
        "s does not tell speaker: 5 % against 2 % chance; train longer or lower "
        "method.w_kl_static.",
        f"d carries speaker: 61 % against 2 % chance; {RECIPE_IF_NEW}.",
    ]


def test_one_sequence_cannot_be_diagnosed():
    with pytest.raises(ValueError, match="two at least, got 1"):
        diagnose(Glass(), _split().select([0]))


def test_of_several_classifiers_the_best_reader_is_quoted_once():
    rows = [
        ProbeRow("d", "who", "static", name, mean, 0.0, 0.1)
        for name, mean in (("svc", 0.5), ("forest", 0.9), ("knn", 0.6))
    ]
    sentences = [one for one in verdict(_diagnosis(Glass()), rows) if "d carries who" in one]
    assert len(sentences) == 1
    assert "90 % against 10 % chance" in sentences[0]
