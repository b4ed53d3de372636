"""What the server has at hand: runs and data by name, opened when they are first asked for."""

import re
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbraid.studio.thread_pools import ThreadPools

if TYPE_CHECKING:
    from unbraid.studio.model.subject import Subject

MOST_RUNS = 200  # found in the folder of runs


@dataclass(frozen=True, slots=True)
class StudioEntry:
    """A run folder, or data without a run.

    Attributes:
        key: its name in addresses.
        title: its name on the page.
        run: folder of the run, or None.
        data: data set or path, if there is no run.
    """

    key: str
    title: str
    run: Path | None = None
    data: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Folders the page may use.

    Attributes:
        runs: where runs are written to.
        folders: whose files may be chosen as data.
    """

    runs: Path = Path("runs")
    folders: tuple[Path, ...] = ()


@dataclass(slots=True)
class Workspace:
    """Entries by key, and what was computed of them."""

    places: Places = field(default_factory=Places)
    entries: dict[str, StudioEntry] = field(default_factory=dict)
    work: ThreadPools = field(default_factory=ThreadPools)

    def add_run(self, path: Path) -> StudioEntry:
        """Make a run folder known; the same folder keeps its key."""
        path = path.resolve()
        for entry in self.entries.values():
            if entry.run == path:
                return entry
        parts = path.parts[-3:]
        title = " / ".join(parts) if len(parts) == 3 else path.name
        if any(entry.title == title for entry in self.entries.values()):
            title = " / ".join(path.parts[-4:])  # the same name in another folder
        return self._add("-".join(parts), StudioEntry("", title, run=path))

    def add_data(self, word: str) -> StudioEntry:
        """Make data without a run known."""
        return self._add(word, StudioEntry("", word, data=word))

    def _add(self, wanted: str, entry: StudioEntry) -> StudioEntry:
        slug = re.sub(r"[^A-Za-z0-9]+", "-", wanted).strip("-").lower()[-60:] or "run"
        key, number = slug, 2
        while key in self.entries:
            key, number = f"{slug}-{number}", number + 1
        self.entries[key] = StudioEntry(key, entry.title, entry.run, entry.data)
        return self.entries[key]

    def entry(self, key: str) -> StudioEntry:
        """Return an entry, or say that there is none."""
        if key not in self.entries:
            raise KeyError(f"there is no run or data '{key[:60]}' here. Reload the page.")
        return self.entries[key]

    async def subject(self, key: str) -> "Subject":
        """Return an entry, opened, with its newest weights."""
        entry = self.entry(key)
        subject = await self.work.once(("open", key), partial(open_entry, entry))
        if entry.run is not None:
            await self._refresh(subject, entry.run)
        return subject

    async def _refresh(self, subject: "Subject", path: Path) -> None:
        """Take the newest weights of a run that is being trained."""
        from unbraid.studio.model.subject import latest_weights

        version = latest_weights(path)
        if version and version != subject.version:
            await self.work.once(("weights", subject.key, version), partial(_reload, subject))
            self.work.forget(subject.key)

    async def computed(self, subject: "Subject", name: str, function: Any, *words: str) -> Any:
        """Return something of a subject that is computed once for its present weights."""
        key = (subject.key, subject.version, name, *words)
        return await self.work.once(key, partial(function, subject, *words))

    def prefetch(self) -> None:
        """Begin to open the first entry: it is what the page will show."""
        if self.entries:
            first = next(iter(self.entries.values()))
            self.work.begin(("open", first.key), partial(open_entry, first))


def open_entry(entry: StudioEntry) -> "Subject":
    """Open the run or the data of an entry; encoding all sequences follows on its own."""
    import torch

    from unbraid.runs.run import open_run
    from unbraid.studio.model.subject import open_data, open_subject

    torch.set_num_threads(1)  # several requests at once share the cores
    if entry.run is None:
        return open_data(entry.key, entry.data)
    return open_subject(entry.key, open_run(entry.run))


def _reload(subject: "Subject") -> None:
    from unbraid.studio.model.subject import latest_weights, load_weights

    assert subject.run is not None
    version = latest_weights(subject.run.path)
    subject.replace_method(load_weights(subject.run, subject.spec, version), version)


def find_runs(folder: Path) -> list[Path]:
    """Return the run folders `<data>/<method>/<seed>` below a folder, the newest first."""
    files = [
        path for path in folder.glob("*/*/*/config.toml") if not path.parts[-4].startswith(".")
    ]
    files.sort(key=lambda path: -path.stat().st_mtime)
    return [path.parent for path in files[:MOST_RUNS]]


def make_workspace(targets: list[str], places: Places) -> Workspace:
    """Return a workspace of run folders or data; without any, of the runs in the folder of runs.

    Raises:
        ValueError: a target is neither.
    """
    workspace = Workspace(places)
    paths = [Path(word) for word in targets] or find_runs(places.runs)
    for path in paths:
        if (path / "config.toml").is_file():
            workspace.add_run(path)
        elif path.is_dir() and find_runs(path):
            for run in find_runs(path):
                workspace.add_run(run)
        else:
            workspace.add_data(_checked_data(str(path)))
    return workspace


def _checked_data(word: str) -> str:
    from unbraid.data import data_module, is_dataset
    from unbraid.data.readers.own import is_path, reader_name

    if not is_dataset(word) and is_path(word):
        reader_name(word)
        return str(Path(word).expanduser().resolve())
    data_module(word)
    return word
