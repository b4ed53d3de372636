"""`unbraid reproduce` as a person meets it."""

import json
from pathlib import Path

import pytest

TOY = """
title = "Machines"
data = "toy-series"
published = "nowhere"
where = "nowhere"
seeds = 1
minutes = 5.0
repeats = 1
sets = ["data.train=40", "data.validation=12", "data.test=40", "data.windows=4"]
rows = [{ name = "raw", label = "raw features", method = "raw" }]
metrics = [
    { name = "machine_accuracy_pct", better = "up", by = "task", factor = "machine", tool = "linear" },
]
[paper]
text = "a toy"
"""  # noqa: E501


def test_the_list_is_for_people_and_for_scripts(run_program):
    code, out, _ = run_program("reproduce", "--list")
    assert code == 0
    assert "sprites-ablation" in out
    assert "stand-in" in out
    names = {
        fact["name"]: fact for fact in json.loads(run_program("reproduce", "--list", "--json")[1])
    }
    assert names["sprites"]["targets"] == {
        "accuracy_pct": 100.0,
        "inception_score": 8.94,
        "intra_entropy_H(y|x)": 0.006,
    }
    assert names["physionet"]["rows"]["raw"] == "raw features"
    assert names["physionet"]["seeds"] == 5


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "which comparison?"),
        (["spritess"], "Did you mean 'sprites'?"),
        (["physionet", "--rows", "dbes"], "Did you mean 'dbse'?"),
        (["physionet", "--protocol", "papers"], "Did you mean 'paper'?"),
        (["letters", "--protocol", "authors"], "has the protocol of the paper only"),
        (["physionet", "--workers", "0"], "workers must be at least 1"),
        (["physionet", "--seeds", "-1"], "seeds must not be negative"),
        (["gone.toml"], "there is no file gone.toml"),
    ],
)
def test_a_mistake_ends_in_a_sentence_and_code_2(run_program, words, sentence):
    code, _, err = run_program("reproduce", *words)
    assert code == 2
    assert sentence in err


def test_a_comparison_of_ones_own_is_made_and_merged(run_program, tmp_path: Path):
    mine, table = tmp_path / "mine.toml", tmp_path / "all" / "results.json"
    mine.write_text(TOY)
    words = ["reproduce", str(mine), "--out", str(tmp_path / "out"), "--merge", str(table)]
    code, out, _ = run_program(*words)
    assert code == 0
    assert "[1/1] raw features, seed 0: machine_accuracy_pct" in out
    assert (tmp_path / "out" / "mine" / "raw" / "0" / "scores.json").is_file()
    assert [row["method"] for row in json.loads(table.read_text())] == ["raw features"]
    assert "## " in (tmp_path / "all" / "RESULTS.md").read_text()


def test_a_stop_is_said_and_told_by_the_exit_code(run_program, tmp_path: Path, monkeypatch):
    from unbraid.workflows.reproduce import workers as reproduce_workers

    def stop(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(reproduce_workers, "do_job", stop)
    mine = tmp_path / "mine.toml"
    mine.write_text(TOY)
    code, _, err = run_program("reproduce", str(mine), "--out", str(tmp_path / "out"))
    assert code == 130
    assert "The same command goes on" in err
