"""Sphinx: `make docs` builds the site into docs/_build, warnings are errors."""

import re

import unbraid

project = "unbraid"
author = "The unbraid developers"
project_copyright = author
release = version = unbraid.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
]
html_theme = "furo"
html_title = "unbraid"
exclude_patterns = ["_build", "**/GALLERY_HEADER.rst"]
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # shapes stand in the signature
napoleon_google_docstring = True
add_module_names = False
linkcheck_timeout = 10
# Pages that need a log-in or refuse robots.
linkcheck_ignore = [r"https://doi\.org/.*", r"http://127\.0\.0\.1.*"]
suppress_warnings = ["config.cache"]
sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "download_all_examples": False,
    "min_reported_time": 3600,
    "show_memory": False,
    "abort_on_example_error": True,
}


UPWARDS = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+)([\w./-]+)(?:#[\w-]*)?\)")


def _outside(app: object, docname: str, source: list[str]) -> None:
    """Name files above docs/, which are no pages of the site, instead of linking to them."""

    def name(link: re.Match[str]) -> str:
        inside = link[2].count("../") <= docname.count("/")
        return link[0] if inside else f"{link[1]} (`{link[3]}` in the repository)"

    source[0] = UPWARDS.sub(name, source[0])


def setup(app: object) -> None:
    """Hook into Sphinx."""
    app.connect("source-read", _outside)  # type: ignore[attr-defined]
