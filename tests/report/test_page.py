import base64
import io
import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from PIL import Image

import unbraid.report
from unbraid.report.page import render, write_report
from unbraid.report.parts import Page, Picture, Table
from unbraid.report.provenance import provenance

VOID = {"meta", "img", "source", "br", "link", "input", "hr"}
STYLE = (Path(unbraid.report.__file__).parent / "style.css").read_text()


def _png(width: int = 8) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (width, 4), "red").save(buffer, format="PNG")
    return buffer.getvalue()


def _gif() -> bytes:
    buffer = io.BytesIO()
    frames = [Image.new("RGB", (8, 4), colour) for colour in ("red", "blue")]
    frames[0].save(buffer, format="GIF", save_all=True, append_images=frames[1:], duration=100)
    return buffer.getvalue()


PAGE = Page(
    title="DBSE on toy-sprites",
    verdict="s tells identity.\n\nd tells motion & little else.",
    facts=[("method", "dbse"), ("size", "s 64, d < 32")],
    tables=[
        Table("Probes", ["code", "accuracy", "note"], [["s", "97.0 ± 1.0", "fine"]], "In %."),
        Table("Judge", ["keep", "IS"], [["s", "8.1"], ["d", "–"]]),
    ],
    pictures=[
        Picture("Swap", "Rows.", "image/png", _png(1200), "four rows of frames"),
        Picture("Motion", "Played.", "image/gif", _gif(), 'a "moving" figure'),
    ],
    config_text='method = "dbse"\n',
    provenance=[("seed", "0")],
    command="unbraid report runs/a",
)


class _Reader(HTMLParser):
    """Collects tags and text, and fails on a tag that does not close the one last opened."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[tuple[str, str]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.words.append((self.open[-1] if self.open else "", data.strip()))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]

    def text(self, tag: str) -> list[str]:
        return [words for name, words in self.words if name == tag]


def test_the_page_is_written_whole_into_the_run_folder(tmp_path):
    path = write_report(tmp_path / "run", PAGE)
    assert path == tmp_path / "run" / "report.html"
    assert path.read_text(encoding="utf-8") == render(PAGE)
    assert [p.name for p in path.parent.iterdir()] == ["report.html"]


def test_every_tag_is_closed_and_the_page_says_its_language():
    page = _Reader(render(PAGE))
    assert page.all("html") == [{"lang": "en"}]
    assert page.text("title") == ["DBSE on toy-sprites"]


def test_the_page_asks_the_network_for_nothing():
    text = render(PAGE)
    assert not re.search(r"https?:|//[a-z]|url\(|@import|<script|<link", text)
    assert "default-src 'none'" in text
    page = _Reader(text)
    used = [value for _, attrs in page.tags for key, value in attrs.items() if key in _LOADING]
    assert len(used) == 3  # two pictures and a still
    assert all(value.startswith("data:image/") for value in used)


_LOADING = ("src", "href", "srcset", "action", "data", "poster")


def test_every_picture_is_embedded_whole_with_its_size_and_alt_text():
    images = _Reader(render(PAGE)).all("img")
    for image, picture in zip(images, PAGE.pictures, strict=True):
        head, data = image["src"].split(",")
        assert head == f"data:{picture.mime};base64"
        assert base64.b64decode(data) == picture.data
        assert image["alt"] == picture.alt
    assert (images[0]["width"], images[0]["height"]) == ("1200", "4")


def test_an_animation_has_a_still_for_those_who_want_less_motion():
    (source,) = _Reader(render(PAGE)).all("source")
    assert source["media"] == "(prefers-reduced-motion: reduce)"
    still = Image.open(io.BytesIO(base64.b64decode(source["srcset"].split(",")[1])))
    assert (still.format, still.getpixel((0, 0))) == ("PNG", (255, 0, 0))


def test_names_from_outside_are_escaped_everywhere():
    evil = '"><script>alert(1)</script>'
    page = Page(
        title=evil,
        verdict=evil,
        facts=[(evil, evil)],
        tables=[Table(evil, [evil, "note"], [[evil, evil]], evil)],
        pictures=[Picture(evil, evil, "image/png", _png(), evil)],
        config_text=evil,
        provenance=[(evil, evil)],
        command=evil,
    )
    text = render(page)
    assert "<script" not in text
    reader = _Reader(text)
    assert reader.all("script") == []
    assert reader.text("h1") == [evil]
    assert reader.all("img")[0]["alt"] == evil


def test_a_dollar_sign_in_a_name_is_only_a_dollar_sign():
    page = Page(title="$style", verdict="costs $title or ${verdict}")
    assert _Reader(render(page)).text("p")[-1] == "costs $title or ${verdict}"


def test_headings_go_down_one_level_at_a_time():
    tags = [tag for tag, _ in _Reader(render(PAGE)).tags]
    levels = [int(tag[1]) for tag in tags if re.fullmatch(r"h\d", tag)]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_everything_given_can_be_read_on_the_page():
    page = _Reader(render(PAGE))
    words = " ".join(text for _, text in page.words)
    wanted = [
        "d tells motion & little else.",
        "s 64, d < 32",
        "97.0 ± 1.0",
        "In %.",
        "fine",
        'method = "dbse"',
        "unbraid report runs/a",
        "Played.",
    ]
    assert [text for text in wanted if text not in words] == []
    assert len(page.all("details")) == 1


def test_empty_parts_leave_no_heading():
    assert _Reader(render(Page(title="a", verdict="b"))).text("h2") == []


def test_columns_of_numbers_are_set_right_and_notes_may_wrap():
    page = _Reader(render(PAGE))
    heads = [attrs.get("class") for attrs in page.all("th") if attrs.get("scope") == "col"]
    assert heads == [None, "number", "note", None, "number"]


@pytest.mark.parametrize("cell", ["1", "-0.5", "1,024", "97.0 ± 1.0", "12 %", "1e-05", "3.2±0.1 %"])
def test_these_are_numbers(cell):
    table = Table("t", ["name", "value"], [["a", cell], ["b", "–"]])
    assert '<td class="number">' in render(Page(title="", verdict="", tables=[table]))


@pytest.mark.parametrize("cell", ["3 of 4", "v1", "2024-11-15", "a"])
def test_these_are_words(cell):
    table = Table("t", ["name", "value"], [["a", cell]])
    assert '<td class="number">' not in render(Page(title="", verdict="", tables=[table]))


def test_rows_of_another_length_are_refused():
    with pytest.raises(ValueError, match="2 columns, but row 1 has 1 cells"):
        Table("t", ["a", "b"], [["1", "2"], ["3"]])


def test_pictures_without_alt_text_or_of_unknown_kind_are_refused():
    with pytest.raises(ValueError, match="needs an alt text"):
        Picture("t", "c", "image/png", _png(), " ")
    with pytest.raises(ValueError, match="must be one of"):
        Picture("t", "c", "image/svg+xml", b"<svg/>", "alt")


def _luminance(colour: str) -> float:
    """Relative luminance of WCAG 2.2."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_text_has_the_contrast_wcag_asks_for(scheme):
    schemes = re.findall(r"--(paper|card|ink|muted|accent): (#[0-9a-f]{6})", STYLE)
    colours = dict(schemes[5 * scheme : 5 * scheme + 5])
    assert len(colours) == 5
    for ground in ("paper", "card"):
        for text in ("ink", "muted", "accent"):
            low, high = sorted(_luminance(colours[name]) for name in (ground, text))
            assert (high + 0.05) / (low + 0.05) >= 4.5, (ground, text)


def test_provenance_names_seed_steps_minutes_and_versions(tmp_path):
    about = {
        "format": "unbraid-model-1",
        "unbraid": "0.0.1",
        "method": "dsvae",
        "config": {},
        "spec": {},
        "training": {"seed": 3, "steps": 200, "minutes": 1.5, "reason": "finished"},
    }
    (tmp_path / "model.json").write_text(json.dumps(about))
    facts = dict(provenance(tmp_path))
    assert (facts["seed"], facts["steps"], facts["minutes"]) == ("3", "200", "1.5")
    assert facts["trained with"] == "unbraid 0.0.1"
    assert "torch 2" in facts["versions"]
