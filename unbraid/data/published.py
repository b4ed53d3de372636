"""Data sets that others publish: where their files are, and what was prepared from them."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unbraid.data.cache import (
    NewArray,
    Prepared,
    content_key,
    find_prepared,
    listing_key,
    open_or_build,
)
from unbraid.data.download import Publisher

Progress = Callable[[float], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A data set in its publisher's own layout.

    Attributes:
        name: in the catalogue.
        folder: of its files below `UNBRAID_DATA`.
        source: where it is published, its licence, what to cite.
        version: goes up when the same files and options are prepared in another way.
        depth: how many levels of folders are listed to tell one copy from another.
    """

    name: str
    folder: str
    source: Publisher
    version: int = 1
    depth: int = 2

    def root(self, given: str) -> Path | None:
        """Return the folder of the files: the one given, else `UNBRAID_DATA/<folder>`, else None.

        Raises:
            ValueError: a folder was given and is not there.
        """
        if given:
            path = Path(given).expanduser()
            if not path.is_dir():
                raise ValueError(f"{self.name}: root must be a folder, got {given!r}.")
            return path
        data = os.environ.get("UNBRAID_DATA", "")
        path = Path(data).expanduser() / self.folder
        return path if data and path.is_dir() else None

    def open(
        self,
        given: str,
        options: Mapping[str, Any],
        build: Callable[[Path, NewArray], Mapping[str, Any] | None],
    ) -> Prepared:
        """Return what was prepared from the files, which is done now if it was not before.

        Args:
            given: the folder of the files, or "" for the usual one.
            options: what the arrays depend on besides the files: JSON values.
            build: fills the arrays from the folder, as for `open_or_build`.
        """
        about = {"options": dict(options), "version": self.version}
        root = self.root(given)
        if root is None:
            prepared = find_prepared(self.name, about)
            if prepared is None:
                raise ValueError(self.missing())
            return prepared
        key = content_key(listing=listing_key(root, _files(root, self.depth)), **about)
        return open_or_build(self.name, key, lambda new: build(root, new), about=about)

    def missing(self) -> str:
        """Say that there are neither files nor a cache, and what to do."""
        command = f"unbraid data prepare {self.name} --root DIR"
        how = (
            f"It is not to be downloaded freely: {self.source.apply}"
            if self.source.apply
            else f"`{command} --download` fetches them there first."
        )
        return (
            f"{self.name} needs its publisher's files or what was prepared from them, and there is "
            f"neither. Run `{command}` with the folder of the files. {how}"
        )


def _files(root: Path, depth: int) -> list[Path]:
    """Return the files at most `depth` folders below `root`, hidden ones left out."""
    files = []
    for entry in sorted(root.iterdir()):
        if entry.name.startswith("."):
            continue
        if entry.is_dir() and depth > 0:
            files += _files(entry, depth - 1)
        else:
            files.append(entry)
    return files
