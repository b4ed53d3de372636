from pathlib import Path
from typing import Any

import pytest

from unbraid.data import DATASETS, data_kind
from unbraid.runs.recipes import RECIPES
from unbraid.workflows.reproduce import recipes
from unbraid.workflows.reproduce.comparison import Request
from unbraid.workflows.reproduce.plan import Comparison
from unbraid.workflows.reproduce.recipes import comparisons, read_suite, recipe_page, verdict

SUITE = read_suite()


def _row(method: str, metric: str, mean: float) -> dict[str, Any]:
    return {"method": method, "metric": metric, "mean": mean, "std": 1.0, "seeds": 3, "minutes": 2}


def _scored(scores: dict[str, dict[str, float]]):
    """Return what stands for `results`: data set -> candidate -> validation separation."""

    def results(one: Comparison, folder: Path) -> list[dict[str, Any]]:
        values = scores.get(one.name.partition("/")[2], {})
        return [
            _row(label, metric, value)
            for label, value in values.items()
            for metric in ("validation_separation_pct", "separation_pct", "relative_error_pct")
        ]

    return results


def test_every_kind_has_several_data_sets_of_its_kind_and_the_recipe_is_a_candidate():
    assert {kind.kind for kind in SUITE.kinds} == set(RECIPES)
    for kind in SUITE.kinds:
        assert len(kind.data) >= 3
        assert all(data_kind(one.data) == kind.kind for one in kind.data)
        methods = {row.method for row in kind.rows if row.preset == "recommended"}
        assert RECIPES[kind.kind].method in methods


def test_every_run_has_a_plan():
    for kind in SUITE.kinds:
        for one in comparisons(SUITE, kind):
            for row in one.rows:
                plan = one.plan(row, "paper", seed=0, budget=one.budget)
                assert plan.data.name in DATASETS
                assert plan.training.max_minutes == kind.minutes


def test_the_choice_is_by_validation_over_data_sets_that_all_candidates_share(monkeypatch):
    series = next(kind for kind in SUITE.kinds if kind.kind == "series")
    one, two, *others = (row.label for row in series.rows)
    scores = {
        "toy-series": {one: 50.0, two: 60.0} | dict.fromkeys(others, 10.0),
        "toy-trends": {one: 40.0, two: 20.0} | dict.fromkeys(others, 10.0),
        "physionet": {two: 99.0},  # not measured for the others: it must not count
    }
    monkeypatch.setattr(recipes, "results", _scored(scores))
    assert f"series: {one} (45.0 on validation)." in verdict(SUITE, Path())
    page = recipe_page(SUITE, Path()).partition("## series")[2]
    line = next(line for line in page.splitlines() if line.startswith(f"| {one} |"))
    assert line.count("not measured") == len(series.data) - 2
    assert line.endswith("| 45.00 |")
    assert "50.0 ± 1.0, error 50.0 %, 2.0 min, 3 seeds" in line


def test_a_choice_among_some_candidates_does_not_wait_for_the_others(monkeypatch):
    series = next(kind for kind in SUITE.kinds if kind.kind == "series")
    one, two, *_ = (row.label for row in series.rows)
    monkeypatch.setattr(recipes, "results", _scored({"toy-series": {one: 50.0, two: 60.0}}))
    assert f"series: {two} (60.0 on validation)." in verdict(SUITE, Path())


def test_a_misspelt_data_set_is_told_the_right_one(tmp_path: Path):
    with pytest.raises(KeyError) as error:
        recipes.compare_recipes(Request(name="recipes", out=tmp_path), ["toy-serie"])
    assert error.value.args[0] == (
        "recipes have no data set 'toy-serie'. Did you mean 'toy-series'?"
    )
