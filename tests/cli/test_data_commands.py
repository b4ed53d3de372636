"""`unbraid data`: list, prepare, check, preview as a person meets them."""

import json

import numpy as np
import pytest

SMALL = ["--set", "data.train=120", "--set", "data.validation=4", "--set", "data.test=8"]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("UNBRAID_DATA", raising=False)


@pytest.fixture
def run_data(run_program):
    return lambda *words: run_program("data", *words)


def test_the_list_says_where_data_come_from_and_whether_they_are_here(run_data, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    lines = {line.split()[0]: line for line in run_data("list")[1].splitlines()}
    assert "embedded" in lines["toy-sprites"]
    assert "always" in lines["toy-sprites"]
    assert "apply to publisher" in lines["timit"]
    assert "stand-in for timit" in lines["librispeech"]
    assert " no " in lines["sprites"]


def test_the_list_for_scripts_names_folders(run_data, tmp_path, monkeypatch):
    (tmp_path / "files" / "sprites").mkdir(parents=True)
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path / "files"))
    facts = {fact["name"]: fact for fact in json.loads(run_data("list", "--json")[1])}
    assert facts["sprites"]["files"] == str(tmp_path / "files" / "sprites")
    assert facts["sprites"]["prepared"] == ""
    assert facts["omniglot"]["stand_in"]
    assert facts["mug"]["gated"] is True
    assert facts["toy-series"]["embedded"] is True


def test_a_prepared_set_is_listed_with_its_cache(run_data):
    from unbraid.data.cache import open_or_build

    def build(new):
        new("x", (1,), np.uint8)[:] = 1

    made = open_or_build("sprites", "a" * 64, build)
    facts = {fact["name"]: fact for fact in json.loads(run_data("list", "--json")[1])}
    assert facts["sprites"]["prepared"] == str(made.folder)
    (made.folder / "x.npy").write_bytes(b"torn")
    facts = {fact["name"]: fact for fact in json.loads(run_data("list", "--json")[1])}
    assert facts["sprites"]["prepared"] == ""


def test_sound_data_end_in_a_command_and_code_0(run_data):
    code, out, err = run_data("check", "toy-series", *SMALL)
    assert code == 0
    assert err == ""
    assert "ready to train: unbraid fit toy-series" in out


def test_unusable_data_end_in_a_numbered_problem_and_code_2(run_data, tmp_path):
    path = tmp_path / "odd.npz"
    pixels = np.random.default_rng(0).integers(0, 256, (30, 4, 3, 20, 20), np.uint8)
    np.savez(path, x=pixels)
    code, out, err = run_data("check", str(path))
    assert code == 2
    text = " ".join(out.split())
    assert "1. problem: no method can be trained on these data" in text
    assert "Resize to multiples of 16" in text
    assert "Traceback" not in err
    code, out, _ = run_data("check", str(path), "--json")
    assert code == 2
    assert json.loads(out)["ready"] is False


# NumPy itself leaves the file open when an archive is torn.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("content", [b"no archive", b"PK\x03\x04torn", b""])
def test_a_broken_file_is_a_finding_and_never_a_traceback(run_data, tmp_path, content):
    path = tmp_path / "mine.npz"
    path.write_bytes(content)
    code, out, err = run_data("check", str(path))
    assert code == 2
    assert "mine.npz" in out.replace("\n", "")
    assert "Traceback" not in out + err


def test_a_set_that_is_not_here_is_a_finding_with_the_way_to_get_it(run_data):
    code, out, _ = run_data("check", "sprites")
    assert code == 2
    assert "unbraid data prepare sprites --root DIR" in " ".join(out.split())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["check", "toy-series", "--set", "dta.train=3"], "there is no section 'dta' here"),
        (["check", "toy-series", "--set", "data=3"], "--set wants data.name=value"),
        (["preview", "toy-series", "--set", "method.net=3"], "there is no section 'method' here"),
        (["preview", "toy-serie"], "Did you mean 'toy-series'?"),
        (["preview", "toy-series", *SMALL, "--count", "0"], "count must be 1 or more"),
        (["preview", "toy-series", *SMALL, "--split", "dev"], "split must be train"),
        (["preview", "toy-series", *SMALL, "--out", "x.jpg"], "a folder or a .png file"),
        (["prepare", "sprites"], "--root DIR"),
        (["prepare", "sprites", "--download"], "Give --root DIR"),
        (["prepare", "sprites", "--root", "nowhere"], "root must be a folder"),
        (["prepare", "sprites", "--set", "data.tarin=3"], "Did you mean 'train'?"),
    ],
)
def test_a_mistake_ends_in_a_sentence_and_code_2(run_data, words, sentence):
    code, _, err = run_data(*words)
    assert code == 2
    assert sentence in err
    assert "Traceback" not in err


def test_preparing_says_source_licence_and_citation(run_data):
    code, out, _ = run_data("prepare", "sprites")
    assert code == 2
    assert "Licence: CC BY-SA 3.0" in out
    assert "Please cite: Y. Li and S. Mandt" in out


def test_an_embedded_set_needs_no_preparation(run_data):
    code, out, _ = run_data("prepare", "toy-series")
    assert code == 0
    assert "toy-series is embedded: nothing to prepare" in out


def test_a_preview_names_the_files_it_wrote(run_data, tmp_path):
    np.savez(tmp_path / "mine.npz", x=np.random.default_rng(0).random((20, 3, 1, 16, 16)))
    code, out, _ = run_data(
        "preview", str(tmp_path / "mine.npz"), "--out", str(tmp_path / "look"), "--count", "2"
    )
    assert code == 0
    for name in ("sequences.png", "sequences.gif", "sequences-labels.png"):
        assert (tmp_path / "look" / name).is_file()
        assert str(tmp_path / "look" / name) in out.replace("\n", "")
