"""The table by method: marks worked out by hand, and the README has that of the results."""

import json
from pathlib import Path

import pytest

from unbraid.workflows.reproduce.methods import (
    END,
    PAGE_END,
    PAGE_START,
    START,
    by_method,
    page_table,
    refresh,
    standing,
)

ROOT = Path(__file__).parents[3]
ROW = {
    "method": "DBSE",
    "metric": "mortality_auprc",
    "better": "up",
    "mean": 0.43,
    "std": 0.02,
    "published": 0.447,
    "command": "unbraid reproduce physionet --rows dbse --seeds 5",
}


@pytest.mark.parametrize(
    ("mean", "std", "better", "wanted"),
    [
        (0.447, None, "up", "better"),
        (0.43, 0.02, "up", "within"),
        (0.42, 0.02, "up", "worse"),
        (0.43, None, "up", "worse"),  # one seed has no spread
        (0.43, None, "down", "better"),
        (None, None, "up", ""),
    ],
)
def test_a_number_stands_to_the_published_one_by_direction_and_spread(mean, std, better, wanted):
    assert standing(ROW | {"mean": mean, "std": std, "better": better}) == wanted


def test_a_cell_has_ours_published_and_mark_and_the_last_column_counts():
    unit = ROW | {"metric": "icu_type_accuracy_pct", "mean": 50.0, "std": 1.0, "published": 56.87}
    table = by_method([ROW, unit]).splitlines()
    assert table[0].startswith("| method | `physionet`<br>mortality auprc, icu type accuracy |")
    assert table[2] == "| DBSE | 0.430 ± 0.020 / 0.447 ≈<br>50.00 / 56.87 ✗ | 0 ✓ and 1 ≈, of 2 |"


def test_a_published_metric_without_a_target_is_not_shown_but_counted():
    command = "unbraid reproduce speech --rows dbse"
    row = ROW | {"command": command, "better": "up", "std": None}
    gap = row | {"metric": "eer_gap_pct", "mean": 20.0, "published": 31.12}
    dynamic = row | {"metric": "dynamic_eer_pct", "mean": 40.0, "published": 34.62}
    table = by_method([gap, dynamic]).splitlines()
    assert table[0] == "| method | `speech`<br>eer gap | ✓ and ≈, of all published metrics |"
    assert table[2] == "| DBSE | 20.00 / 31.12 ✗ | 1 ✓, of 2 |"


def test_tuned_weights_stand_in_the_place_of_the_printed_ones_with_a_mark():
    tuned = ROW | {"method": "DBSE, tuned here", "mean": 0.45}
    elsewhere = ROW | {
        "metric": "month_accuracy_pct",
        "published": 65.87,
        "mean": 50.0,
        "command": "unbraid reproduce air-quality --rows dbse",
    }
    table = by_method([ROW, tuned, elsewhere]).splitlines()
    assert table[2] == "| DBSE | 0.450 / 0.447 ✓ † | 50.00 / 65.87 ✗ | 1 ✓, of 2 |"


def test_the_authors_protocol_and_the_ablation_do_not_count():
    other = ROW | {"command": f"{ROW['command']} --protocol authors", "published": 0.9}
    ablation = ROW | {"command": "unbraid reproduce sprites-ablation --rows dbse"}
    assert by_method([ROW, other, ablation]) == by_method([ROW])


def test_a_page_without_a_place_for_the_table_stays_as_it_is(tmp_path):
    page = tmp_path / "README.md"
    page.write_text("no table")
    refresh(page, by_method([ROW]))
    assert page.read_text() == "no table"


def test_the_readme_shows_the_results_that_are_committed():
    committed = json.loads((ROOT / "results" / "results.json").read_text())
    text = (ROOT / "README.md").read_text()
    assert by_method(committed) == text.split(START)[1].split(END)[0]


@pytest.mark.parametrize("name", ["physionet", "air-quality", "etth1", "sm-mnist", "hard-sprites"])
def test_the_page_of_a_comparison_shows_the_results_that_are_committed(name: str):
    committed = json.loads((ROOT / "results" / "results.json").read_text())
    text = (ROOT / "docs" / "results" / f"{name}.md").read_text()
    assert page_table(name, committed) == text.split(PAGE_START)[1].split(PAGE_END)[0]


def test_a_table_of_a_page_has_ours_published_and_the_fewest_seeds():
    unit = {"metric": "icu_type_accuracy_pct", "mean": 50.0, "std": None, "published": None}
    rows = [ROW | {"seeds": 5}, ROW | unit | {"seeds": 1}]
    table = page_table("physionet", rows).splitlines()
    assert table[0] == "| method | mortality auprc ↑ | icu type accuracy ↑ | seeds |"
    assert table[2] == "| DBSE | 0.430 ± 0.020 / 0.447 ≈ | 50.00 / - | 1 |"


def test_a_comparison_without_targets_shows_ours_alone_and_the_best_first():
    command = "unbraid reproduce hard-sprites --rows dbse --seeds 1"
    row = ROW | {"metric": "separation_pct", "published": None, "seeds": 1, "command": command}
    rows = [row | {"method": name, "mean": mean} for name, mean in (("A", 20.0), ("B", 45.0))]
    table = page_table("hard-sprites", rows).splitlines()
    assert table[0].startswith("| method | separation ↑ | static from s ↑ |")
    assert [line.split(" | ")[:2] for line in table[2:]] == [
        ["| B", "45.00 ± 0.02"],
        ["| A", "20.00 ± 0.02"],
    ]


def test_a_comparison_nobody_published_has_no_column_in_the_table_by_method():
    own = ROW | {"published": None, "command": "unbraid reproduce hard-sprites --rows dbse"}
    assert by_method([ROW, own]) == by_method([ROW])
