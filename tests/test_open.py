"""What people bring: networks, methods, data sets, loggers, callbacks."""

from dataclasses import dataclass
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import lightning
import numpy as np
import pytest
import torch
from lightning.pytorch.loggers import CSVLogger
from torch import nn

import unbraid
from tests.conformance.toys import CASES, NET, toy_batch, toy_spec
from unbraid.methods import METHODS
from unbraid.methods.dsvae import DSVAE, DSVAEConfig
from unbraid.nets import decoder_for, encoder_for
from unbraid.records import Batch

STEPS = {"steps": 4, "batch_size": 8, "log_every": 2, "validate_every": 2}
TINY = {"training": STEPS | {"schedule": "constant", "patience": 0}}
CONFIG = DSVAEConfig(static_dim=6, dynamic_dim=4, net=NET)


class Own(nn.Module):
    """An encoder that is not ours: one linear layer of every step."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.features = 5
        self.layer = nn.Linear(size, self.features)

    def forward(self, batch: Batch) -> torch.Tensor:
        return self.layer(batch.x.flatten(2))


class Toy(DSVAE):
    """A method that is not ours."""

    label, paper = "Toy", "no paper"


@pytest.fixture
def catalogue(monkeypatch) -> dict:
    before = dict(METHODS)
    yield METHODS
    METHODS.clear()
    METHODS.update(before)


@pytest.fixture(scope="module")
def corpus() -> unbraid.Corpus:
    rng = np.random.default_rng(0)
    who = np.arange(60) % 3
    x = rng.normal(size=(60, 6, 12)).astype(np.float32) + who[:, None, None]
    return unbraid.from_arrays(x, labels={"who": who})


OWN_DECODER = {"placed": "puts pictures somewhere", "diffsda": "its decoder is a denoiser"}


@pytest.mark.parametrize(("method", "kind"), [case for case in CASES if case[0] not in OWN_DECODER])
def test_every_method_takes_an_encoder_and_a_decoder(method, kind):
    cls, spec, batch = METHODS[method], toy_spec(kind), toy_batch(kind)
    config = cls.Config(static_dim=6, dynamic_dim=4, net=NET)
    encoder, decoder = encoder_for(spec, NET), decoder_for(spec, NET, 10)
    torch.manual_seed(0)
    model = cls(spec, config, encoder, decoder)
    assert (model.encoder, model.decoder) == (encoder, decoder)
    sum(weight * value for weight, value in model.loss(batch, 0).values()).backward()
    assert all(p.grad is not None for p in [*encoder.parameters(), *decoder.parameters()])


def test_a_model_with_own_networks_trains_resumes_and_loads_only_with_them(corpus, tmp_path):
    size = int(np.prod(corpus.spec.frame))
    torch.manual_seed(0)
    model = DSVAE(corpus.spec, CONFIG, encoder=Own(size))
    run = unbraid.fit(corpus, model, settings=TINY, out=tmp_path)
    with pytest.raises(ValueError, match=r"networks of its maker.*encoder=\.\.\. \(.*Own\)"):
        unbraid.load_model(run.path)
    again = unbraid.load_model(run.path, encoder=Own(size))
    batch = corpus.test.take([0, 1])
    assert torch.equal(again.encode(batch).s, model.eval().encode(batch).s)
    other = DSVAE(corpus.spec, CONFIG, encoder=Own(size))
    longer = {"training": {"steps": 6}}
    unbraid.resume(run.path, settings=longer, corpus=corpus, method=other)
    assert unbraid.open_run(run.path).about["training"]["steps"] == 6


def test_a_model_made_for_other_data_is_refused(corpus, tmp_path):
    with pytest.raises(ValueError, match=r"was made for"):
        unbraid.fit(corpus, DSVAE(toy_spec("series"), CONFIG), settings=TINY, out=tmp_path)
    model = DSVAE(corpus.spec, CONFIG)
    with pytest.raises(ValueError, match=r"made already.*static_dim"):
        unbraid.fit(corpus, model, settings={"method": {"static_dim": 3}}, out=tmp_path)


def test_a_class_is_trained_and_its_saved_model_loads_again(corpus, tmp_path, catalogue):
    run = unbraid.fit(corpus, Toy, settings=TINY, out=tmp_path)
    assert run.plan.method == "toy"
    assert run.plan.training.optimizer == "muon"  # the training of the recipe for its kind of data
    assert isinstance(run.model(), Toy)
    del catalogue["toy"]
    with pytest.raises(ValueError, match=r"no method 'toy'.*register_method"):
        unbraid.load_model(run.path)


def test_what_is_no_method_is_not_registered(catalogue):
    with pytest.raises(TypeError, match=r"subclass of unbraid\.Method"):
        unbraid.register_method("dict", dict)
    with pytest.raises(TypeError, match=r"does not answer all verbs.*loss"):
        unbraid.register_method("half", unbraid.VariationalMethod)
    with pytest.raises(ValueError, match=r"there is a method 'dbse' already"):
        unbraid.register_method("dbse", Toy)
    with pytest.raises(ValueError, match=r"small letters"):
        unbraid.register_method("../evil", Toy)


@dataclass(frozen=True)
class Config:
    """Settings of somebody's data set."""

    noise: float = 0.0


def load(config: Config) -> unbraid.Corpus:
    return unbraid.from_arrays(np.zeros((60, 6, 12), np.float32))


ENTRY = unbraid.DataEntry(__name__, "series", "nothing at all", embedded=True)
POINTS = [
    EntryPoint("theirs", f"{__name__}:Toy", "unbraid.methods"),
    EntryPoint("broken", "gone:Toy", "unbraid.methods"),
    EntryPoint("their-data", f"{__name__}:ENTRY", "unbraid.datasets"),
]


def test_an_installed_package_adds_a_method_and_a_data_set(monkeypatch, catalogue):
    monkeypatch.setattr("unbraid.plugins.entry_points", EntryPoints(POINTS).select)
    monkeypatch.setattr("unbraid.plugins._points", unbraid.plugins._points.__wrapped__)  # anew
    monkeypatch.setattr("unbraid.data.DATASETS", dict(unbraid.data.DATASETS))
    assert unbraid.methods.find_method("theirs") is Toy
    assert "theirs" in unbraid.methods.method_names()
    with pytest.raises(ValueError, match=r"'broken' comes from gone:Toy.*cannot be loaded"):
        unbraid.methods.find_method("broken")
    assert unbraid.load_data("their-data").spec.length == 6
    with pytest.raises(KeyError, match="noise"):
        unbraid.load_data("their-data", {"nois": 1.0})


def test_loggers_are_told_what_the_log_says_under_stable_names(corpus, tmp_path):
    logger = CSVLogger(tmp_path / "csv")
    run = unbraid.fit(corpus, "dsvae", settings=TINY, out=tmp_path, logger=logger)
    logger.save()
    metrics = (Path(logger.log_dir) / "metrics.csv").read_text()
    names = metrics.splitlines()[0].split(",")
    terms = (run.path / "log.csv").read_text().splitlines()[0].split(",")[1:]
    assert {f"train/{term}" for term in terms} <= set(names)
    assert "validation/loss" in names


def test_callbacks_are_called(corpus, tmp_path):
    class Count(lightning.Callback):
        steps = 0

        def on_train_batch_end(self, *_):
            self.steps += 1

    unbraid.fit(corpus, "dsvae", settings=TINY, out=tmp_path, callbacks=[count := Count()])
    assert count.steps == 4


def test_every_public_name_resolves_and_stands_in_the_stub():
    stub = (Path(unbraid.__file__).parent / "__init__.pyi").read_text()
    for name in unbraid.__all__:
        assert getattr(unbraid, name) is not None
        assert f'"{name}"' in stub.split("__all__")[1], name
