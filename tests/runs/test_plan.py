from pathlib import Path

import numpy as np
import pytest

import unbraid
from unbraid.methods import METHODS
from unbraid.runs.config import TrainingConfig
from unbraid.runs.plan import PRESETS, SECTIONS, make_plan, preset_names, read_plan
from unbraid.runs.recipes import RECIPES
from unbraid.settings import build, read_toml

FILES = sorted(path.relative_to(PRESETS).as_posix() for path in PRESETS.rglob("*.toml"))


@pytest.fixture
def data(tmp_path: Path) -> str:
    np.savez(tmp_path / "toy.npz", x=np.zeros((10, 4, 1, 8, 8), np.uint8))
    return str(tmp_path / "toy.npz")


@pytest.mark.parametrize("file", FILES)
def test_every_preset_builds_its_method_s_settings(file: str):
    table, name = read_toml(PRESETS / file), Path(file).stem
    assert set(table) <= set(SECTIONS)
    assert table.get("method", {}) or table.get("training", {})
    build(METHODS[name].Config, table.get("method", {}), where=file)
    build(TrainingConfig, table.get("training", {}), where=file)
    assert Path(file).parent.as_posix() in preset_names(name)


def test_settings_win_over_the_preset_and_the_preset_over_defaults(data: str):
    plain = make_plan(data, "dbse", preset="sprites")
    settings = {"method": {"static_dim": 7}, "training": {"lr": 0.5}}
    plan = make_plan(data, "dbse", preset="sprites", settings=settings, seed=3)
    table = read_toml(PRESETS / "sprites" / "dbse.toml")
    assert plan.method_config.static_dim == 7
    assert plan.training.lr == 0.5
    assert plan.training.batch_size == plain.training.batch_size
    assert plain.training.lr == table["training"]["lr"]
    assert plan.seed == 3


def test_no_preset_means_defaults(data: str):
    plan = make_plan(data, "spyl", preset="none")
    assert plan.method_config == METHODS["spyl"].Config()
    assert plan.training == TrainingConfig()


def test_a_preset_can_be_a_file(data: str, tmp_path: Path):
    path = tmp_path / "mine.toml"
    path.write_text("[method]\nstatic_dim = 9\n")
    assert make_plan(data, "dbse", preset=str(path)).method_config.static_dim == 9


@pytest.mark.parametrize("method", METHODS)
def test_a_plan_survives_its_config_toml(method: str, data: str, tmp_path: Path):
    plan = make_plan(data, method, settings={"method": {"static_dim": 5}}, seed=2)
    path = tmp_path / "config.toml"
    path.write_text(plan.as_toml())
    assert read_plan(path) == plan
    longer = read_plan(path, {"training": {"steps": 7}})
    assert longer.training.steps == 7
    assert longer.method_config == plan.method_config


def test_a_config_toml_of_something_else_is_refused(tmp_path: Path):
    path = tmp_path / "config.toml"
    path.write_text("[run]\ndata = 'toy-sprites'\n")
    with pytest.raises(ValueError, match=r"config\.toml is not the config.toml of a run"):
        read_plan(path)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("toy-sprite", "dbse"), "there is no data set or file 'toy-sprite'. Did you mean "),
        (("{data}", "dbsee"), "there is no method 'dbsee'. Did you mean 'dbse'?"),
    ],
)
def test_a_misspelt_name_is_told_the_right_one(words: tuple[str, str], sentence: str, data: str):
    with pytest.raises(KeyError) as error:
        make_plan(words[0].format(data=data), words[1])
    assert error.value.args[0].startswith(sentence)


def test_a_misspelt_preset_is_told_the_right_one(data: str):
    with pytest.raises(KeyError) as error:
        make_plan(data, "dbse", preset="sprite")
    assert error.value.args[0] == ("there is no preset 'sprite' for dbse. Did you mean 'sprites'?")


def test_a_misspelt_setting_is_told_the_right_one(data: str):
    with pytest.raises(KeyError) as error:
        make_plan(data, "cdsvae", preset="none", settings={"method": {"temprature": 1}})
    assert error.value.args[0] == (
        "--set: CDSVAEConfig has no setting 'temprature'. Did you mean 'temperature'?"
    )


def test_a_preset_is_blamed_for_its_own_mistakes(data: str, tmp_path: Path):
    preset = tmp_path / "mine.toml"
    preset.write_text("[method]\ntemprature = 1.0\n")
    with pytest.raises(KeyError) as error:
        make_plan(data, "cdsvae", preset=str(preset))
    assert error.value.args[0] == (
        f"{preset}: CDSVAEConfig has no setting 'temprature'. Did you mean 'temperature'?"
    )


def test_a_file_of_arrays_has_the_settings_of_its_reader(data: str):
    plan = make_plan(data, "dbse", settings={"data": {"split": {"seed": 5}}})
    assert plan.data.settings["split"]["seed"] == 5
    with pytest.raises(KeyError, match=r"Config has no setting 'windw'. Did you mean 'window'"):
        make_plan(data, "dbse", settings={"data": {"windw": 5}})


def test_arrays_in_memory_take_no_data_settings():
    with pytest.raises(KeyError, match="has no settings of its own, got train"):
        make_plan("arrays", "dbse", settings={"data": {"train": 5}}, kind="series")


def test_a_stand_in_takes_the_presets_of_what_it_stands_in_for():
    assert make_plan("librispeech", "cdsvae", preset="paper").preset == "timit"
    assert make_plan("omniglot", "spyl", preset="paper").preset == "letters"


@pytest.mark.parametrize(
    ("name", "kind"),
    [("toy-sprites", "video"), ("sprites", "video"), ("librispeech", "audio"), ("etth1", "series")],
)
def test_nothing_said_means_the_recipe_of_the_kind(name: str, kind: str):
    plan = make_plan(name)
    assert (plan.method, plan.preset) == (RECIPES[kind].method, f"recommended/{kind}")
    assert plan.training.patience > 0
    assert plan.training.schedule == "plateau"


def test_own_data_take_the_recipe_of_their_kind(data: str):
    assert make_plan(data).preset == "recommended/video"


# Sizes of their own, with the reason; all others have those of the recipe.
OWN_HIDDEN = {("diffsda", "audio"): 128}  # as measured on speech: a quarter of the paper's width
WITHOUT_HIDDEN = {"skd"}  # its recurrent nets have the size of the code
# Its loss does not say when to stop, and with equal rates its critics win, as measured on Sprites.
OWN_TRAINING = {"mocogan"}


@pytest.mark.parametrize("method", sorted({Path(file).stem for file in FILES} - {"placed"}))
@pytest.mark.parametrize("kind", RECIPES)
def test_another_method_takes_the_training_and_nets_of_the_recipe(method: str, kind: str):
    recipe, other = (make_plan("x", m, kind=kind) for m in (RECIPES[kind].method, method))
    assert other.preset == f"recommended/{kind}"
    assert (other.training == recipe.training) is (method not in OWN_TRAINING)
    assert other.training.batch_size == recipe.training.batch_size
    net, recipe_net = (plan.method_config.net for plan in (other, recipe))
    if method not in WITHOUT_HIDDEN:
        assert net.hidden == OWN_HIDDEN.get((method, kind), recipe_net.hidden)
    assert kind != "video" or net.channels == recipe_net.channels


def test_the_papers_values_have_a_name():
    assert make_plan("sprites", "cdsvae", preset="paper").preset == "sprites"
    assert make_plan("sprites", "cdsvae", preset="authors").preset == "sprites/authors"
    assert make_plan("toy-voices", "dbse", preset="paper").preset == "audio"
    with pytest.raises(KeyError, match=r"no values of the authors' code for dbse on etth1, only "):
        make_plan("etth1", "dbse", preset="authors")


def test_a_misspelt_section_is_told_the_right_one(data: str):
    with pytest.raises(KeyError) as error:
        make_plan(data, "dbse", settings={"trainning": {"lr": 1.0}})
    assert error.value.args[0] == "--set: there is no section 'trainning'. Did you mean 'training'?"


def test_a_file_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(ValueError, match=r"there is no file or folder .*none\.npz"):
        make_plan(str(tmp_path / "none.npz"), "dbse")


@pytest.mark.parametrize("data", ["toy-series", "file", "memory"])
def test_where_data_come_from_is_resolved_once_and_kept(data: str, tmp_path: Path):
    x = np.zeros((10, 4, 3), np.float32)
    np.savez(tmp_path / "mine.npz", x=x)
    given = {"file": str(tmp_path / "mine.npz"), "memory": unbraid.from_arrays(x, name="mine")}
    plan = make_plan(given.get(data, data), "dbse")
    readers = {"toy-series": "catalogue", "file": "arrays", "memory": "memory"}
    assert plan.data.reader == readers[data]
    (tmp_path / "config.toml").write_text(plan.as_toml())
    (tmp_path / "mine.npz").unlink()  # the reader is known without the file
    assert read_plan(tmp_path / "config.toml").data == plan.data


def test_older_runs_that_do_not_name_their_reader_are_read(data: str, tmp_path: Path):
    plan = make_plan(data, "dbse")
    (tmp_path / "config.toml").write_text(plan.as_toml().replace('reader = "arrays"\n', ""))
    assert read_plan(tmp_path / "config.toml") == plan
