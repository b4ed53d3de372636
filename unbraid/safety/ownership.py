"""Which files of a folder are ours: in a place the user chose, no others are replaced."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

LEDGER = ".unbraid-files.json"


class Ledger:
    """The names and SHA-256 of the files that were written into a folder, kept in that folder."""

    def __init__(self, folder: Path, *, force: bool) -> None:
        self.folder, self.force = folder, force
        try:
            hashes = json.loads((folder / LEDGER).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            hashes = None
        self.hashes: dict[str, str] = hashes if isinstance(hashes, dict) else {}

    def check(self, path: Path) -> None:
        """Raise `ValueError` if a file is there that is not ours, or was changed since."""
        foreign = path.is_dir() or (path.exists() and self.hashes.get(path.name) != _hash(path))
        if path.parent == self.folder and foreign and not self.force:
            raise ValueError(
                f"{path} exists and was not written by unbraid, or was changed since. Choose "
                "another --out, or replace it with --force."
            )

    def note(self, path: Path) -> None:
        """Keep in mind that a file was written by us."""
        if path.parent == self.folder:
            self.hashes[path.name] = _hash(path)

    def save(self) -> None:
        """Write the names down."""
        if self.hashes:
            text = json.dumps(self.hashes, indent=1, sort_keys=True)
            (self.folder / LEDGER).write_text(text, encoding="utf-8")


ledger: ContextVar[Ledger | None] = ContextVar("ledger", default=None)
"""What `files.write_whole` asks before it replaces a file."""


@contextmanager
def replacing_ours(folder: Path | None, stems: Sequence[str], *, force: bool) -> Iterator[None]:
    """Let files in a folder be replaced only if they are ours.

    Args:
        folder: where files will be written; None: in a run folder, where all files are ours.
        stems: of those files; they are checked at once, before any work is done.
        force: replace any file.
    """
    if folder is None:
        yield
        return
    mine = Ledger(folder, force=force)
    for path in sorted(folder.glob("*")) if folder.is_dir() else ():
        if path.stem in stems:
            mine.check(path)
    token = ledger.set(mine)
    try:
        yield
    finally:
        ledger.reset(token)
        if folder.is_dir():
            mine.save()


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
