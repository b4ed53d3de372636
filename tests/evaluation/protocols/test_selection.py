"""The two numbers that choose between models without labels."""

import dataclasses
import math
from collections.abc import Callable

import numpy as np
import pytest
import torch

from unbraid.data import load_data
from unbraid.data.corpus import Split
from unbraid.evaluation.protocols.diagnosis import Cycle, Diagnosis
from unbraid.evaluation.protocols.selection import held_out_nats, leakage
from unbraid.methods import find_method
from unbraid.methods.base import Method
from unbraid.nets import NetConfig
from unbraid.records import Codes, Spec

SMALL = {"static_dim": 3, "dynamic_dim": 2, "net": NetConfig(hidden=8)}
PERFECT = Cycle(kept=1.0, other=0.0, agreement=1.0, retrieval=1.0, unswapped=1.0)


def series() -> Split:
    options = {"train": 8, "validation": 6, "test": 1, "windows": 4}
    return load_data("toy-series", options).validation


def sounds() -> Split:
    spec = Spec(name="noise", kind="audio", frame=(5,), length=4, size=6)
    x = np.random.default_rng(0).normal(size=(6, 4, 5)).astype(np.float32)
    lengths = np.array([4, 4, 2, 3, 4, 4])
    return Split(spec=spec, x=x, rows=np.arange(6), lengths=lengths)


def model(name: str, spec: Spec, **settings) -> Method:
    torch.manual_seed(0)
    kind = find_method(name)
    return kind(spec, kind.Config(**SMALL, **settings)).eval()


def diagnosis(**changes) -> Diagnosis:
    numbers = {
        "sequences": 8,
        "batch": 8,
        "static_cycle": PERFECT,
        "dynamic_cycle": PERFECT,
        "explained": 1.0,
        "explained_by_static": 0.5,
        "explained_by_dynamic": 0.5,
        "order_change": 0.0,
        "static_units": None,
        "dynamic_units": None,
        "mutual": None,
        "mutual_range": (0.0, 1.0),
    }
    return Diagnosis(**numbers | changes)


@pytest.mark.parametrize("method", ["dsvae", "cdsvae", "spyl", "dbse"])
def test_weights_do_not_change_the_bound_of_one_model(method: str):
    split = series()
    plain = held_out_nats(model(method, split.spec, w_kl_static=1.0), split, batch_size=6)
    changed = model(method, split.spec, w_kl_static=7.0, w_kl_dynamic=0.1, w_reconstruction=3.0)
    assert held_out_nats(changed, split, batch_size=6) == pytest.approx(plain, rel=1e-6)


def test_the_bound_of_series_is_the_loss_with_weights_of_one():
    split = series()
    method = model("dsvae", split.spec)
    from unbraid.seeding import seed_draws
    from unbraid.training.module import total

    seed_draws(0, "validation")
    with torch.no_grad():
        loss = total(method.loss(split.take(slice(None)), 0))
    assert held_out_nats(method, split, batch_size=6) == pytest.approx(float(loss), rel=1e-6)


def test_squared_errors_get_the_variance_that_fits_best():
    split = sounds()
    method = model("dsvae", split.spec)
    from unbraid.seeding import seed_draws

    seed_draws(0, "validation")
    with torch.no_grad():
        terms = method.loss(split.take(slice(None)), 0)
    error, count = float(terms["reconstruction"][1]), 5 * 21 / 6  # 21 of 24 steps exist
    costs = float(terms["kl_static"][1] + terms["kl_dynamic"][1])

    def nats(variance: float) -> float:
        return costs + 0.5 * (count * math.log(2 * math.pi * variance) + error / variance)

    best = min(nats(v) for v in np.linspace(0.5, 2, 3001) * error / count)
    assert held_out_nats(method, split, batch_size=6) == pytest.approx(best, rel=1e-6)


def test_the_bound_does_not_depend_on_how_sequences_are_batched():
    split = sounds()

    class Fixed(Method):
        paper, Config = "", object

        def __init__(self) -> None:
            super().__init__()
            self.spec, self.config, self.weight = (
                split.spec,
                None,
                torch.nn.Parameter(torch.ones(1)),
            )

        def encode(self, batch): ...
        def decode(self, codes): ...
        def sample(self, n, length, *, means=False) -> Codes: ...
        def loss(self, batch, step):
            error = (batch.x.square().flatten(2).sum(-1) * batch.mask).sum(1).mean()
            cost = batch.mask.sum(1).float().mean()
            return {
                "reconstruction": (1.0, error),
                "kl_static": (1.0, cost),
                "kl_dynamic": (1.0, cost),
            }

    whole, parts = (held_out_nats(Fixed(), split, batch_size=size) for size in (6, 4))
    assert parts == pytest.approx(whole, rel=1e-5)


def test_some_sequences_are_chosen_at_random_not_the_first_ones():
    split = series()
    method = model("dsvae", split.spec)
    few = held_out_nats(method, split, limit=3)
    assert few == held_out_nats(method, split.some(3))
    assert few != held_out_nats(method, split.select(slice(0, 3)))


def test_a_bound_that_leaves_the_anchor_out_is_refused():
    split = series()
    with pytest.raises(ValueError, match="choose by leakage"):
        held_out_nats(model("dbse", split.spec, static_loss=False), split)


@pytest.mark.parametrize("data", [series, sounds])
def test_an_anchor_with_an_inferred_d_counts_once(data: Callable[[], Split]):
    """`reconstruction` covers all elements; the extra decoding of the anchor is no part of it."""
    split = data()
    bounds = [
        held_out_nats(model("dbse", split.spec, anchor_code="inferred", static_loss=loss), split)
        for loss in (True, False)
    ]
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-6)


def test_codes_that_travel_alone_and_explain_all_leak_nothing():
    assert leakage(diagnosis()) == 0.0


def test_a_code_that_goes_with_the_other_leaks_all():
    wrong = dataclasses.replace(PERFECT, kept=0.0, other=1.0)
    assert leakage(diagnosis(static_cycle=wrong)) == 1.0
    assert leakage(diagnosis(dynamic_cycle=wrong)) == 1.0


def test_a_collapsed_code_lies_between_a_clean_and_a_wrong_one():
    silent = dataclasses.replace(PERFECT, kept=0.0, other=0.0)
    assert leakage(diagnosis(static_cycle=silent)) == pytest.approx(1 - math.sqrt(0.5))


def test_codes_that_explain_nothing_leak_all():
    assert leakage(diagnosis(explained=-0.3)) == 1.0
