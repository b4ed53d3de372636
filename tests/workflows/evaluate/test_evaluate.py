"""What is measured, what is skipped with a reason, and what is never done by accident."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.workflows.conftest import NET
from unbraid.data.corpus import Split
from unbraid.evaluation.protocols.separation import relative_error
from unbraid.evaluation.protocols.verdict import LEAKS
from unbraid.methods.base import Method
from unbraid.records import Batch, Codes, Spec, Terms
from unbraid.runs.run import opened
from unbraid.settings import parse_sets
from unbraid.training.fit import fit
from unbraid.workflows.evaluate.measure import Job, evaluate, measure
from unbraid.workflows.evaluate.page import compare, report
from unbraid.workflows.evaluate.sizes import size_warnings
from unbraid.workflows.evaluate.tables import all_tables
from unbraid.workflows.export import use


@pytest.fixture(scope="module")
def voices_metrics(voices: Path) -> dict[str, Any]:
    return evaluate(voices)


@pytest.fixture(scope="module")
def voices_page(voices: Path, voices_metrics: dict[str, Any]) -> str:
    return report(voices).read_text()


@pytest.fixture(scope="module")
def series_metrics(series: Path) -> dict[str, Any]:
    return evaluate(series)


def test_voices_get_probes_speakers_and_a_diagnosis(voices: Path, voices_metrics):
    metrics = voices_metrics
    assert metrics["speakers"]["vectors"] == 6  # 3 test speakers, 2 utterances each
    assert metrics["speakers"]["pairs"] == 15
    assert {row["factor"] for row in metrics["probes"]} == {"speaker", "register", "phone"}
    assert set(metrics["skipped"]) == {"tasks", "judge"}
    assert "unbraid judge fit toy-voices" in metrics["skipped"]["judge"]
    saved = json.loads((voices / "metrics.json").read_text())
    assert saved == json.loads(json.dumps(metrics))


def test_the_error_stands_beside_equal_error_rates_so_that_an_empty_d_is_seen(voices_metrics):
    metrics = voices_metrics
    (table,) = [t for t in all_tables(metrics) if t.title == "Speaker verification"]
    assert table.columns[-1] == "error (share of variance)"
    assert table.rows[0][-1] == f"{100 * metrics['relative_error']:.1f} %"


def test_decoding_the_mean_has_a_relative_error_of_one_and_the_truth_none():
    x = np.random.default_rng(0).normal(3.0, 2.0, size=(50, 4, 3)).astype(np.float32)
    spec = Spec(name="made", kind="audio", frame=(3,), length=4)
    split = Split(spec=spec, x=x, rows=np.arange(50))
    assert relative_error(_Guess(x.mean(0)), split) == pytest.approx(1.0)
    assert relative_error(_Guess(None), split) == 0.0


class _Guess(Method):
    """Decodes one sequence whatever comes, or what was encoded if there is none."""

    def __init__(self, guess: np.ndarray | None) -> None:
        super().__init__()
        self.spec = Spec(name="made", kind="audio", frame=(3,), length=4)
        self.guess, self.weight = guess, torch.nn.Parameter(torch.zeros(1))

    def encode(self, batch: Batch) -> Codes:
        return Codes(batch.x[:, 0], batch.x)

    def decode(self, codes: Codes) -> torch.Tensor:
        return codes.d if self.guess is None else torch.tensor(self.guess).expand_as(codes.d)

    def sample(self, n: int, length: int) -> Codes:
        raise NotImplementedError

    def loss(self, batch: Batch, step: int) -> Terms:
        raise NotImplementedError


def test_series_get_tasks_from_codes_and_from_raw_values(series_metrics):
    metrics = series_metrics
    pairs = {(row["factor"], row["source"]) for row in metrics["tasks"]}
    assert {("machine", "codes"), ("machine", "raw"), ("state", "codes")} <= pairs
    titles = [table.title for table in all_tables(metrics)]
    assert "Prediction from codes and from raw values" in titles
    assert "speakers" in metrics["skipped"]


def test_separation_and_relative_error_are_measured_and_shown(series_metrics):
    metrics = series_metrics
    assert -1 <= metrics["separation"]["separation"] <= 1
    wanted = {"machine": "s high", "state": "d high"}
    assert wanted.keys() <= {row["factor"] for row in metrics["separation"]["factors"]}
    assert metrics["relative_error"] > 0
    table = next(table for table in all_tables(metrics) if table.title.startswith("Separation"))
    assert {row[0]: row[-1] for row in table.rows if row[0] in wanted} == wanted


def test_the_sentences_of_a_verdict_agree_on_what_leaks(series_metrics):
    """A forest may read what SVC and k-NN do not: all sentences go by the strongest."""
    conclusion, *others = series_metrics["verdict"]
    shares = series_metrics["separation"]["factors"]
    leaks = [(row["factor"], "d" if row["role"] == "static" else "s") for row in shares]
    for (factor, code), row in zip(leaks, shares, strict=True):
        listed = f"{factor} into {code} (" in conclusion
        assert listed == (row[code] > LEAKS)
        assert listed == any(text.startswith(f"{code} carries {factor}:") for text in others)


def test_few_test_sequences_and_factors_of_one_value_are_said(
    series: Path, monkeypatch: pytest.MonkeyPatch
):
    job = Job(opened(series))
    job.test.labels["machine"][job.test.rows] = 0
    monkeypatch.setattr("unbraid.workflows.evaluate.measure.write_text", lambda *_: None)
    metrics = measure(job, "quick")
    assert metrics["verdict"][1] == (
        "Too few test sequences for probes (40 sequences): make the test split larger."
    )
    assert metrics["skipped"]["machine"] == "one value in test"
    for rows in (metrics["probes"], metrics["separation"]["factors"]):
        assert "machine" not in {row["factor"] for row in rows}


def test_few_groups_are_as_bad_as_few_sequences_and_own_data_can_be_cut_otherwise():
    spec = Spec(name="mine", kind="audio", frame=(3,), length=4)
    who = np.arange(60) % 2
    x = np.zeros((60, 4, 3), np.float32)
    split = Split(spec=spec, x=x, rows=np.arange(60), labels={"who": who}, group="who")
    (warning,) = size_warnings(split, "mine.npz")
    assert warning == (
        "Too few test sequences for probes (60 sequences of 2 values of 'who'): make the test "
        "split larger (--set data.split.test=0.3)."
    )
    assert not list(size_warnings(replace(split, group=""), "mine.npz"))


def test_an_unfinished_run_is_said_not_scored(few: Path):
    about = json.loads((few / "model.json").read_text())
    text = json.dumps(about)
    about["training"] |= {"finished": False, "reason": "interrupted"}
    (few / "model.json").write_text(json.dumps(about))
    try:
        with pytest.raises(ValueError, match=r"is unfinished \(interrupted at step 2\)"):
            evaluate(few)
        assert evaluate(few, unfinished=True)["sequences"] == 6
    finally:
        (few / "model.json").write_text(text)


def test_a_judge_that_was_asked_for_must_be_there(series: Path, tmp_path: Path):
    measured: list[str] = []
    with pytest.raises(ValueError, match="unbraid judge fit"):
        evaluate(series, judge=str(tmp_path / "none"), say=measured.append)
    assert not measured  # nobody waits for measurements to be told so


def test_a_misspelt_suite_is_told_the_right_one(series: Path):
    with pytest.raises(KeyError, match="Did you mean 'full'"):
        evaluate(series, suite="ful")


@pytest.mark.usefixtures("voices_metrics", "series_metrics")
def test_several_runs_make_one_page_with_a_row_each(voices: Path, series: Path, tmp_path: Path):
    page = compare([voices, series], tmp_path / "both").read_text()
    assert "dsvae (recommended/audio, seed 0)" in page
    assert "dbse (recommended/series, seed 0)" in page
    assert page.count("data:image/png") == 4  # a swap and a leak matrix of each


def test_a_report_says_what_was_not_measured(voices_page: str):
    assert "Not measured" in voices_page
    assert "prediction tasks are for series" in voices_page


@pytest.mark.usefixtures("voices_page")
def test_a_report_of_voices_draws_the_analyses_they_allow(voices: Path):
    drawn = {path.stem for path in (voices / "figures").glob("*.png")}
    assert {"cross", "tsne-s-static", "tsne-d-static", "det", "thirds", "views"} <= drawn
    assert "confusion" not in drawn  # there is no judge
    for stem in ("tsne-s-static", "det", "thirds", "views"):
        beside = [(voices / "figures" / f"{stem}{end}").is_file() for end in (".npz", ".json")]
        assert any(beside), f"{stem} has no numbers beside it"


@pytest.mark.usefixtures("series_metrics")
def test_a_report_of_series_draws_the_reconstruction_in_the_units_of_the_data(series: Path):
    report(series)
    split = use.open_source(series, use.Source()).split
    length = int(split.lengths[split.rows[0]])
    with np.load(series / "figures" / "series.npz") as file:
        assert file["x"].shape == file["x_hat"].shape == (length, 4, 6)
        known = split.observed[split.rows[0], :length]
        raw = split.x[split.rows[0], :length]
        np.testing.assert_allclose(file["x"][known], raw[known], rtol=1e-4, atol=1e-4)


@pytest.fixture(scope="module")
def few(tmp_path_factory) -> Path:
    """Sixty labelled sequences, six of them for the test; one label has a class for each."""
    x = np.random.default_rng(0).normal(size=(60, 8, 3)).astype(np.float32)
    folder = tmp_path_factory.mktemp("few")
    np.savez(folder / "few.npz", x=x, who=np.arange(60) % 2, number=np.arange(60))
    sets = parse_sets([*NET, "data.window=2"])
    return fit(str(folder / "few.npz"), "dsvae", settings=sets, out=folder / "runs").path


def test_a_small_test_split_is_measured_and_reported(few: Path):
    page = report(few).read_text()
    metrics = json.loads((few / "metrics.json").read_text())
    assert {row["factor"] for row in metrics["probes"]} == {"who", "number"}
    assert "Probe accuracy (k-NN)" in page


def test_a_measurement_that_fails_does_not_stop_the_others(
    few: Path, monkeypatch: pytest.MonkeyPatch
):
    def failing(*_: object, **__: object) -> None:
        raise RuntimeError("it is broken")

    monkeypatch.setattr("unbraid.workflows.evaluate.measure.probe", failing)
    metrics = evaluate(few)
    assert metrics["skipped"]["probes"] == "it failed: it is broken"
    assert metrics["relative_error"] > 0
    assert metrics["diagnosis"]["sequences"] == 6


def test_a_target_of_very_many_classes_is_left_out_by_name(
    few: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("unbraid.workflows.evaluate.measure.MOST_CLASSES", 10)
    metrics = evaluate(few)
    assert {row["factor"] for row in metrics["tasks"]} == {"who"}
    assert metrics["skipped"]["task number"] == "60 classes are too many for a task, at most 10"


def test_a_factor_that_cannot_be_predicted_leaves_the_tasks_of_the_others(tmp_path: Path):
    x = np.random.default_rng(0).normal(size=(60, 8, 3)).astype(np.float32)
    split = np.repeat(["train", "validation", "test"], [48, 6, 6])
    rare = np.where(split == "test", 1, 0)  # one class in training
    np.savez(tmp_path / "rare.npz", x=x, rare=rare, who=np.arange(60) % 2, split=split)
    sets = parse_sets([*NET, "data.window=2"])
    run = fit(str(tmp_path / "rare.npz"), "dsvae", settings=sets, out=tmp_path / "runs")
    metrics = evaluate(run.path)
    assert {row["factor"] for row in metrics["tasks"]} == {"who"}
    assert "two classes in training" in metrics["skipped"]["task rare"]


def test_one_test_sequence_is_measured_as_far_as_it_goes(tmp_path: Path):
    x = np.random.default_rng(0).normal(size=(30, 8, 3)).astype(np.float32)
    split = np.repeat(["train", "validation", "test"], [26, 3, 1])
    np.savez(tmp_path / "one.npz", x=x, split=split)
    sets = parse_sets([*NET, "data.window=2"])
    run = fit(str(tmp_path / "one.npz"), "dsvae", settings=sets, out=tmp_path / "runs")
    metrics = evaluate(run.path)
    assert "two at least" in metrics["skipped"]["diagnosis"]
    assert metrics["reconstruction_mse"] > 0
    assert "Not measured" in report(run.path).read_text()
