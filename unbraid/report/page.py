"""One self-contained page per run: no network, no script, opens from disk."""

import base64
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unbraid.files import write_text
from unbraid.report.parts import Page, Picture, Table

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
    """Return a page as HTML, by the template `page.html`, which escapes all that is not ours."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined
    )
    environment.filters["column_kinds"] = column_kinds
    environment.filters["image_facts"] = image_facts
    style = (HERE / "style.css").read_text(encoding="utf-8")
    return environment.get_template("page.html").render(page=page, style=style)


def column_kinds(table: Table) -> list[str]:
    """Return the class of every column, as it stands in a tag: numbers are aligned right."""
    columns = [[row[i] for row in table.rows] for i in range(len(table.columns))]
    return [_kind(*column) for column in zip(table.columns, columns, strict=True)]


def _kind(name: str, cells: Sequence[str]) -> str:
    if name.lower() == "note":
        return ' class="note"'
    filled = [cell for cell in cells if cell not in BLANK]
    numbers = bool(filled) and all(NUMBER.fullmatch(cell) for cell in filled)
    return ' class="number"' if numbers else ""


def image_facts(picture: Picture) -> dict[str, Any]:
    """Return the size and data of a picture, and a still of it if it moves."""
    from PIL import Image

    with Image.open(io.BytesIO(picture.data)) as image:
        width, height = image.size
        still = io.BytesIO()
        if getattr(image, "is_animated", False):  # for those who asked their system for less motion
            image.convert("RGB").save(still, format="PNG")
    return {
        "width": width,
        "height": height,
        "wide": width > WIDE,
        "uri": _uri(picture.mime, picture.data),
        "still": _uri("image/png", still.getvalue()) if still.getvalue() else "",
    }


def _uri(mime: str, data: bytes) -> str:
    return f"data:{mime};base64,{base64.b64encode(data).decode('ascii')}"
