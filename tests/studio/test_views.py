from dataclasses import replace

import numpy as np
import pytest

import unbraid
from unbraid.records import Factor
from unbraid.studio.model.directions import _linked, correlation_ratio, label_directions
from unbraid.studio.workspace import Places, make_workspace


def test_a_run_tells_its_sequences_with_their_labels(client, keys):
    facts = client.get(f"/api/runs/{keys['video']}").json()
    assert facts["kind"] == "video" and facts["trained"]
    assert len(facts["items"]) == 30
    assert set(facts["items"][0]["labels"]) == {factor["name"] for factor in facts["factors"]}


@pytest.mark.parametrize("way", ["pca", "tsne"])
def test_a_map_has_a_place_for_every_sequence(client, keys, way):
    answer = client.get(f"/api/runs/{keys['video']}/map?code=d&way={way}").json()
    points = np.array(answer["points"])
    assert points.shape == (30, 2)
    assert points.min() >= 0 and points.max() <= 1


def test_the_leak_matrix_names_the_strongest_probe_and_chance(client, keys):
    matrix = client.get(f"/api/runs/{keys['video']}/leak").json()
    rows = matrix["separation"]["factors"]
    assert {row["factor"] for row in rows} >= {"skin", "motion"}
    assert all(row["s_by"] in ("svc", "knn", "forest") and 0 < row["chance"] < 1 for row in rows)
    assert matrix["verdict"].startswith("s and d are")


def test_a_cell_of_the_leak_matrix_lists_sequences_best_first(client, keys):
    query = "factor=skin&code=d&classifier=knn"
    cell = client.get(f"/api/runs/{keys['video']}/leak/cell?{query}").json()
    confidences = [row["confidence"] for row in cell["sequences"]]
    assert confidences == sorted(confidences, reverse=True) and len(confidences) > 5


def test_a_cell_that_is_not_there_is_not_found(client, keys):
    query = "factor=<script>&code=d&classifier=knn"
    assert client.get(f"/api/runs/{keys['video']}/leak/cell?{query}").status_code == 404


def test_a_comparison_has_settings_and_curves(client, keys):
    facts = client.get(f"/api/runs/{keys['again']}/facts").json()
    assert facts["seed"] == 1 and facts["steps"] == 2
    assert len(facts["curves"]["log"]["loss"]) == 2


def test_a_run_whose_data_are_gone_still_opens(runs, tmp_path):
    import shutil

    copied = tmp_path / "runs" / "gone" / "dsvae" / "0"
    shutil.copytree(runs["video"], copied)
    text = (copied / "config.toml").read_text()
    (copied / "config.toml").write_text(text.replace("toy-sprites", "/nowhere/x.npz"))
    workspace = make_workspace([str(copied)], Places())
    import asyncio

    subject = asyncio.run(workspace.subject(next(iter(workspace.entries))))
    workspace.work.close()
    assert subject.method is not None and subject.split is None
    assert "cannot be shown" in subject.problem


def test_a_word_that_is_neither_run_nor_data_is_refused():
    with pytest.raises(KeyError, match="toy-spites"):
        make_workspace(["toy-spites"], Places())


def test_the_direction_of_a_class_leads_to_the_class():
    corpus = unbraid.load_data("toy-sprites", {"train": 8, "validation": 4, "test": 120})
    labels = corpus.test.label("skin")
    noise = np.random.default_rng(0).normal(size=(120, 5))
    s = noise + 3 * np.eye(5)[labels]
    factor = next(one for one in corpus.spec.static if one.name == "skin")
    directions = label_directions(s, corpus.test, factor)
    assert [one.value for one in directions] == list(factor.values)
    for number, one in enumerate(directions):
        assert np.argmax(one.vector) == number
        assert one.share > 0.8


def test_a_label_per_step_has_no_direction():
    corpus = unbraid.load_data("toy-sprites", {"train": 8, "validation": 4, "test": 8})
    factor = Factor(name="motion", classes=3, per_step=True)
    assert label_directions(np.zeros((8, 2)), corpus.test, factor) == []


def test_the_correlation_ratio_is_that_of_an_analysis_of_variance():
    rng = np.random.default_rng(0)
    values, classes = rng.normal(size=60), rng.integers(0, 3, 60)
    within = sum(
        ((values[classes == c] - values[classes == c].mean()) ** 2).sum() for c in range(3)
    )
    total = ((values - values.mean()) ** 2).sum()
    assert correlation_ratio(values, classes) == pytest.approx(1 - within / total)


def test_unknown_labels_are_no_class_that_a_coordinate_goes_with():
    corpus = unbraid.load_data("toy-sprites", {"train": 8, "validation": 4, "test": 120})
    test = corpus.test
    unknown = np.arange(120) % 2 == 0
    labels = {name: values.copy() for name, values in test.labels.items()}
    labels["skin"][test.rows[unknown]] = -1
    labels["hair"][test.rows] = -1
    hidden = replace(test, labels=labels)
    along = np.where(unknown, 5.0, 0.0) + np.random.default_rng(0).normal(size=120)
    name, share = _linked(along, hidden)
    assert name != "hair"
    assert share < 0.3
