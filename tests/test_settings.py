from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest

from unbraid.data.collection import SplitConfig
from unbraid.methods import METHODS
from unbraid.methods.cdsvae import CDSVAEConfig
from unbraid.nets import NetConfig
from unbraid.runs.config import TrainingConfig
from unbraid.settings import as_table, build, closest, merge, parse_sets, read_toml
from unbraid.workflows.reproduce.comparison import Request
from unbraid.workflows.tune.search import make_search


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    size: int = 1
    sizes: tuple[int, ...] = (1, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outer:
    rate: float = 0.5
    on: bool = False
    name: str = "a"
    kind: Literal["left", "right"] = "left"
    limit: float | None = None
    inner: Inner = field(default_factory=Inner)

    def __post_init__(self) -> None:
        if self.rate < 0:
            raise ValueError(f"rate must not be negative, got {self.rate}.")


def said(error: pytest.ExceptionInfo) -> str:
    return error.value.args[0]


def test_a_misspelt_setting_is_told_the_right_one():
    with pytest.raises(KeyError) as error:
        build(CDSVAEConfig, {"temprature": 0.1}, where="sprites/cdsvae.toml")
    assert said(error) == (
        "sprites/cdsvae.toml: CDSVAEConfig has no setting 'temprature'. Did you mean 'temperature'?"
    )


def test_a_setting_like_no_other_is_told_all_there_are():
    with pytest.raises(KeyError) as error:
        build(Inner, {"xyz": 1}, where="here")
    assert said(error) == "here: Inner has no setting 'xyz'. There is: size, sizes."


def test_a_misspelt_setting_inside_a_table_names_the_table():
    with pytest.raises(KeyError) as error:
        build(Outer, {"inner": {"sise": 1}}, where="here")
    assert said(error) == "here: inner: Inner has no setting 'sise'. Did you mean 'size'?"


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"rate": "fast"}, "here: rate must be a number, got 'fast'."),
        ({"rate": True}, "here: rate must be a number, got True."),
        ({"on": 1}, "here: on must be true or false, got 1."),
        ({"name": 3}, "here: name must be text, got 3."),
        (
            {"kind": "rigth"},
            "here: kind must be one of left, right, got 'rigth'. Did you mean 'right'?",
        ),
        ({"inner": 3}, "here: inner must be a table, got 3."),
        ({"inner": {"size": 1.5}}, "here: inner: size must be a whole number, got 1.5."),
        ({"inner": {"sizes": 3}}, "here: inner: sizes must be a list, e.g. [64, 128], got 3."),
        ({"inner": {"sizes": [1, "b"]}}, "here: inner: sizes must be a whole number, got 'b'."),
        ({"limit": "high"}, "here: limit must be a number, got 'high'."),
        ({"rate": -1}, "here: rate must not be negative, got -1.0."),
    ],
)
def test_a_wrong_value_is_told_what_was_wanted(table: dict, sentence: str):
    with pytest.raises(ValueError) as error:
        build(Outer, table, where="here")
    assert said(error) == sentence


def test_plain_values_become_what_the_fields_want():
    made = build(
        Outer, {"rate": 2, "limit": 3, "inner": {"sizes": [4, 5]}, "kind": "right"}, where="here"
    )
    assert made == Outer(rate=2.0, limit=3.0, inner=Inner(sizes=(4, 5)), kind="right")
    assert isinstance(made.rate, float)
    assert build(Outer, {"limit": "none"}, where="here").limit is None


@pytest.mark.parametrize("name", METHODS)
def test_method_settings_survive_a_round_trip(name: str):
    config = METHODS[name].Config(static_dim=7, net=NetConfig(channels=(3, 4), hidden=5))
    assert build(METHODS[name].Config, as_table(config), where="here") == config
    assert config != METHODS[name].Config()


def test_a_table_has_plain_values_and_no_none():
    assert as_table(Outer()) == {
        "rate": 0.5,
        "on": False,
        "name": "a",
        "kind": "left",
        "inner": {"size": 1, "sizes": [1, 2]},
    }


def test_words_become_a_nested_table():
    words = ["training.lr=1e-4", "method.anchor=last", "method.static_loss=false", "a.b.c=[1, 2]"]
    assert parse_sets(words) == {
        "training": {"lr": 1e-4},
        "method": {"anchor": "last", "static_loss": False},
        "a": {"b": {"c": [1, 2]}},
    }


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[ward]", ["ward"]),
        ("[ward, day 1, 3,]", ["ward", "day 1", 3]),
        ('["ward"]', ["ward"]),
        ("[]", []),
        ("[ward", "[ward"),
        ("[ward,,day]", "[ward,,day]"),
        ("[, ward]", "[, ward]"),
        ("[[ward]]", "[[ward]]"),
    ],
)
def test_a_list_of_words_needs_no_quotes(text: str, value: object):
    assert parse_sets([f"data.labels={text}"]) == {"data": {"labels": value}}


@pytest.mark.parametrize("word", ["training.lr", "=3", "a..b=1", ".a=1"])
def test_a_word_that_is_no_setting_is_refused(word: str):
    with pytest.raises(ValueError, match=r"--set wants section.name=value, got"):
        parse_sets([word])


def test_the_last_word_wins():
    assert parse_sets(["a.b=1", "a.b=2"]) == {"a": {"b": 2}}


def test_a_merge_changes_neither_side():
    base, over = {"a": {"b": 1, "c": [1]}, "d": 1}, {"a": {"c": [2]}, "e": {"f": 1}}
    assert merge(base, over) == {"a": {"b": 1, "c": [2]}, "d": 1, "e": {"f": 1}}
    assert base == {"a": {"b": 1, "c": [1]}, "d": 1}
    assert over == {"a": {"c": [2]}, "e": {"f": 1}}


def test_the_nearest_name_is_offered():
    assert closest("dbsee", ["dbse", "spyl"]) == " Did you mean 'dbse'?"
    assert closest("zzz", ["spyl", "dbse"]) == " There is: dbse, spyl."


def test_a_broken_toml_file_is_named(tmp_path: Path):
    path = tmp_path / "a.toml"
    with pytest.raises(ValueError, match=r"there is no file .*a\.toml"):
        read_toml(path)
    path.write_text("[method\n")
    with pytest.raises(ValueError, match=r"a\.toml is not valid TOML: .*line 1"):
        read_toml(path)
    path.write_text("[method]\nstatic_dim = 3\n")
    assert read_toml(path) == {"method": {"static_dim": 3}}


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"lr": 0.0}, "lr must be positive, got 0.0."),
        ({"epochs": 0}, "epochs must be at least 1, got 0."),
        ({"steps": -1}, "steps must not be negative, got -1."),
        (
            {"batch_size": 1},
            "batch_size must be 2 or more: batch normalisation needs at least two sequences.",
        ),
    ],
)
def test_training_settings_that_cannot_work_are_refused(settings: dict, sentence: str):
    with pytest.raises(ValueError) as error:
        TrainingConfig(**settings)
    assert said(error) == sentence


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_not_finite_is_refused(value: float):
    with pytest.raises(ValueError, match=r"here: rate must be a finite number, got -?(nan|inf)"):
        build(Outer, {"rate": value}, where="here")
    with pytest.raises(ValueError, match="limit must be a finite number"):
        build(Outer, {"limit": value}, where="here")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["max_minutes", "lr", "clip", "lr_end", "matrix_lr"])
def test_training_refuses_what_is_not_finite_when_it_is_built_by_hand(name: str, value: float):
    with pytest.raises(ValueError, match=rf"{name} must be a finite number, got"):
        TrainingConfig(**{name: value})


@pytest.mark.parametrize("name", METHODS)
def test_methods_refuse_weights_that_are_not_finite(name: str):
    with pytest.raises(ValueError, match="w_reconstruction must be a finite number, got nan"):
        METHODS[name].Config(w_reconstruction=float("nan"))


@pytest.mark.parametrize("word", ["nan", "inf"])
def test_a_search_and_a_reproduction_refuse_such_a_budget(word: str):
    with pytest.raises(ValueError, match="max_minutes must be a finite number"):
        Request(name="speech", max_minutes=float(word))
    with pytest.raises(ValueError, match="max_minutes must be a finite number"):
        make_search("toy-series", "dsvae", max_minutes=float(word))


def test_a_share_that_is_not_a_number_is_refused():
    with pytest.raises(ValueError, match="test must lie between 0 and 1"):
        SplitConfig(test=float("nan"))


def test_a_list_is_asked_for_by_an_example_of_its_own_kind():
    @dataclass(frozen=True, kw_only=True)
    class Lists:
        words: tuple[str, ...] = ()
        numbers: tuple[int, ...] = ()

    with pytest.raises(ValueError, match=r'words must be a list, e\.g\. \["a", "b"\], got 0\.1'):
        build(Lists, {"words": 0.1}, where="--set")
    with pytest.raises(ValueError, match=r"numbers must be a list, e\.g\. \[64, 128\]"):
        build(Lists, {"numbers": 3}, where="--set")
