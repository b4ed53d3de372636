"""The comparisons that ship: every row can be planned, every name is that of the papers' table."""

import re

import pytest

from unbraid.data import DATASETS
from unbraid.methods import METHODS
from unbraid.report.published import published
from unbraid.workflows.reproduce.comparison import Request
from unbraid.workflows.reproduce.plan import (
    RAW,
    TUNED,
    Budget,
    comparison_names,
    find_comparison,
    list_comparisons,
)

NAMES = [
    "air-quality",
    "etth1",
    "hard-sprites",
    "hard-sprites-ablation",
    "hard-sprites-hard",
    "letters",
    "physionet",
    "sm-mnist",
    "speech",
    "speech-long",
    "sprites",
    "sprites-ablation",
]
PRINTED = [name for name in NAMES if not name.startswith("hard-sprites")]
OURS = re.compile(
    r"judge_fix_.*|latent_SVC_._gap_pct|content_.*|reconstruction_error_pct"
    r"|relative_error_pct|[a-z]+_from_[sd]_pct"
)  # not printed for these data sets
NOT_PRINTED = {"DSVAE": {"physionet", "air-quality", "etth1"}, "DBSE": {"sm-mnist", "letters"}}


def test_all_published_comparisons_are_there():
    assert comparison_names() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_row_can_be_planned_by_every_protocol(name: str):
    comparison = find_comparison(name)
    assert comparison.data in DATASETS
    for variant in ("paper", "authors") if comparison.authors else ("paper",):
        for row in comparison.rows:
            if row.method == RAW:
                assert {metric.by for metric in comparison.metrics} == {"task"}
                continue
            plan = comparison.plan(row, variant, seed=3, budget=Budget(epochs=7, minutes=2.0))
            assert (plan.seed, plan.training.max_minutes, plan.training.epochs) == (3, 2.0, 7)
            assert row.method in METHODS


@pytest.mark.parametrize("name", PRINTED)
def test_metrics_are_named_and_directed_as_in_the_papers_table(name: str):
    comparison = find_comparison(name)
    printed = [p for p in published() if p.dataset == comparison.published]
    known = {p.metric: p.better for p in printed}
    for metric in comparison.metrics:
        if not OURS.fullmatch(metric.name):
            if metric.name not in known:
                assert metric.name.endswith("_d_to_static_accuracy_pct")  # of two classifiers
                continue
            assert known[metric.name] == metric.better


@pytest.mark.parametrize("name", [name for name in PRINTED if name != "sprites-ablation"])
def test_rows_are_labelled_as_in_the_papers_table(name: str):
    comparison = find_comparison(name)
    labels = {p.method for p in published() if p.dataset == comparison.published}
    for row in comparison.rows:
        own = row.label.endswith((TUNED, ", recommended", "(no paper's)"))
        missing = own or comparison.published in NOT_PRINTED.get(row.label, ())
        assert (row.label in labels) is not missing, row.label


def test_labels_of_the_ablation_are_those_of_tables_on_other_data():
    labels = {p.method for p in published()}
    assert {row.label for row in find_comparison("sprites-ablation").rows} <= labels


def test_the_ablations_change_what_they_are_called_after():
    comparison = find_comparison("sprites-ablation")
    plans = {
        r.name: comparison.plan(r, "paper", seed=0, budget=Budget(minutes=1.0))
        for r in comparison.rows
    }
    config = {name: plan.method_config for name, plan in plans.items()}
    assert [config[f"spyl{end}"].negatives for end in ("", "-random", "-middle")] == [
        "farthest",
        "random",
        "middle",
    ]
    assert config["spyl-middle-farthest"].negatives == "middle+farthest"
    assert config["spyl"].views == "predictive"
    assert config["spyl-reparametrised"].views == "reparametrised"
    both = [
        (config[n].static_loss, config[n].subtract)
        for n in ("dbse", "dbse-no-loss", "dbse-no-sub", "dbse-no-both")
    ]
    assert both == [(True, "before"), (False, "before"), (True, "off"), (False, "off")]
    anchors = [config[n].anchor for n in ("dbse", "dbse-middle", "dbse-last")]
    assert anchors == ["first", "middle", "last"]
    assert config["cdsvae-no-content"].static_view == "none"
    assert config["cdsvae-no-motion"].dynamic_view == "none"
    assert config["cdsvae-mws"].mi == "mws"


def test_every_row_that_two_protocols_plan_alike_is_trained_once():
    for name in comparison_names():
        comparison = find_comparison(name)
        for row in comparison.rows if comparison.authors else ():
            if row.method != RAW:
                paper, authors = (
                    comparison.plan(row, variant, seed=0, budget=comparison.budget)
                    for variant in ("paper", "authors")
                )
                assert comparison.trained_alike(row, "authors") is (paper == authors), row.name


def test_both_difficulties_of_hard_sprites_are_compared_alike():
    medium, hard = (find_comparison(name) for name in ("hard-sprites", "hard-sprites-hard"))
    levels = [c.data_options("paper")["difficulty"] for c in (medium, hard)]
    assert levels == ["medium", "hard"]
    assert (medium.rows, medium.metrics, medium.sets[1:]) == (
        hard.rows,
        hard.metrics,
        hard.sets[1:],
    )
    assert medium.paper.name != hard.paper.name  # rows of one table must not replace each other


def test_the_papers_months_are_the_default_and_the_hours_of_stays_those_of_the_published_loader():
    months, stays = find_comparison("etth1"), find_comparison("physionet")
    assert [months.data_options(v)["cut"] for v in ("paper", "authors")] == ["paper", "authors"]
    assert [stays.data_options(v) for v in ("paper", "authors")] == [{"grid": "first"}] * 2
    assert find_comparison("sm-mnist").protocol("authors").means


def test_stand_ins_are_called_stand_ins():
    titles = {fact["name"]: fact["data"] for fact in list_comparisons()}
    assert titles["speech"] == "librispeech (stand-in for timit)"
    assert titles["letters"] == "omniglot (stand-in for letters)"


def test_unknown_names_are_told_the_right_ones():
    with pytest.raises(KeyError, match="Did you mean 'physionet'"):
        find_comparison("physionett")
    with pytest.raises(KeyError, match=r"there is no 'dbsee'\. Did you mean 'dbse'"):
        find_comparison("speech").choose(("dbsee",))
    with pytest.raises(KeyError, match="there is no protocol 'author'"):
        Request(name="speech", protocol="author")
    with pytest.raises(ValueError, match="letters has the protocol of the paper only"):
        find_comparison("letters").protocol("authors")


def test_an_incomplete_file_is_said_not_traced(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('title = "mine"\n')
    with pytest.raises(ValueError, match=r"mine.toml is not complete: .*'data'"):
        find_comparison(str(path))
    with pytest.raises(ValueError, match="there is no file"):
        find_comparison(str(tmp_path / "gone.toml"))


def test_rows_can_be_those_of_another_comparison(tmp_path):
    file = tmp_path / "mine.toml"
    text = (
        'title = "x"\ndata = "toy-sprites"\npublished = "x"\nwhere = "x"\nseeds = 1\nepochs = 1\n'
    )
    file.write_text(f'{text}rows = "sprites"\nmetrics = "hard-sprites"\n[paper]\ntext = "x"\n')
    comparison = find_comparison(str(file))
    assert comparison.rows == find_comparison("sprites").rows
    assert comparison.metrics == find_comparison("hard-sprites").metrics
    file.write_text(
        f'{text}rows = "hard-sprites-ablation"\nmetrics = "sprites"\n[paper]\ntext = "x"\n'
    )
    assert find_comparison(str(file)).rows == find_comparison("sprites-ablation").rows
    file.write_text(f'{text}rows = "sprits"\n[paper]\ntext = "x"\n')
    with pytest.raises(
        KeyError, match=r"mine.toml: rows: there is no comparison 'sprits'\. Did you mean 'sprites'"
    ):
        find_comparison(str(file))
