"""Every point of the studio as a person does it, in a real browser."""

import shutil
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.slow
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("no Chromium: install Debian's package chromium", allow_module_level=True)
playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")

NAME = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        made = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture(scope="module")
def server(runs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A studio on a free port of this machine, in a thread."""
    import uvicorn

    from unbraid.studio.app import make_app
    from unbraid.studio.guard import new_access
    from unbraid.studio.workspace import Places, make_workspace

    folder = tmp_path_factory.mktemp("files")
    x = np.random.default_rng(0).normal(size=(20, 12, 3)).astype(np.float32)
    np.savez(folder / "mine.npz", x=x, machine=np.array([NAME, "b"] * 10))
    places = Places(runs=tmp_path_factory.mktemp("new"), folders=(folder,))
    targets = [*runs.values(), folder / "mine.npz"]
    workspace = make_workspace([str(path) for path in targets], places)
    opened = socket.create_server(("127.0.0.1", 0))
    access = new_access("127.0.0.1", opened.getsockname()[1])
    config = uvicorn.Config(make_app(workspace, access), log_level="error")
    made = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: made.run(sockets=[opened]), daemon=True)
    thread.start()
    yield access.address
    made.should_exit = True
    thread.join(10)


@pytest.fixture
def page(browser: Any, server: str) -> Iterator[Any]:
    """The page, opened; an error in its console fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    made = context.new_page()
    made.set_default_timeout(60_000)
    errors: list[str] = []
    made.on("pageerror", lambda error: errors.append(str(error)))
    made.on("dialog", lambda dialog: errors.append(f"dialog {dialog.message}"))
    made.goto(server)
    made.wait_for_selector("[data-view=look]")
    yield made
    context.close()
    assert errors == []


def _open(page: Any, key: str) -> None:
    page.select_option("#tools select", key)
    page.wait_for_selector("[data-view] .card .screen:not(.waiting)")


def _settled(page: Any) -> None:
    """Wait until no picture is being loaded."""
    end = time.monotonic() + 60
    while page.locator(".screen.waiting, [aria-busy=true]").count():
        assert time.monotonic() < end, "pictures are still being loaded"
        time.sleep(0.05)
    assert page.locator(".failure:not(:empty)").count() == 0


def test_look_filters_the_gallery_and_opens_a_sequence_from_the_map(page):
    page.select_option("label:has-text('skin') select", "green")
    page.wait_for_selector("text=/\\d+ of 30 sequences/")
    assert page.locator(".card").count() < 30
    _settled(page)
    page.locator(".map").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open] h2")
    page.keyboard.press("Escape")
    assert page.locator("dialog").count() == 0


@pytest.mark.parametrize("key", ["toy-sprites-dsvae-0", "toy-voices-dsvae-0", "toy-series-dsvae-0"])
def test_swap_works_for_every_kind_by_keyboard(page, key):
    _open(page, key)
    cards = page.locator(".card")
    cards.nth(2).focus()
    page.keyboard.press("s")
    cards.nth(1).focus()
    page.keyboard.press("d")
    page.locator("nav >> text=Swap").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-made=result]")
    _settled(page)
    label = page.locator("[data-made=result] [role=img], [data-made=result] img").first
    words = label.get_attribute("aria-label") or label.get_attribute("alt")
    assert "static code of" in words


def test_a_sequence_dragged_onto_another_is_swapped(page):
    _settled(page)
    page.locator("[data-id=t2]").drag_to(page.locator("[data-id=t0]"))
    page.wait_for_selector("[data-made=result]")
    _settled(page)
    pair = page.evaluate("sessionStorage.getItem('unbraid-pair-toy-sprites-dsvae-0')")
    assert pair == '{"s":"t0","d":"t2"}'


def test_grid_draws_directions_and_interpolation_decode(page):
    page.goto(page.url.split("#")[0] + "#swap")
    page.wait_for_selector("[data-made=result]")
    for mode in ("Cross grid", "New draws", "In between", "Directions"):
        page.click(f".segment >> text={mode}")
        _settled(page)
    page.wait_for_selector("[data-direction=p0]")
    with page.expect_response(lambda answer: "moves=p0" in answer.url) as answer:
        page.locator("[data-direction=p0]").fill("2.5")
    assert answer.value.status == 200


def test_leak_shows_a_verdict_and_the_sequences_of_a_cell(page):
    page.click("nav >> text=Leak")
    assert "s and d are" in page.locator(".verdict").inner_text()
    page.locator(".heat button").nth(1).click()
    page.wait_for_selector("text=/leaks most into d/")
    _settled(page)


def test_compare_swaps_the_same_pair_in_two_runs(page):
    page.click("nav >> text=Compare")
    page.wait_for_selector("[data-run]")
    _settled(page)
    assert page.locator("[data-run]").count() == 2
    assert "dsvae" in page.locator("table").inner_text()


def test_own_input_is_taken_and_what_does_not_fit_is_refused(page, tmp_path):
    _settled(page)
    file = tmp_path / f"{NAME.replace('/', '')}.npz"
    np.savez(file, x=np.zeros((1, 8, 3, 64, 64), np.uint8))
    page.set_input_files("input[type=file]", file)
    page.wait_for_selector("[data-id=u0]")
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("a,b\n1,2\n")
    page.set_input_files("input[type=file]", wrong)
    page.wait_for_selector(".toast.bad >> text=about video")
    assert page.locator("img[src=x]").count() == 0


def test_labels_that_are_markup_are_shown_as_text(page):
    page.select_option("#tools select", label=page.locator("#tools option").last.inner_text())
    page.wait_for_selector("text=No model yet")
    _settled(page)
    assert NAME in page.locator("option").all_inner_texts()
    assert page.locator("img[src=x]").count() == 0


def test_a_swap_is_saved_as_a_file(page):
    page.click("nav >> text=Swap")
    with page.expect_download() as download:
        page.locator("[data-made=result] >> text=Save GIF").click()
    assert Path(download.value.path()).read_bytes()[:4] == b"GIF8"


def test_train_checks_own_data_starts_stops_and_survives_a_reload(page):
    page.click("nav >> text=Train")
    page.click("text=Your files")
    page.locator(".choices button").first.click()
    page.click(".choices button:has-text('mine.npz')")
    page.wait_for_selector("text=Ready to train", timeout=120_000)
    page.locator("summary").click()
    page.fill("textarea", "training.log_every=1\nmethod.static_dim=4\nmethod.dynamic_dim=4")
    page.locator("textarea").blur()
    page.wait_for_selector("text=Ready to train", timeout=120_000)
    page.click("text=Start training")
    page.wait_for_selector(".state.running", timeout=120_000)
    page.reload()
    page.wait_for_selector("[data-job] figure svg", timeout=120_000)
    page.click("[data-job] >> text=Stop")
    page.wait_for_selector(".state.stopped, .state.finished", timeout=120_000)


@pytest.mark.parametrize("width", [390, 3840])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_view_is_wider_than_the_screen(browser, server, width, theme):
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=theme, reduced_motion="reduce"
    )
    page = context.new_page()
    page.goto(server)
    page.wait_for_selector("[data-view=look]", timeout=60_000)
    for view in ("look", "swap", "leak", "compare", "train"):
        page.evaluate(f"location.hash = '{view}'")
        page.wait_for_selector(f"[data-view={view}]")
        time.sleep(0.5)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, view
        assert (
            page.evaluate(
                "document.querySelectorAll('canvas:not([aria-label]), img:not([alt])').length"
            )
            == 0
        )
    context.close()


def test_an_exported_page_opens_from_disk(browser, runs, tmp_path):
    from unbraid.studio.page.write import export_page

    export_page(str(runs["video"]), tmp_path, say=lambda text: None)
    context = browser.new_context(offline=True)
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((tmp_path / "index.html").as_uri())
    page.wait_for_selector("[data-view=look] .card .screen:not(.waiting) canvas")
    page.click("nav >> text=Swap")
    page.click("text=Cross grid")
    page.wait_for_selector(".cross canvas")
    page.click("nav >> text=Leak")
    assert "s and d are" in page.locator(".verdict").inner_text()
    context.close()
    assert errors == []
