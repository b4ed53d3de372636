import numpy as np
import pytest
import torch
from PIL import Image
from typer.testing import CliRunner

import unbraid
from unbraid.cli.app import app
from unbraid.workflows.track import Previews, make_loggers

SMALL = {"net": {"hidden": 4}, "static_dim": 2, "dynamic_dim": 2}
SETTINGS = {"training": {"steps": 40}, "method": SMALL}


@pytest.fixture(scope="module")
def corpus():
    return unbraid.from_arrays(np.random.default_rng(0).normal(size=(30, 12, 2)))


def test_pictures_are_drawn_and_the_run_stays_the_same(corpus, tmp_path):
    pytest.importorskip("tensorboard", reason="needs the extra tensorboard")
    plain = unbraid.fit(corpus, settings=SETTINGS, out=tmp_path / "plain", device="cpu")
    folder = tmp_path / "watched"
    watched = unbraid.fit(
        corpus,
        settings=SETTINGS,
        out=folder,
        device="cpu",
        callbacks=[Previews(corpus.validation, folder, 20)],
        logger=make_loggers(["csv", "tensorboard"], folder),
    )
    ours, theirs = plain.model().state_dict(), watched.model().state_dict()
    assert all(torch.equal(value, theirs[name]) for name, value in ours.items())
    pictures = sorted((folder / "previews").glob("*.png"))
    assert [path.stem for path in pictures] == ["step-0000020", "step-0000040"]
    with Image.open(pictures[0]) as picture:
        assert np.asarray(picture).std() > 1
    table = (folder / "tracking" / "csv" / "metrics.csv").read_text()
    assert "train/loss" in table
    (events,) = (folder / "tracking" / "tensorboard").glob("events*")
    content = events.read_bytes()
    assert b"train/loss" in content
    assert b"swap" in content


def test_a_tracker_that_is_not_there_is_a_sentence(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="--logger must be csv, tensorboard, wandb, mlflow"):
        make_loggers(["tensorbord"], tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "wandb", None)
    with pytest.raises(ValueError, match="--logger wandb needs wandb"):
        make_loggers(["wandb"], tmp_path)


def test_the_command_takes_both_options(tmp_path):
    words = ["fit", "toy-series", "--out", str(tmp_path), "--logger", "csv"]
    words += ["--preview-every", "2", "--set", "training.steps=2", "--set", "data.train=8"]
    words += ["--set", "data.validation=4", "--set", "data.test=4", "--device", "cpu"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "toy-series/dsvae/0/previews/step-0000002.png").is_file()


def test_completion_can_be_installed():
    result = CliRunner().invoke(app, ["--help"])
    assert "--install-completion" in result.output


def _watch(corpus, folder, name):
    unbraid.fit(
        corpus,
        settings=SETTINGS,
        out=folder,
        device="cpu",
        callbacks=[Previews(corpus.validation, folder, 20)],
        logger=make_loggers([name], folder),
    )
    return folder / "tracking"


@pytest.mark.filterwarnings("ignore")  # of the trackers' own making
def test_mlflow_keeps_terms_and_pictures_in_the_run_folder(corpus, tmp_path, monkeypatch):
    pytest.importorskip("mlflow", reason="needs the extra mlflow")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    files = list((_watch(corpus, tmp_path, "mlflow") / "mlflow").rglob("*"))
    (loss,) = [path for path in files if path.parts[-3:] == ("metrics", "train", "loss")]
    assert len(loss.read_text().splitlines()) >= 2
    names = sorted(path.name for path in files if path.parent.name == "swap")
    assert names == ["step-0000020.png", "step-0000040.png"]


@pytest.mark.filterwarnings("ignore")  # of the trackers' own making
def test_wandb_offline_keeps_terms_and_pictures_in_the_run_folder(corpus, tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb", reason="needs the extra wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    folder = _watch(corpus, tmp_path, "wandb") / "wandb"
    wandb.finish()
    (run,) = folder.glob("offline-run-*/run-*.wandb")
    assert b"train/loss" in run.read_bytes()
    assert len(list(folder.glob("offline-run-*/files/media/images/swap_*.png"))) == 2


def test_an_mlflow_server_of_ones_own_is_used(tmp_path, monkeypatch):
    pytest.importorskip("mlflow", reason="needs the extra mlflow")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "elsewhere").as_uri())
    (logger,) = make_loggers(["mlflow"], tmp_path / "runs" / "0")
    assert logger._tracking_uri == (tmp_path / "elsewhere").as_uri()
