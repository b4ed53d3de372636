"""The arithmetic of the tables, worked out by hand."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from unbraid.workflows.reproduce import runs
from unbraid.workflows.reproduce.markdown import finding_lines, page, verdict
from unbraid.workflows.reproduce.plan import RAW, Comparison, find_comparison
from unbraid.workflows.reproduce.runs import SeedRun
from unbraid.workflows.reproduce.scores import measurement
from unbraid.workflows.reproduce.table import Printed, Result, merge_tables, merged, results

AUPRC = (0.40, 0.45, 0.50)  # mean 0.45, std of a sample 0.05


def keep(folder: Path, row: str, seed: int, values: dict[str, float], **facts: Any) -> None:
    path = folder / row / str(seed)
    path.mkdir(parents=True)
    about = {
        "format": "unbraid-scores-1",
        "seed": seed,
        "max_minutes": 5.0,
        "version": "1.0",
        "cpu_minutes": 4.0 + seed,
        "epochs": 10.0,
        "parameters": 43620,
    }
    (path / "scores.json").write_text(json.dumps(about | facts | {"scores": values}))


@pytest.fixture
def stays() -> Comparison:
    return find_comparison("physionet")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for seed, auprc in enumerate(AUPRC):
        values = {"mortality_auprc": auprc, "mortality_auroc": 0.8, "icu_type_accuracy_pct": 60.0}
        keep(tmp_path, "dbse", seed, values)
    values = {"mortality_auprc": 0.9, "mortality_auroc": 0.9, "icu_type_accuracy_pct": 90.0}
    keep(tmp_path, "raw", 0, values, parameters=0, cpu_minutes=0.0, epochs=0.0)
    return tmp_path


def only(rows: list[Result], method: str, metric: str) -> Result:
    (match,) = [row for row in rows if (row["method"], row["metric"]) == (method, metric)]
    return match


def test_mean_and_std_are_over_seeds_and_the_published_number_stands_beside(stays, folder):
    row = only(results(stays, folder), "DBSE", "mortality_auprc")
    assert row["mean"] == pytest.approx(0.45)
    assert row["std"] == pytest.approx(0.05)
    assert (row["seeds"], row["minutes"], row["epochs"]) == (3, 5.0, 10.0)
    assert row["published"] == 0.447
    assert row["command"] == "unbraid reproduce physionet --rows dbse --seeds 3 --max-minutes 5"
    text = page([row])
    assert "| 0.450 ± 0.050 | 3 | 0.447 | +0.003 (better) | 5.0 | 10 | 43,620 | 1.0 |" in text


def test_one_seed_has_no_std(stays, folder):
    row = only(results(stays, folder), "raw features", "mortality_auroc")
    assert (row["mean"], row["std"], row["seeds"]) == (0.9, None, 1)
    assert "| 0.900 | 1 | 0.802 | +0.098 (better) | 0.0 | 0 | 0 |" in page([row])


def test_runs_of_unequal_budget_are_not_averaged(stays, folder):
    values = {"mortality_auprc": 0.1, "mortality_auroc": 0.1, "icu_type_accuracy_pct": 1.0}
    keep(folder, "dbse", 3, values, max_minutes=0.5)
    assert only(results(stays, folder), "DBSE", "mortality_auprc")["seeds"] == 3


def test_a_run_of_epochs_counts_for_more_than_one_of_minutes(stays, folder):
    values = {"mortality_auprc": 0.1, "mortality_auroc": 0.1, "icu_type_accuracy_pct": 1.0}
    keep(folder, "dbse", 3, values, max_minutes=0.0, max_epochs=100)
    row = only(results(stays, folder), "DBSE", "mortality_auprc")
    assert (row["seeds"], row["mean"]) == (1, 0.1)
    assert row["command"] == "unbraid reproduce physionet --rows dbse --seeds 4 --epochs 100"


def test_runs_of_two_judges_are_not_averaged(tmp_path):
    comparison = find_comparison("sprites")
    judges = [tmp_path / name for name in ("old", "new")]
    for judge in judges:
        judge.mkdir()
        (judge / "judge.safetensors").write_text(judge.name)
    values = {metric.name: 90.0 for metric in comparison.metrics}
    old, new = (measurement(comparison, "paper", judge) for judge in judges)
    keep(tmp_path, "dsvae", 0, values, measured=old)
    keep(tmp_path, "dsvae", 1, values | {"accuracy_pct": 80.0}, measured=new)
    keep(tmp_path, "dsvae", 2, values)  # of an older version: it does not tell
    for judge, mean in zip(judges, (90.0, 80.0), strict=True):
        row = only(results(comparison, tmp_path, judge), "DSVAE", "accuracy_pct")
        assert (row["mean"], row["seeds"]) == (mean, 1)


def test_numbers_of_a_judge_say_how_often_it_is_right_and_seeds_keep_those_of_each(tmp_path):
    comparison = find_comparison("sprites")
    values = {metric.name: 90.0 for metric in comparison.metrics}
    for seed, accuracy in enumerate((0.9876, 0.99)):
        judge = {"action": accuracy, "hair": 0.5}
        keep(tmp_path / str(seed), "dsvae", seed, values, judge_accuracy=judge)
    first, later = (results(comparison, tmp_path / str(seed)) for seed in (0, 1))
    rows = merged(first, later)
    assert only(rows, "DSVAE", "accuracy_pct")["judge_pct"] == [98.76, 99.0]
    assert "judge_pct" not in only(rows, "DSVAE", "static_from_s_pct")  # of a probe
    assert "Right on real test data: judges of DSVAE 98.76 and 99.00 %." in page(rows)


def test_a_run_is_measured_again_for_another_judge(tmp_path):
    comparison, judge = find_comparison("sprites"), tmp_path / "judge"
    job = SeedRun(
        comparison=comparison,
        variant="paper",
        row=replace(comparison.rows[0], method=RAW),  # has no steps to compare
        seed=0,
        budget=comparison.budget,
        folder=tmp_path,
        judge=judge,
    )
    judge.mkdir()
    (judge / "judge.safetensors").write_text("old")
    values = {metric.name: 90.0 for metric in comparison.metrics}
    keep(tmp_path, job.row.name, 0, values, measured=job.measurement)
    assert runs._scored(job)
    (judge / "judge.safetensors").write_text("new")
    assert not runs._scored(job)


def test_a_published_gap_is_the_difference_of_what_is_printed():
    gap = find_comparison("letters").metrics[-2]
    assert gap.name == "latent_SVC_s_gap_pct"
    assert Printed("letters").value(gap, "SPYL") == pytest.approx(100 - 12.16)
    assert Printed("letters").value(gap, "C-DSVAE") == pytest.approx(95.47 - 13.0)
    assert Printed("letters").value(gap, "DBSE") is None


def test_a_number_that_does_not_compare_has_no_published_one_beside_it():
    metrics = {metric.name: metric for metric in find_comparison("sm-mnist").metrics}
    assert Printed("sm-mnist").value(metrics["accuracy_pct"], "C-DSVAE") == 97.84
    assert Printed("sm-mnist").value(metrics["inception_score"], "C-DSVAE") is None


def test_a_stand_in_is_called_one_in_every_row_page_and_verdict(tmp_path):
    comparison = find_comparison("speech")
    keep(tmp_path, "dbse", 0, {"static_eer_pct": 4.0, "dynamic_eer_pct": 30, "eer_gap_pct": 26.0})
    rows = results(comparison, tmp_path)
    title = "librispeech (stand-in for timit)"
    assert {row["dataset"] for row in rows} == {title}
    assert only(rows, "DBSE", "static_eer_pct")["published"] == 3.5
    assert f"Data: {title}." in page(rows)
    assert verdict(comparison, rows) == (
        f"{title}: 1 of 2 targets met by the best method; met: static_eer_pct 4.00 (DBSE; wanted "
        "≤ 5); missed: eer_gap_pct 26.00 (DBSE; wanted ≥ 30, 4.00 off); 1 seed at least."
    )


LOWEST = "Weights of the lowest validation loss (`training.patience`): FHVAE."


def test_rows_trained_with_patience_are_named_for_their_weights(tmp_path, stays, folder):
    comparison = find_comparison("speech")
    for row in ("dbse", "fhvae"):
        keep(tmp_path / "speech", row, 0, {metric.name: 4.0 for metric in comparison.metrics})
    rows = results(comparison, tmp_path / "speech")
    assert LOWEST in page(rows)
    assert "lowest validation loss" not in page(results(stays, folder))
    recipe = {**rows[0], "command": "unbraid reproduce recipes --rows dsvae --seeds 1"}
    assert "Rows trained with `training.patience` have weights of the lowest" in page([recipe])


def test_the_page_of_results_is_made_of_the_table_of_results():
    root = Path(__file__).parents[3]
    text = (root / "RESULTS.md").read_text(encoding="utf-8")
    assert text == page(json.loads((root / "results" / "results.json").read_text()))
    assert text.count(LOWEST) == text.count("lowest validation loss") == 1


def test_raw_values_meet_no_target(stays, folder):
    sentence = verdict(stays, results(stays, folder))
    assert sentence == (
        "physionet: 2 of 3 targets met by the best method; met: mortality_auprc 0.450 (DBSE; "
        "wanted ≥ 0.447), icu_type_accuracy_pct 60.00 (DBSE; wanted ≥ 56.9); missed: "
        "mortality_auroc 0.800 (DBSE; wanted ≥ 0.849, 0.049 off); 3 seeds at least."
    )


def test_what_was_not_measured_is_said(stays, tmp_path):
    sentence = verdict(stays, results(stays, tmp_path))
    assert sentence.startswith("physionet: 0 of 3 targets met by the best method; not measured: ")
    assert sentence.endswith("no run made.")


def result_row(method: str, mean: float, std: float | None = None, better: str = "up") -> Result:
    return {
        "dataset": "sprites",
        "method": method,
        "metric": "m",
        "better": better,
        "mean": mean,
        "std": std,
        "seeds": 2,
    }


@pytest.mark.parametrize(
    ("ours", "theirs", "better", "within", "word"),
    [
        ((90, 1.0), (80, 2.0), "up", 0.0, "seen"),
        ((80, 1.0), (90, 2.0), "up", 0.0, "opposite"),
        ((80, 1.0), (90, 2.0), "down", 0.0, "seen"),
        ((82, 1.0), (80, 2.0), "up", 0.0, "within the noise"),
        ((80, None), (80, None), "up", 0.0, "within the noise"),
        ((99, 0.1), (98, 0.1), "up", 2.0, "seen"),
        ((99, 0.1), (90, 0.1), "up", 2.0, "opposite"),
    ],
)
def test_a_finding_is_seen_if_it_is_larger_than_the_spread(ours, theirs, better, within, word):
    comparison = find_comparison("sprites-ablation")
    finding = replace(comparison.findings[0], metric="m", within=within)
    metrics = (replace(comparison.metrics[0], name="m"),)
    small = replace(comparison, metrics=metrics, findings=(finding,))
    rows = [result_row("SPYL", *ours, better), result_row("SPYL negatives random", *theirs, better)]
    (line,) = finding_lines(small, rows)
    assert line.endswith(f": {word}")
    assert f"of 1 published findings: 1 {word}" in verdict(small, rows)
    assert finding_lines(small, rows[:1])[0].endswith("not measured")


def test_merging_replaces_the_same_number_and_keeps_the_others(stays, folder, tmp_path):
    rows = results(stays, folder)
    table = tmp_path / "results" / "results.json"
    old = [{**rows[0], "mean": 0.1}, {**rows[0], "metric": "other"}, {**rows[0], "dataset": "b"}]
    assert merge_tables(old, table) == tmp_path / "RESULTS.md"
    written = merge_tables(rows, table)
    table_rows = json.loads(table.read_text())
    assert len(table_rows) == len(rows) + 2
    assert table_rows[0] == json.loads(json.dumps(rows[0]))
    assert "0.450 ± 0.050" in written.read_text()


def test_the_same_method_by_another_protocol_is_another_number(stays, folder):
    row = results(stays, folder)[0]
    reworded = {**row, "protocol": "paper: in other words", "mean": 0.2}
    assert merged([row], [reworded]) == [reworded]
    other = {**row, "protocol": "authors: as their code"}
    assert merged([row], [other]) == [row, other]


@pytest.mark.parametrize("text", ["{}", "[1]", "no json", '[{"method": "DBSE"}]'])
def test_a_file_that_is_no_table_is_left_alone(tmp_path, text):
    table = tmp_path / "results.json"
    table.write_text(text)
    with pytest.raises(ValueError, match="is no table of results"):
        merge_tables([], table)
    assert table.read_text() == text


def of_dbse(folder: Path) -> Result:
    return only(results(find_comparison("physionet"), folder), "DBSE", "mortality_auprc")


@pytest.mark.parametrize("old", ["with values", "of an older table"])
def test_seeds_made_later_are_added_to_those_of_the_table(folder, tmp_path, old):
    every = of_dbse(folder)
    first, later = tmp_path / "first", tmp_path / "later"
    for seed, auprc in enumerate(AUPRC):
        keep(first if seed == 0 else later, "dbse", seed, {"mortality_auprc": auprc})
    before = of_dbse(first)
    if old == "of an older table":
        del before["values"]
    (once,) = merged([before], [of_dbse(later)])
    (twice,) = merged([once], [of_dbse(later)])
    for row in (once, twice):
        assert (row["seeds"], row["command"]) == (3, every["command"])
        assert row["mean"] == pytest.approx(0.45)
        assert row["std"] == pytest.approx(0.05)


def test_seeds_that_leave_a_gap_or_have_another_budget_are_refused(folder, tmp_path):
    before = of_dbse(folder)
    keep(tmp_path / "gap", "dbse", 5, {"mortality_auprc": 0.4})
    with pytest.raises(ValueError, match="Make them with --first-seed 3"):
        merged([before], [of_dbse(tmp_path / "gap")])
    keep(tmp_path / "short", "dbse", 3, {"mortality_auprc": 0.4}, max_minutes=1.0)
    with pytest.raises(ValueError, match="unequal budgets"):
        merged([before], [of_dbse(tmp_path / "short")])
