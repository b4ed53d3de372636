import json
import shutil

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import unbraid
from tests.workflows.export.fake_hub import fake_hub
from unbraid.cli.app import app
from unbraid.methods import DSVAE
from unbraid.workflows.export.hub import PushConfig

X = np.random.default_rng(0).normal(size=(12, 10, 2)).astype(np.float32)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs")
    settings = {"training": {"steps": 2}, "method": {"net": {"hidden": 4}}}
    labels = {"who": np.arange(12) % 3}
    corpus = unbraid.from_arrays(X, labels=labels, name="a|b")
    run = unbraid.fit(corpus, settings=settings, out=out, device="cpu")
    probes = [
        {"code": "s", "factor": "who", "role": "static", "classifier": "svc", "mean": 0.9},
        {"code": "d", "factor": "who", "role": "static", "classifier": "svc", "mean": 0.4},
    ]
    facts = {"split": "test", "sequences": 2, "reconstruction_mse": 0.5, "verdict": ["good"]}
    facts |= {"relative_error": 0.13, "separation": {"separation": 0.72}}
    probes = [row | {"chance": 1 / 3} for row in probes]
    (run.path / "metrics.json").write_text(json.dumps(facts | {"probes": probes}))
    return run


@pytest.fixture
def hub(monkeypatch, tmp_path):
    constants = pytest.importorskip("huggingface_hub.constants", reason="needs the extra hub")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_TELEMETRY", True)
    monkeypatch.setenv("HF_TOKEN", "hf_none")
    with fake_hub() as hub:
        yield hub


def same(one: torch.nn.Module, other: torch.nn.Module) -> bool:
    pairs = zip(one.state_dict().values(), other.state_dict().values(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


def test_a_folder_holds_model_metrics_and_card_and_loads(run, tmp_path):
    folder = unbraid.save_pretrained(run, tmp_path / "mine")
    names = {path.name for path in folder.iterdir()}
    assert names == {"README.md", "model.json", "model.safetensors", "metrics.json"}
    assert same(unbraid.load(folder), run.model())


def test_the_card_says_data_licence_leaks_limits_and_how_to_load(run, tmp_path):
    config = PushConfig(licence="apache-2.0")
    folder = unbraid.save_pretrained(run, tmp_path, name="me/toy", config=config)
    card = (folder / "README.md").read_text()
    assert card.startswith("---\nlicense: apache-2.0\nlibrary_name: unbraid\n")
    assert "| who | static | 90 % | 40 % | 33 % |" in card
    assert "mean squared error 0.50000, 13 % of that of the mean sequence." in card
    assert "Separation: 72 of 100." in card
    assert 'unbraid.load("me/toy")' in card
    assert "no method to make data anonymous" in card
    assert "| data | a/b, series of " in card
    assert str(run.path) not in card


def test_no_picture_of_own_data_goes_along_unless_asked_for(run, tmp_path):
    picture = run.path / "use" / "swap.png"
    with pytest.raises(ValueError, match="there is no picture of a swap"):
        unbraid.save_pretrained(run, tmp_path / "no", config=PushConfig(picture=True))
    picture.parent.mkdir()
    picture.write_bytes(b"png")
    assert not (unbraid.save_pretrained(run, tmp_path / "a") / "swap.png").exists()
    asked = unbraid.save_pretrained(run, tmp_path / "b", config=PushConfig(picture=True))
    assert (asked / "swap.png").exists()
    assert "![Swapped sequences](swap.png)" in (asked / "README.md").read_text()
    shutil.rmtree(picture.parent)


def test_a_model_saves_and_loads_itself(run, tmp_path):
    model = run.model()
    model.save_pretrained(tmp_path)
    assert same(DSVAE.from_pretrained(tmp_path), model)
    with pytest.raises(ValueError, match="holds a DSVAE, not a DBSE"):
        unbraid.methods.DBSE.from_pretrained(tmp_path)


def test_a_pushed_model_is_loaded_from_the_hub_and_then_offline(run, hub):
    config = PushConfig(endpoint=hub.url)
    assert unbraid.push(run, "me/toy", config=config).startswith(f"{hub.url}/me/toy/commit/")
    hub.files["evil.py"] = b"raise SystemExit"
    hub.requests.clear()
    assert same(unbraid.load("me/toy", endpoint=hub.url), run.model())
    asked = {line.rpartition("/")[2] for line in hub.requests}
    assert asked == {"model.json", "model.safetensors"}
    hub.requests.clear()
    assert same(unbraid.load("me/toy", endpoint=hub.url, offline=True), run.model())
    assert not hub.requests


def test_a_foreign_model_is_refused_and_nothing_of_it_runs(hub):
    hub.files |= {"model.json": b'{"format": "other"}', "model.safetensors": b"\x80\x04"}
    with pytest.raises(ValueError, match="is not"):
        unbraid.load("me/toy", endpoint=hub.url)
    hub.files.clear()


def test_what_the_hub_does_not_have_is_a_sentence(hub):
    with pytest.raises(ValueError, match="is no model of unbraid"):
        unbraid.load("me/toy", endpoint=hub.url)
    with pytest.raises(ValueError, match="the hub has no model of this name"):
        unbraid.load("you/toy", endpoint=hub.url)
    with pytest.raises(ValueError, match="was not downloaded before"):
        unbraid.load("you/toy", endpoint=hub.url, offline=True)
    with pytest.raises(ValueError, match="a model of the hub is called user/name"):
        unbraid.load("nowhere")


def test_the_command_uploads_or_writes_a_folder(run, hub, tmp_path):
    words = ["push", str(run.path), "me/toy", "--endpoint", hub.url, "--licence", "mit"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert "uploaded: http://127.0.0.1" in result.output
    assert b"license: mit" in hub.files["README.md"]
    result = CliRunner().invoke(app, ["push", str(run.path), str(tmp_path / "here")])
    assert "wrote" in result.output
    assert (tmp_path / "here" / "model.safetensors").is_file()
