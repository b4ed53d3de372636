"""Words from outside, made safe: for the screen, and as names of files and folders."""

import re
from pathlib import Path

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    r"""Return a text without what steers a terminal; such characters are written as escapes.

    >>> printable("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    return _CONTROL.sub(lambda match: repr(match[0])[1:-1], text)


def path_name(word: str) -> str:
    r"""Return a name or path of data as the name of one folder, whatever it holds.

    >>> path_name("videos/cats.npz"), path_name(r"a\b"), path_name("/")
    ('cats', 'a_b', 'data')
    """
    path = Path(word).expanduser()
    path = path.resolve() if path.name in ("", "..") else path
    return re.sub(r"[\x00-\x1f\x7f/\\:]", "_", path.stem).lstrip(".") or "data"


def check_path_name(name: str, what: str) -> None:
    """Raise `ValueError` unless a name can be that of a folder, and of no other folder.

    Args:
        name: of what a folder is named after.
        what: for the message, e.g. "row".
    """
    if not re.fullmatch(r"\w[\w.+ -]*", name) or ".." in name:
        raise ValueError(
            f"{what} names a folder, so it must be letters, digits and any of _ . + -, "
            f"got {name!r}."
        )
