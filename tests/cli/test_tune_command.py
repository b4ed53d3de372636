"""`unbraid tune` as a person meets it."""

import sys

import pytest

TINY = [
    "--set",
    "data.train=12",
    "--set",
    "data.validation=6",
    "--set",
    "data.test=3",
    "--set",
    "training.steps=4",
    "--set",
    "training.batch_size=4",
    "--set",
    "method.static_dim=4",
    "--set",
    "method.dynamic_dim=4",
    "--set",
    "method.net.hidden=8",
]


def test_tune_ends_in_a_table_and_a_command_that_trains_with_the_best(run_program, tmp_path):
    command = ["tune", "toy-series", "-m", "dbse", "--out", str(tmp_path / "studies"), *TINY]
    code, out, err = run_program(*command, "--trials", "3", "--labels")
    assert code == 0, err
    assert "dbse on toy-series by leakage: 3 finished" in out
    assert "trial 0 is the preset" in out
    assert "label-free choice beside labels" in out
    suggestion = out.strip().splitlines()[-1].partition("unbraid ")[2].split()
    code, out, _ = run_program(*suggestion, "--out", str(tmp_path / "runs"))
    assert code == 0
    assert "finished after 4 of 4 steps" in out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["toy-serie"], "Did you mean 'toy-series'?"),
        (["toy-series", "-m", "dsbe"], "Did you mean 'dbse'?"),
        (["toy-series", "--objective", "elbow"], "no objective 'elbow'. Did you mean 'elbo'?"),
        (["toy-series", "--pruner", "medain"], "Did you mean 'median'?"),
        (["toy-series", "-m", "dbse", "--set", "method.w_statc=1"], "Did you mean 'w_static'?"),
        (["toy-series", "--space", "no.toml"], "there is no file no.toml"),
        (["toy-series", "--trials", "0"], "trials and workers must be 1 or more"),
        (["toy-series", "--max-minutes", "-1"], "--max-minutes must not be negative"),
    ],
)
def test_a_mistake_ends_in_a_sentence_and_code_2(run_program, tmp_path, words, sentence):
    code, _, err = run_program("tune", *words, "--out", str(tmp_path))
    assert code == 2
    assert sentence in err


def test_a_misspelt_setting_of_a_space_is_told_the_right_one(run_program, tmp_path):
    path = tmp_path / "space.toml"
    path.write_text("[method]\nw_statc = {low = 0, high = 1}\n")
    code, _, err = run_program(
        "tune", "toy-series", "-m", "dbse", "--space", str(path), "--out", str(tmp_path)
    )
    assert code == 2
    assert "space.toml: DBSEConfig has no setting 'w_statc'. Did you mean 'w_static'?" in err
    assert not (tmp_path / "toy-series").exists()


def test_without_optuna_the_extra_is_named(run_program, tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("unbraid.workflows.tune")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "optuna", None)
    code, _, err = run_program("tune", "toy-series", "--out", str(tmp_path))
    assert code == 2
    assert 'tuning needs Optuna: pip install "unbraid[tune]"' in err
