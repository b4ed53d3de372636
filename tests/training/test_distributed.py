"""Two processes on this machine train as one does, and encode what one encodes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import unbraid
from unbraid.data.readers.arrays import from_arrays
from unbraid.evaluation.manipulate import Embedding
from unbraid.evaluation.sharded import embed_sharded
from unbraid.parallel.launch import ProcessInfo, launch, must_launch, process_info
from unbraid.precision import inference_precision
from unbraid.rows import read_rows
from unbraid.runs.plan import Plan, make_plan
from unbraid.runs.run import Run, open_run
from unbraid.training.fit import resume, run_plan
from unbraid.training.module import NonFiniteLossError
from unbraid.workflows.export import EncodeConfig, encode
from unbraid.workflows.export.target import Target
from unbraid.workflows.export.use import Source

TINY: dict[str, Any] = {
    "static_dim": 6,
    "dynamic_dim": 4,
    "net": {"channels": [4, 8], "features": 8, "hidden": 8, "series_layers": [8, 12, 8]},
}
STEPS = 25
TRAINING: dict[str, Any] = {
    "batch_size": 12,
    "lr": 1e-3,
    "steps": STEPS,
    "log_every": 1,
    "validate_every": 10,
    "clip": 1e3,
    "precision": "fp32",
}
# name -> method, kind of data, what differs from the defaults of the method
CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "dsvae": ("dsvae", "video", {}),
    # Two steps of warm-up, then a rise that depends on the KL(d) of all rows.
    "dsvae-rise": (
        "dsvae",
        "video",
        {"kl_warmup_steps": 2, "kl_static_rise": 8.0, "kl_static_safe": 1.0},
    ),
    "cdsvae": ("cdsvae", "video", {}),
    "spyl": ("spyl", "video", {}),
    "dbse": ("dbse", "video", {}),
    "cdsvae-mws": ("cdsvae", "series", {"mi": "mws"}),
    "cdsvae-audio": ("cdsvae", "audio", {}),
    "spyl-batch": ("spyl", "video", {"partner": "batch", "negatives": "random"}),
    "spyl-series": ("spyl", "series", {"views": "reparametrised", "positives": "self"}),
    "vae": ("vae", "series", {}),
    "gpvae": ("gpvae", "series", {}),
    "glr": ("glr", "series", {"w_kl_static": 1.0, "w_counterfactual": 1.0}),
    "skd": ("skd", "audio", {}),
    "diffsda": ("diffsda", "series", {"width": 16}),
    "s3vae": ("s3vae", "video", {"w_triplet": 1.0, "w_motion": 1.0}),
    "rwae": ("rwae", "audio", {"w_static": 1.0, "w_dynamic": 1.0}),
    "rwae-gan": ("rwae", "audio", {"static_penalty": "gan", "dynamic_penalty": "gan"}),
    "fhvae": ("fhvae", "audio", {}),
    "mocogan": ("mocogan", "series", {"categories": 2}),
    "mocogan-penalty": ("mocogan", "video", {"w_gradient_penalty": 2.0}),
    "spyl-gradient": ("spyl", "audio", {"bank_gradient": True, "negatives": "middle"}),
}


def write_data(folder: Path) -> dict[str, str]:
    """Sixty sequences of every kind, of unequal lengths; series with holes."""
    rng = np.random.default_rng(0)
    start, colour = rng.integers(8, size=60), rng.integers(80, 255, size=(60, 3))
    video = np.zeros((60, 5, 3, 8, 8), np.uint8)
    for i in range(60):
        for t in range(5):
            video[i, t, :, (start[i] + t) % 8] = colour[i, :, None]
    series = rng.normal(size=(60, 20, 3)).cumsum(1).astype(np.float32)
    series[rng.random(series.shape) < 0.05] = np.nan
    values = {"video": video, "audio": rng.normal(size=(60, 6, 5)).astype(np.float32)}
    for kind, x in (values | {"series": series}).items():
        lengths = {} if kind == "series" else {"lengths": rng.integers(3, x.shape[1] + 1, 60)}
        np.savez(folder / f"{kind}.npz", x=x, **lengths)
    return {kind: str(folder / f"{kind}.npz") for kind in ("video", "audio", "series")}


def plans(data: dict[str, str], **training: Any) -> dict[str, Plan]:
    return {
        case: make_plan(
            data[kind],
            method,
            preset="none",
            settings={
                "method": TINY | more,
                "training": TRAINING | training,
                "data": {"kind": kind},
            },
        )
        for case, (method, kind, more) in CASES.items()
    }


def train_all(todo: dict[str, Plan], folder: Path) -> ProcessInfo:
    for case, plan in todo.items():
        run_plan(plan, folder / case)
    return process_info()


def train_and_embed(todo: dict[str, Plan], folder: Path, other: Path) -> Embedding | None:
    """Train, and encode by a model that was there: a start of processes takes seconds."""
    train_all(todo, folder)
    run = open_run(other / "dsvae")
    return embed_sharded(run.model(), run.corpus().test, batch_size=2)


def curve(run: Run) -> dict[str, np.ndarray]:
    """Every column of the log, a number per step."""
    rows = read_rows(run.path / "log.csv")
    return {k: np.array([float(row[k]) for row in rows]) for k in rows[0] if k != "minutes"}


def program(*words: str, runner: tuple[str, ...] = ("-m", "unbraid")) -> list[str]:
    return [sys.executable, *runner, *words]


def words_of(data: str, out: Path, steps: int = STEPS) -> list[str]:
    """The command line of the case "spyl", with other steps."""
    table = {f"training.{k}": v for k, v in (TRAINING | {"steps": steps}).items()}
    table |= {f"method.{k}": v for k, v in TINY.items() if k != "net"}
    table |= {f"method.net.{k}": v for k, v in TINY["net"].items()}
    sets = [word for k, v in table.items() for word in ("--set", f"{k}={v}")]
    return ["fit", data, "-m", "spyl", "--preset", "none", "--out", str(out), *sets]


@pytest.fixture(autouse=True)
def fp32_models() -> Iterator[None]:
    """Let models compute in fp32 in all processes: new ones find out anew what "auto" means."""
    token = inference_precision.set("fp32")
    yield
    inference_precision.reset(token)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return write_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def folder(
    data: dict[str, str], tmp_path_factory: pytest.TempPathFactory, one_thread: None
) -> Path:
    """All cases trained by one process in `one`, by two in `two`."""
    root = tmp_path_factory.mktemp("runs")
    assert train_all(plans(data), root / "one") == ProcessInfo()
    where = launch(2, partial(train_all, plans(data), root / "two"))
    assert where == ProcessInfo(0, 2, 0, 2)
    return root


@pytest.mark.usefixtures("one_thread")
def test_two_processes_train_and_encode_as_one_does(data: dict[str, str], tmp_path: Path):
    """One case in few steps; the slow tests below have all cases."""
    todo = {"dsvae": plans(data, steps=4)["dsvae"]}
    train_all(todo, tmp_path / "one")
    shared = launch(2, partial(train_and_embed, todo, tmp_path / "two", tmp_path / "one"))
    one, two = (open_run(tmp_path / who / "dsvae") for who in ("one", "two"))
    np.testing.assert_allclose(curve(two)["loss"], curve(one)["loss"], rtol=1e-4)
    alone = unbraid.embed(one.model(), one.corpus().test, batch_size=2)
    assert np.array_equal(alone.s, shared.s)
    assert np.array_equal(alone.d, shared.d)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_two_processes_have_the_loss_curve_of_one(case: str, folder: Path):
    one, two = (open_run(folder / who / case) for who in ("one", "two"))
    alone, shared = curve(one), curve(two)
    assert list(alone) == list(shared)
    assert len(shared["step"]) == STEPS
    for term, values in alone.items():
        # Estimates of mutual information are differences and can be near zero.
        np.testing.assert_allclose(shared[term], values, rtol=1e-4, atol=1e-5, err_msg=term)
    held_out = [read_rows(run.path / "validation.csv")[-1] for run in (one, two)]
    assert float(held_out[0]["loss"]) == pytest.approx(float(held_out[1]["loss"]), rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_two_processes_end_with_the_weights_of_one(case: str, folder: Path):
    one, two = (load_file(folder / who / case / "model.safetensors") for who in ("one", "two"))
    assert one.keys() == two.keys()
    for name in one:
        # Adam's first steps are as long for a gradient of rounding errors as for any other.
        torch.testing.assert_close(two[name].double(), one[name].double(), rtol=1e-3, atol=2e-4)


@pytest.mark.slow
def test_one_process_writes_the_run_folder(folder: Path):
    def files(path: Path) -> list[str]:
        return sorted(p.relative_to(path).as_posix() for p in path.rglob("*"))

    one, two = folder / "one" / "spyl", folder / "two" / "spyl"
    assert files(one) == files(two)
    assert (one / "config.toml").read_text() == (two / "config.toml").read_text()
    first, second = (open_run(path).about["training"] for path in (one, two))
    for facts in (first, second):
        facts |= {"minutes": 0, "waiting": 0}
    assert first == second


@pytest.mark.slow
def test_codes_by_two_processes_are_those_of_one_in_order(folder: Path, tmp_path: Path):
    run = open_run(folder / "one" / "spyl")
    model, split = run.model(), run.corpus().train
    alone = unbraid.embed(model, split, batch_size=7)
    shared = unbraid.embed(model, split, batch_size=7, devices=2)
    for name in ("s", "d", "mask"):
        assert np.array_equal(getattr(alone, name), getattr(shared, name)), name
    assert len(np.unique(alone.s, axis=0)) == len(split)  # so that the order is seen
    few = unbraid.embed(model, split.select(slice(0, 3)), devices=2)  # one batch for two
    assert np.array_equal(few.s, unbraid.embed(model, split.select(slice(0, 3))).s)
    words = ("--precision", "fp32", "encode", str(run.path), "--split", "train", "--devices", "2")
    subprocess.run(program(*words, "--out", str(tmp_path / "c.npz")), check=True, timeout=300)
    with np.load(tmp_path / "c.npz") as codes:
        np.testing.assert_allclose(codes["s"], alone.s, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["codes.npz", "codes.parquet"])
def test_two_processes_write_the_file_of_one_and_go_on_with_its_parts(
    one_thread: None, folder: Path, tmp_path: Path, name: str
):
    run = open_run(folder / "one" / "spyl")
    x = np.random.default_rng(0).integers(0, 256, (2500, *run.corpus().train.x.shape[1:]))
    np.save(tmp_path / "many.npy", x.astype(np.uint8))
    source, two = Source(file=str(tmp_path / "many.npy")), EncodeConfig(devices=2)
    alone = encode(run.path, source, tmp_path / "one" / name)
    shared = encode(run.path, source, tmp_path / "two" / name, config=two)
    for a, b in zip(alone, shared, strict=True):
        assert a.read_bytes() == b.read_bytes()
    assert len(list((tmp_path / "two").iterdir())) == len(alone)  # no parts are left
    target = tmp_path / "three" / name
    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Target, "write", lambda *_: signal.raise_signal(signal.SIGINT))
        encode(run.path, source, target)
    (target.parent / f"{name}.parts" / "part-000001.npz").unlink()
    for a, b in zip(alone, encode(run.path, source, target, config=two), strict=True):
        assert a.read_bytes() == b.read_bytes()


@pytest.mark.slow
def test_torchrun_gives_the_same_run(folder: Path, data: dict[str, str], tmp_path: Path):
    runner = ("-m", "torch.distributed.run", "--nproc-per-node", "2", "-m", "unbraid")
    done = subprocess.run(
        program(*words_of(data["video"], tmp_path), runner=runner),
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("finished after") == 1  # one process speaks
    losses, wanted = curve(open_run(tmp_path / "video" / "spyl" / "0")), folder / "two" / "spyl"
    for term, values in curve(open_run(wanted)).items():
        np.testing.assert_allclose(losses[term], values, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_both_and_one_can_go_on(
    number: int, folder: Path, data: dict[str, str], tmp_path: Path
):
    job = subprocess.Popen(
        program(*words_of(data["video"], tmp_path, 100_000), "--devices", "2"),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    run = Run(tmp_path / "video" / "spyl" / "0")
    end = time.monotonic() + 300
    while time.monotonic() < end and not (run.path / "log.csv").exists():
        time.sleep(0.1)
    os.kill(job.pid, number)
    output = job.communicate(timeout=120)[0]
    assert job.returncode == 130, output
    assert "Go on with: unbraid fit --resume" in output
    about = run.about["training"]
    assert about["reason"] == "interrupted"
    more = {"training": {"steps": max(STEPS, about["steps"] + 2)}}
    resume(run.path, settings=more)
    losses = curve(run)
    assert len(losses["step"]) == more["training"]["steps"]
    wanted = curve(open_run(folder / "one" / "spyl"))["loss"]
    np.testing.assert_allclose(losses["loss"][:STEPS], wanted, rtol=1e-4)


@pytest.mark.slow
def test_two_processes_in_bf16_have_the_loss_curve_of_one(data: dict[str, str], tmp_path: Path):
    plan = plans(data, precision="bf16", steps=6)["spyl"]
    alone, shared = (run_plan(plan, tmp_path / str(n), devices=n) for n in (1, 2))
    for term, values in curve(alone).items():
        np.testing.assert_allclose(curve(shared)[term], values, rtol=2e-2, atol=2e-2, err_msg=term)


@pytest.mark.slow
def test_a_plateau_stops_two_processes_where_it_stops_one(
    data: dict[str, str], tmp_path: Path, one_thread: None
):
    how = {"steps": 0, "epochs": 60, "lr": 0.1, "patience": 2}
    todo = {"dsvae": plans(data, **how)["dsvae"]}
    train_all(todo, tmp_path / "one")
    launch(2, partial(train_all, todo, tmp_path / "two"))
    one, two = (open_run(tmp_path / n / "dsvae").about["training"] for n in ("one", "two"))
    assert one["reason"] == two["reason"] == "plateau"
    assert (one["steps"], one["kept_step"]) == (two["steps"], two["kept_step"])


@pytest.mark.slow
def test_arrays_in_memory_train_by_two_processes_and_go_on_by_two(tmp_path: Path):
    x = np.random.default_rng(0).normal(size=(40, 6, 5)).astype(np.float32)
    corpus = from_arrays(x, name="noise", options={"kind": "audio"})
    settings = {"method": TINY, "training": TRAINING | {"steps": 4}}
    run = unbraid.fit(corpus, "dsvae", preset="none", settings=settings, out=tmp_path, devices=2)
    more = {"training": {"steps": 8}}
    unbraid.resume(run.path, settings=more, corpus=corpus, devices=2)
    alone = unbraid.fit(
        corpus,
        "dsvae",
        preset="none",
        out=tmp_path / "one",
        settings={"method": TINY, "training": TRAINING | {"steps": 8}},
    )
    np.testing.assert_allclose(curve(run)["loss"], curve(alone)["loss"], rtol=1e-4)


def test_what_goes_wrong_in_a_process_is_told_in_its_own_words(
    data: dict[str, str], tmp_path: Path
):
    odd = plans(data, batch_size=11)["dsvae"]
    with pytest.raises(ValueError, match=r"11 sequences cannot be shared by 2 .* e\.g\. 10\."):
        run_plan(odd, tmp_path / "odd", devices=2)
    assert not (tmp_path / "odd").exists()
    wild = plans(data, lr=1e18)["dsvae"]
    with pytest.raises(NonFiniteLossError, match=r"not finite at step .* back at step 0"):
        run_plan(wild, tmp_path / "wild", devices=2)
    about = open_run(tmp_path / "wild").about["training"]
    assert (about["reason"], about["steps"]) == ("not finite", 0)


def test_this_process_is_the_only_one():
    assert process_info() == ProcessInfo(rank=0, size=1, local_rank=0, local_size=1)
    assert not must_launch(1)
    assert must_launch(2)
    with pytest.raises(ValueError, match="devices must be 1 or more, got 0"):
        must_launch(0)


def test_a_process_of_torchrun_knows_its_rank(monkeypatch: pytest.MonkeyPatch):
    variables = {"TORCHELASTIC_RUN_ID": "x", "RANK": "5", "WORLD_SIZE": "8"}
    for name, value in (variables | {"LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4"}).items():
        monkeypatch.setenv(name, value)
    assert process_info() == ProcessInfo(5, 8, 1, 4)
    assert process_info().nodes == 2
    assert not must_launch(1)
    assert not must_launch(4)
    with pytest.raises(ValueError, match="torchrun started 4 processes on this machine"):
        must_launch(2)
