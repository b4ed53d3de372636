"""A method of somebody else: known to every command and to the conformance suite once registered.

It has no line in any list, no preset, no search space and none of our names of settings.
"""

import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch

import unbraid
from tests.conformance import test_methods as conformance
from unbraid.latents.recurrent import POSTERIORS, DynamicPrior
from unbraid.methods import METHODS
from unbraid.methods.base import VariationalMethod
from unbraid.nets import NetConfig, decoder_for, encoder_for
from unbraid.objectives.elbo import negative_elbo
from unbraid.records import Batch, Spec, Terms

SUITE = [
    test for name, test in vars(conformance).items() if name.startswith("test_") and callable(test)
]
ARGUMENTS = {"tolerance": conformance.TOLERANCE["fp32"], "value": 1e4, "length": 3, "means": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToyConfig:
    """Settings under names of its own."""

    static_dim: int = 4
    dynamic_dim: int = 4
    decoded_steps: int = 0
    w_both: float = 1.0
    net: NetConfig = field(default_factory=lambda: NetConfig(hidden=8))


class Toy(VariationalMethod):
    """A method that is not ours."""

    paper = "no paper"
    Config = ToyConfig

    def __init__(self, spec: Spec, config: ToyConfig) -> None:
        super().__init__()
        self.spec, self.config = spec, config
        c, sizes = config, (config.static_dim, config.dynamic_dim)
        self.encoder = encoder_for(spec, c.net)
        self.posterior = POSTERIORS["sequence"](self.encoder.features, *sizes, c.net.hidden)
        self.prior = DynamicPrior(c.dynamic_dim, c.net.hidden, c.net.prior_layers)
        self.decoder = decoder_for(spec, c.net, sum(sizes))

    def loss(self, batch: Batch, step: int) -> Terms:
        _, q = self.infer(batch)
        z, w = q.sample(), self.config.w_both
        p_d = self.prior(z.d, batch.mask)
        return negative_elbo(self.errors(z, batch), q, p_d, batch.mask, weights=(1.0, w, w))


@pytest.fixture(autouse=True)
def toy():
    before = dict(METHODS)
    unbraid.register_method("toy", Toy)
    yield
    METHODS.clear()
    METHODS.update(before)


def test_a_registered_method_is_known_to_the_program(run_program, blank_figures, tmp_path: Path):
    def run(*words: str) -> str:
        code, out, err = run_program(*words)
        assert code == 0, out + err
        return out

    assert "no paper" in run("methods")
    sizes = ("train=24", "validation=10", "test=20")
    short = ("--set=training.steps=3", *(f"--set=data.{size}" for size in sizes))
    run("fit", "toy-series", "-m", "toy", "--out", str(tmp_path), *short)
    path = tmp_path / "toy-series" / "toy" / "0"
    run("evaluate", str(path))
    run("report", str(path))
    metrics = json.loads((path / "metrics.json").read_text())
    assert metrics["method"] == "toy"
    assert "w_kl" not in " ".join(metrics["verdict"])  # settings it does not have
    assert (
        "Toy" in (path / "report.html").read_text()
        or "toy on" in (path / "report.html").read_text()
    )
    out = run(
        "tune", "toy-series", "-m", "toy", "--trials", "2", "--out", str(tmp_path / "s"), *short
    )
    assert "toy on toy-series by leakage: 2 finished" in out
    trials = (tmp_path / "s" / "toy-series" / "toy").rglob("study.toml")
    assert any("method.w_both" in trial.read_text() for trial in trials)


@pytest.mark.parametrize("test", SUITE, ids=lambda test: test.__name__.removeprefix("test_"))
def test_a_registered_method_passes_the_conformance_suite(test: Callable[..., Any], tmp_path: Path):
    torch.manual_seed(0)
    given = {"name": "toy", "kind": "series", "tmp_path": tmp_path} | ARGUMENTS
    test(**{name: given[name] for name in inspect.signature(test).parameters})
