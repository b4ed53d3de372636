"""One self-contained page per run: no network, no script, opens from disk."""

import base64
import io
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from string import Template

from unbraid.files import write_text
from unbraid.report.parts import Facts, Page, Picture, Table

HERE = Path(__file__).parent
NUMBER = re.compile(r"[+−-]?\d[\d,.]*(e[+-]?\d+)?( ?%)?( ?± ?[\d.]+( ?%)?)?")
BLANK = ("", "-", "–", "—", "nan")
WIDE = 560  # pixels; a picture wider than this gets a row of its own


def write_report(run_path: Path, page: Page) -> Path:
    """Write `report.html` into a run folder and return its path."""
    text = render(page)
    path = run_path / "report.html"
    write_text(path, text)
    return path


def render(page: Page) -> str:
    """Return a page as HTML; everything in it that is not ours is escaped."""
    sections = [
        _section("At a glance", _pictures(page.glance)),
        _section("What was trained", _facts(page.facts)),
        _section("Measurements", "\n".join(_table(table) for table in page.tables)),
        _section("Pictures", _pictures(page.pictures)),
        _section("Settings", _config(page.config_text)),
        _section("Where this comes from", _origin(page)),
    ]
    return Template((HERE / "page.html").read_text(encoding="utf-8")).substitute(
        style=(HERE / "style.css").read_text(encoding="utf-8"),
        title=escape(page.title),
        verdict=_paragraphs(page.verdict),
        sections="\n".join(section for section in sections if section),
    )


def _section(title: str, body: str) -> str:
    """Return a section with its heading, or nothing if it is empty."""
    if not body:
        return ""
    name = title.lower().replace(" ", "-")
    head = f'<section aria-labelledby="{name}">\n<h2 id="{name}">{title}</h2>'
    return f"{head}\n{body}\n</section>"


def _paragraphs(text: str) -> str:
    parts = [part.strip() for part in text.split("\n\n") if part.strip()]
    return "\n".join(f"<p>{escape(part)}</p>" for part in parts)


def _facts(facts: Facts) -> str:
    if not facts:
        return ""
    items = [f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts]
    return '<dl class="facts">\n' + "\n".join(items) + "\n</dl>"


def _table(table: Table) -> str:
    kinds = [_kind(name, [row[i] for row in table.rows]) for i, name in enumerate(table.columns)]
    head = "".join(
        f'<th scope="col"{kind}>{escape(name)}</th>'
        for name, kind in zip(table.columns, kinds, strict=True)
    )
    body = "\n".join(_row(row, kinds) for row in table.rows)
    note = f'\n<p class="note">{escape(table.note)}</p>' if table.note else ""
    return (
        f"<h3>{escape(table.title)}</h3>\n{_box(table.title, 'sheet')}\n<table>\n"
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n</div>{note}"
    )


def _row(row: Sequence[str], kinds: Sequence[str]) -> str:
    first = f'<th scope="row"{kinds[0]}>{escape(row[0])}</th>' if row else ""
    cells = zip(row[1:], kinds[1:], strict=True)
    return f"<tr>{first}{''.join(f'<td{kind}>{escape(cell)}</td>' for cell, kind in cells)}</tr>"


def _kind(name: str, cells: Sequence[str]) -> str:
    """Return the class of a column, as it stands in a tag."""
    if name.lower() == "note":
        return ' class="note"'
    filled = [cell for cell in cells if cell not in BLANK]
    numbers = bool(filled) and all(NUMBER.fullmatch(cell) for cell in filled)
    return ' class="number"' if numbers else ""


def _box(title: str, name: str) -> str:
    """Open a box that scrolls by itself, with the keyboard too, so that the page need not."""
    return f'<div class="{name}" role="region" tabindex="0" aria-label="{escape(title)}">'


def _pictures(pictures: Sequence[Picture]) -> str:
    if not pictures:
        return ""
    return '<div class="pictures">\n' + "\n".join(map(_picture, pictures)) + "\n</div>"


def _picture(picture: Picture) -> str:
    from PIL import Image

    with Image.open(io.BytesIO(picture.data)) as image:
        width, height = image.size
        still = io.BytesIO()
        if getattr(image, "is_animated", False):
            image.convert("RGB").save(still, format="PNG")
    source = ""
    if still.getvalue():  # for those who asked their system for less motion
        uri = _uri("image/png", still.getvalue())
        source = f'<source media="(prefers-reduced-motion: reduce)" srcset="{uri}">'
    kind = "wide" if width > WIDE else "small"
    box = _box(picture.title, "plate") if kind == "wide" else '<div class="plate">'
    return (
        f'<figure class="{kind}">\n<h3>{escape(picture.title)}</h3>\n'
        f"{box}<picture>{source}"
        f'<img src="{_uri(picture.mime, picture.data)}" width="{width}" height="{height}" '
        f'alt="{escape(picture.alt)}"></picture></div>\n'
        f"<figcaption>{escape(picture.caption)}</figcaption>\n</figure>"
    )


def _uri(mime: str, data: bytes) -> str:
    return f"data:{mime};base64,{base64.b64encode(data).decode('ascii')}"


def _config(text: str) -> str:
    if not text.strip():
        return ""
    code = f"{_box('Settings', 'code')}<pre><code>{escape(text.strip())}</code></pre></div>"
    return f"<details>\n<summary>All settings of the run, config.toml</summary>\n{code}\n</details>"


def _origin(page: Page) -> str:
    code = ""
    if page.command:
        box = _box("Command", "code")
        code = (
            f"<p>To make it again:</p>\n{box}<pre><code>{escape(page.command)}</code></pre></div>"
        )
    return "\n".join(part for part in (_facts(page.provenance), code) if part)
