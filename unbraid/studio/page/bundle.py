"""The page's style sheets and modules inside one HTML file, which browsers open from disk.

Browsers load no module from disk, but an import map may say that a module is what stands in a
`data:` address. The modules stay as they are, apart from the names by which they import each other.
"""

import json
import posixpath
import re
from base64 import b64encode
from pathlib import Path
from typing import Any

STATIC = Path(__file__).parents[1] / "static"
SCRIPTS = STATIC / "js"
_IMPORT = re.compile(r'(from\s+)"(\.{1,2}/[^"]+)"')


def data_address(body: bytes, kind: str) -> str:
    """Return an address that holds the contents of a file."""
    return f"data:{kind};base64,{b64encode(body).decode('ascii')}"


def module_map() -> dict[str, str]:
    """Return every module by its full name, with what stands in it."""
    modules = {}
    for path in sorted(SCRIPTS.rglob("*.js")):
        name = path.relative_to(SCRIPTS).as_posix()
        text = _IMPORT.sub(lambda match, name=name: _renamed(match, name), path.read_text("utf-8"))  # type: ignore[misc]
        modules[f"studio/{name}"] = data_address(text.encode(), "text/javascript")
    return modules


def _renamed(match: "re.Match[str]", name: str) -> str:
    target = posixpath.normpath(posixpath.join(posixpath.dirname(name), match[2]))
    return f'{match[1]}"studio/{target}"'


def as_script(value: Any) -> str:
    """Return JSON that no text in it can end the script element around it with."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def bundle(contents: Any) -> str:
    """Return the page as one HTML text.

    Args:
        contents: what the modules find as `UNBRAID_PAGE` instead of a server.
    """
    html = (STATIC / "index.html").read_text("utf-8")
    icon = data_address((STATIC / "icon.svg").read_bytes(), "image/svg+xml")
    html = html.replace("static/icon.svg", icon)
    sheets = "".join(path.read_text("utf-8") for path in sorted((STATIC / "css").glob("*.css")))
    html = re.sub(r'<link rel="stylesheet"[^>]*>\n', "", html)
    scripts = (
        f"<style>{sheets}</style>\n"
        f'<script type="importmap">{as_script({"imports": module_map()})}</script>\n'
        f"<script>globalThis.UNBRAID_PAGE = {as_script(contents)};</script>\n"
        '<script type="module">import "studio/main.js";</script>'
    )
    entry = '<script type="module" src="static/js/main.js"></script>'
    return html.replace(entry, scripts)
