"""The documentation site builds without a warning, gallery included."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))


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
