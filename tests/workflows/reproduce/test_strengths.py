"""Who is best by our results: ranks worked out by hand, and the page has those of the results."""

import json
from pathlib import Path

from unbraid.workflows.reproduce.methods import refresh
from unbraid.workflows.reproduce.strengths import (
    END,
    START,
    contests,
    good_at,
    good_at_words,
    which_table,
)

ROOT = Path(__file__).parents[3]
LABELS = {"dsvae": "DSVAE", "spyl": "SPYL", "dbse": "DBSE", "raw": "raw features"}


def row(method: str, mean: float, std: float | None = None, metric: str = "mortality_auroc"):
    return {
        "method": LABELS[method],
        "metric": metric,
        "better": "up",
        "mean": mean,
        "std": std,
        "seeds": 3,
        "minutes": 1.0,
        "published": None,
        "command": f"unbraid reproduce physionet --rows {method} --seeds 3",
    }


RESULTS = [row("dsvae", 0.80, 0.02), row("spyl", 0.81, 0.005), row("dbse", 0.75, 0.01)]


def test_level_is_within_the_larger_standard_deviation_of_the_best():
    (contest,) = contests(RESULTS)
    assert [contest.rank(name) for name in ("spyl", "dsvae", "dbse", "glr")] == [
        "best",
        "level",
        "behind",
        "",
    ]


def test_a_method_that_fails_in_some_seeds_is_not_level_by_its_spread():
    steady = [row("spyl", 0.81, 0.005), row("dbse", 0.75, 0.01)]
    for std, rank in ((0.025, "level"), (0.026, "behind")):  # five times 0.005, and more
        (contest,) = contests([row("dsvae", 0.79, std), *steady])
        assert contest.rank("dsvae") == rank


def test_one_seed_has_no_spread_to_be_level_by():
    (contest,) = contests([row("dsvae", 0.80), row("spyl", 0.81), row("dbse", 0.75)])
    assert contest.rank("dsvae") == "behind"


def test_two_methods_are_no_contest():
    assert contests(RESULTS[:2]) == []


def test_nobody_is_good_where_raw_values_are_better():
    results = [*RESULTS, row("raw", 0.9)]
    assert good_at("spyl", results) == {"physionet": {"behind": ["mortality_auroc"]}}
    assert good_at_words(good_at("spyl", results)) == "-"
    assert good_at_words(good_at("spyl", RESULTS)) == "physionet 1 of 1"
    assert good_at_words(good_at("glr", RESULTS)) == "not measured"
    line = which_table(results).splitlines()[2]
    best = "`spyl` 0.810 ± 0.005 (seeds: 3, CPU-minutes: 1.0)"
    assert line == (
        f"| `physionet` | mortality auroc ↑ | raw values | {best} | `dsvae` | `dbse` | 0.900 |"
    )


def test_less_is_better_where_the_comparison_says_so():
    results = [
        row(name, mean, metric="oil_temperature_mae") | {"better": "down"}
        for name, mean in (("dsvae", 12.0), ("spyl", 11.0), ("dbse", 13.0))
    ]
    for part in results:
        part["command"] = part["command"].replace("physionet", "etth1")
    (contest,) = contests(results)
    assert contest.best["key"] == "spyl"


def test_other_parts_of_the_page_stay(tmp_path):
    page = tmp_path / "which.md"
    page.write_text(f"before\n{START}old\n{END}\nafter")
    refresh(page, which_table(RESULTS), START, END)
    assert page.read_text() == f"before\n{START}{which_table(RESULTS)}{END}\nafter"


def test_the_page_shows_the_results_that_are_committed():
    committed = json.loads((ROOT / "results" / "results.json").read_text())
    text = (ROOT / "docs" / "which.md").read_text()
    assert which_table(committed) == text.split(START)[1].split(END)[0]
