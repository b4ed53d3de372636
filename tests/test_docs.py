"""The documentation site builds without a warning, gallery included."""

import ast
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance.toys import toy_batch, toy_method
from unbraid.methods import METHODS

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))
TEXTS = [*sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*.md"))]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
METHOD_PAGE = (ROOT / "docs" / "methods.md").read_text()
DESCRIBED = [name for name in METHODS if f"(`{name}`)" in METHOD_PAGE]


def _anchors(page: Path) -> set[str]:
    """The names that headings get, as GitHub and MyST make them."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize(
    "page", [p for p in TEXTS if "_build" not in p.parts], ids=lambda p: str(p.relative_to(ROOT))
)
def test_every_link_within_the_repository_leads_somewhere(page):
    for link in LINK.findall(page.read_text()):
        if re.match(r"\w+:", link) or link.startswith("gallery/"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name}: {link}"
        if anchor and target.suffix == ".md":
            assert anchor in _anchors(target), f"{page.name}: {link}"


# Rows that a loss has with other settings only.
OPTIONAL_TERMS = {
    "rwae": {"critic_static", "critic_dynamic"},
    "mocogan": {"category", "critic_category", "gradient_penalty"},
}


@pytest.mark.parametrize("name", DESCRIBED)
def test_the_files_of_a_method_page_hold_its_terms(name):
    section = METHOD_PAGE.split(f"(`{name}`)\n")[1].split("\n### ")[0]
    row = re.search(r"^\| files \| (.*) \|$", section, re.MULTILINE)
    assert row, f"docs/methods.md, {name}: no row files"
    files = re.findall(r"`([\w/.]+)`", row[1])
    terms = [term for group in re.findall(r"\(([^)]*)\)", row[1]) for term in group.split(", ")]
    source = ROOT / "unbraid" / files[0]
    imports = {
        node.module.removeprefix("unbraid.").replace(".", "/") + ".py"
        for node in ast.walk(ast.parse(source.read_text()))
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").startswith("unbraid.objectives.")
    }
    if "self.elbo(" in source.read_text():  # rows of the base class
        imports.add("objectives/elbo.py")
    assert set(files[1:]) == imports
    method = METHODS[name]
    kind = method.kinds[0]
    loss = toy_method(name, kind).loss(toy_batch(kind), 10_000)
    assert len(terms) == len(set(terms))
    assert set(terms) - OPTIONAL_TERMS.get(name, set()) == set(loss)


def test_every_method_of_a_paper_has_a_section():
    assert [name for name in METHODS if name not in DESCRIBED] == ["placed"]  # has its own section


def test_every_page_of_docs_is_in_a_table_of_contents():
    index = (ROOT / "docs" / "index.md").read_text().splitlines()
    missing = [page.stem for page in PAGES if page.stem not in ("index", *index)]
    assert not missing, missing


def test_every_guide_script_has_a_page():
    guides = {path.stem for path in (ROOT / "examples" / "guides").glob("*.py")}
    pages = {path.stem for path in (ROOT / "docs" / "guides").glob("*.md")} - {"index"}
    assert guides == pages


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path):
    pytest.importorskip("sphinx_gallery", reason="needs the extra docs")
    words = ["-m", "sphinx", "-E", "-q", "-W", "--keep-going", str(ROOT / "docs"), str(tmp_path)]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert (tmp_path / "gallery" / "plot_video.html").is_file()


def test_figures_of_pages_in_folders_are_shown_and_files_above_docs_are_named():
    outside = runpy.run_path(str(ROOT / "docs" / "conf.py"))["_outside"]
    source = ["![Gaps](../images/gaps.png) [data](../data.md#own) [all](../../RESULTS.md)"]
    outside(None, "results/letters", source)
    assert source == [
        "![Gaps](../images/gaps.png) [data](../data.md#own) all (`RESULTS.md` in the repository)"
    ]
    source = ["[all](../RESULTS.md)"]
    outside(None, "results", source)
    assert source == ["all (`RESULTS.md` in the repository)"]
