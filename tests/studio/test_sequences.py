import io
import json

import numpy as np
import pytest
from PIL import Image

from unbraid.studio.recipe import SequenceRecipe, parse_recipe

FORMS = {"video": ["png", "webp", "gif", "mp4"], "audio": ["png", "wav"], "series": ["json", "csv"]}


@pytest.mark.parametrize("kind", FORMS)
def test_a_swap_can_be_had_in_every_form_of_its_kind(client, keys, kind):
    for form in FORMS[kind]:
        answer = client.get(f"/api/runs/{keys[kind]}/sequence.{form}?s=t0&d=t1")
        assert answer.status_code == 200, answer.text
        assert len(answer.content) > 40


def test_the_strip_of_an_original_holds_its_frames(client, keys, runs):
    body = client.get(f"/api/runs/{keys['video']}/sequence.png?x=t3").content
    strip = np.asarray(Image.open(io.BytesIO(body)))
    from unbraid.runs.run import open_run

    x = open_run(runs["video"]).corpus().test.take([3]).x[0].numpy()
    for step, frame in enumerate(x):
        shown = strip[:, 64 * step : 64 * (step + 1)]
        assert np.abs(shown.transpose(2, 0, 1) / 255 - frame).max() < 0.01


def test_gaps_of_a_series_are_null_in_originals_only(client, keys):
    def channels(query):
        body = client.get(f"/api/runs/{keys['series']}/sequence.json?{query}").content
        return json.loads(body)["values"]

    assert any(None in channel for channel in channels("x=t0"))
    assert not any(None in channel for channel in channels("s=t0&d=t0"))


def test_a_draw_is_the_same_for_the_same_number(client, keys):
    def drawn(word):
        return client.get(f"/api/runs/{keys['video']}/sequence.png?s=t0&d={word}").content

    assert drawn("draw4") == drawn("draw4") != drawn("draw5")


def test_the_ends_of_an_interpolation_are_the_swap_and_the_reconstruction(client, keys):
    def made(query):
        return client.get(f"/api/runs/{keys['video']}/sequence.png?{query}").content

    assert made("s=t0&d=t0&to=t1&share=0") == made("s=t0&d=t0")
    assert made("s=t0&d=t0&to=t1&share=1") == made("s=t1&d=t0")


def test_a_slider_at_zero_changes_nothing_and_elsewhere_something(client, keys):
    def made(moves):
        query = f"s=t0&d=t0&moves={moves}"
        return client.get(f"/api/runs/{keys['video']}/sequence.png?{query}").content

    assert made("p0:0") == made("") != made("p0:4")


def test_directions_are_principal_ones_and_those_of_labels(client, keys):
    directions = client.get(f"/api/runs/{keys['video']}/directions").json()
    assert {one["kind"] for one in directions} == {"principal", "label"}
    assert {one["factor"] for one in directions if one["kind"] == "label"} <= {
        "skin",
        "style",
        "hair",
        "top",
        "trousers",
        "motion",
    }


@pytest.mark.parametrize(
    "query",
    ["", "s=t0", "s=t0&d=../t1", "x=t0;rm", "s=t0&d=t1&share=2&to=t1", "s=t0&d=t1&moves=p0:nan"],
)
def test_an_address_that_is_not_understood_is_refused_in_a_sentence(client, keys, query):
    answer = client.get(f"/api/runs/{keys['video']}/sequence.png?{query}")
    assert answer.status_code in (400, 404)
    assert answer.json()["error"].endswith(".")


def test_a_sequence_that_is_not_there_is_not_found(client, keys):
    answer = client.get(f"/api/runs/{keys['video']}/sequence.png?x=t999")
    assert answer.status_code == 404
    assert "t999" in answer.json()["error"]


def test_a_recipe_is_read_from_its_address():
    query = {"s": "t1", "d": "draw2", "moves": "p0:1.5,l3:-2"}
    assert parse_recipe(query) == SequenceRecipe(
        s="t1", d="draw2", moves=(("p0", 1.5), ("l3", -2.0))
    )


def test_a_download_has_a_name_of_letters_and_digits(client, keys):
    answer = client.get(f"/api/runs/{keys['series']}/sequence.csv?s=t0&d=t1&save=1")
    assert answer.headers["content-disposition"] == 'attachment; filename="s-t0-d-t1.csv"'
    assert answer.text.splitlines()[0].startswith("row,temperature")


def test_codes_come_as_parquet(client, keys):
    parquet = pytest.importorskip("pyarrow.parquet")
    body = client.get(f"/api/runs/{keys['video']}/codes/s.parquet").content
    table = parquet.read_table(io.BytesIO(body))
    assert table.num_rows == 30
    assert {"id", "motion", "s_0", "s_5"} <= set(table.column_names)
