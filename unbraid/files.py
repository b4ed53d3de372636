"""Files are either whole or not there: written aside, then renamed."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any


def write_whole(path: Path, write: Callable[[Path], Any]) -> None:
    """Let `write` fill a file beside `path`, then put it in place in one move.

    Args:
        path: where the file shall be; its folder is made.
        write: writes the file at the path it is given.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # The suffix stays last: some writers choose their format by it.
    aside = path.with_name(f".{os.getpid()}.{path.name}")
    try:
        write(aside)
        aside.chmod(0o666 & ~_umask())  # some writers leave files to their owner alone
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def _umask() -> int:
    """Return the process's mask for new files; it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
