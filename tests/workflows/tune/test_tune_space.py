"""The grammar of search spaces: what it means, and what is said of a mistake in it."""

from pathlib import Path

import pytest

from tests.conformance.toys import CASES
from unbraid.workflows.tune.search import Search, make_search
from unbraid.workflows.tune.space import SearchRange, as_settings, read_space

KINDS = {"video": "toy-sprites", "audio": "toy-voices", "series": "toy-series"}


def search_with(text: str, folder: Path, **rest) -> Search:
    path = folder / "mine.toml"
    path.write_text(text)
    return make_search("toy-series", "dbse", space=str(path), **rest)


@pytest.mark.parametrize(("method", "kind"), CASES)
def test_every_method_has_a_space_for_every_kind_of_data(method: str, kind: str):
    space = make_search(KINDS[kind], method).space
    assert "training.lr" in space
    assert any(name.startswith("method.w_") for name in space)


def test_spaces_are_those_the_papers_print():
    spyl = read_space("spyl", "video")  # appendix A.4
    assert spyl["method.w_kl_static"] == {"choices": [1, 3, 5, 7, 9]}
    assert spyl["method.w_nce"] == {"choices": [0.1, 0.5, 1, 2.5, 5]}
    assert "method.w_kl_dynamic" not in spyl  # lambda_3 is fixed
    cdsvae = read_space("cdsvae", "video")  # section 4.3
    assert cdsvae["method.w_kl_static"] == {"choices": [0.6, 0.9, 1, 2]}
    assert cdsvae["training.lr"] == {"choices": [5e-4, 1e-3, 1.5e-3, 2e-3]}
    dbse = read_space("dbse", "series")  # appendix A.3
    assert dbse["method.static_dim"] == {"choices": [8, 16, 32]}
    assert (dbse["method.w_static"]["low"], dbse["method.w_static"]["high"]) == (0, 1)
    assert read_space("dbse", "audio")["method.static_dim"] == {"choices": [64, 128, 256]}


def test_a_kind_of_data_overrules_what_holds_for_all(tmp_path: Path):
    search = search_with(
        '"method.static_dim" = {choices = [4]}\n'
        "[all.method]\nstatic_dim = {choices = [8]}\ndynamic_dim = {choices = [2]}\n"
        "[series.method]\nstatic_dim = {choices = [16]}\n[video.method]\nanchor = {choices=['x']}",
        tmp_path,
    )
    assert search.space["method.static_dim"].choices == (16,)
    assert set(search.space) == {"method.static_dim", "method.dynamic_dim"}


def test_the_setting_decides_whether_a_number_is_whole(tmp_path: Path):
    space = search_with(
        "[method]\nstatic_dim = {low = 4, high = 8}\nw_static = {low = 0, high = 1}", tmp_path
    ).space
    assert space["method.static_dim"].whole
    assert not space["method.w_static"].whole


def test_a_tied_setting_follows_what_is_drawn_and_what_is_pinned(tmp_path: Path):
    text = "[method]\nw_kl_static = {low = 0.1, high = 1}\nw_static = {low = 0.1, high = 1}\n"
    text += 'w_kl_dynamic = {same = "method.w_kl_static"}'
    drawn = search_with(text, tmp_path).drawn({"method.w_kl_static": 0.3, "method.w_static": 0.4})
    assert drawn["method"]["w_kl_dynamic"] == 0.3
    pins = {"method": {"w_kl_static": 0.7}}
    drawn = search_with(text, tmp_path, settings=pins).drawn({"method.w_static": 0.4})
    assert drawn["method"] == {"w_static": 0.4, "w_kl_dynamic": 0.7}


def test_lists_can_be_chosen_from():
    space = {"method.net.series_layers": SearchRange(choices=([8, 8], [16, 16]))}
    layers = space["method.net.series_layers"].word([16, 16])
    assert isinstance(layers, str)
    assert as_settings(space, {"method.net.series_layers": layers}, {}) == {
        "method": {"net": {"series_layers": [16, 16]}}
    }


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[method]\nw_statc = {low=0, high=1}", "no setting 'w_statc'. Did you mean 'w_static'?"),
        ("w_static = {low=0, high=1}", "Did you mean 'method.w_static'?"),
        ("[serie.method]\nw_static = {low=0, high=1}", "there is no setting 'serie.method"),
        ("[method]\nw_static = {lo=0, high=1}", "no word 'lo'. Did you mean 'low'?"),
        ("[method]\nw_static = {low=0}", "wants choices, or low and high, or same; got low"),
        ("[method]\nw_static = {low=1, high=0}", "low must be below high, got 1 and 0"),
        ("[method]\nw_static = {low=0, high=1, log=true}", "log wants low above zero"),
        ("[method]\nw_static = {low='a', high=1}", "must be numbers, got ['a', 1]"),
        ("[method]\nw_static = {choices = []}", "choices must be a list, got []"),
        ("[method]\nw_static = 0.5", "A fixed value goes to --set method.w_static"),
        ("[method]\nstatic_dim = {low=0, high=8}", "static_dim must be at least 1, got 0"),
        ("[method]\nanchor = {choices=['frist']}", "Did you mean 'first'?"),
        ("[data]\nseed = {choices=[1]}", "compares settings on the same data"),
        ("[method]\nw_static = {same='method.w_kl'}", "there is no setting 'method.w_kl'"),
        ("", "nothing is left to search"),
        ("[method", "is not valid TOML"),
    ],
)
def test_a_mistake_in_a_space_is_told_in_words(tmp_path: Path, text: str, sentence: str):
    with pytest.raises((ValueError, KeyError)) as caught:
        search_with(text, tmp_path)
    assert sentence in str(caught.value.args[0])
    assert "mine.toml" in str(caught.value.args[0])
