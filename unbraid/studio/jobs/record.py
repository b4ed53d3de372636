"""A training that the page started, as it is kept on disk, and whether its process runs."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from unbraid.files import check_kinds, read_json, write_text

FOLDER = ".studio"  # in the folder of runs
State = Literal["running", "finished", "stopped", "failed"]
KINDS = {"id": str, "data": str, "method": str, "run": str, "pid": int, "born": str, "began": float}


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A training: what it is, and which process it was when it was last started.

    Attributes:
        id: its name in addresses and on disk.
        data: data set or path.
        method: a name of the catalogue; empty for the recommended one.
        run: the run folder.
        pid: of the process.
        born: when that process was started, by the system: numbers of processes are used again.
        began: seconds since 1970.
    """

    id: str
    data: str
    method: str
    run: str
    pid: int
    born: str
    began: float

    def write(self, runs: Path) -> None:
        """Keep it in the folder of runs."""
        write_text(folder_of(runs) / f"{self.id}.json", json.dumps(asdict(self), indent=1))

    @property
    def is_running(self) -> bool:
        """Whether its process is there."""
        return birth(self.pid) == self.born != ""


def folder_of(runs: Path) -> Path:
    """Return where records and their logs are."""
    return runs / FOLDER


def read_records(runs: Path) -> dict[str, Record]:
    """Return all trainings that a page started, the newest first; damaged records are left out."""
    records = []
    for path in folder_of(runs).glob("*.json"):
        try:
            table = read_json(path)
            check_kinds(path, table, KINDS)
            records.append(Record(**{name: table[name] for name in KINDS}))
        except (ValueError, OSError):
            continue
    return {record.id: record for record in sorted(records, key=lambda one: -one.began)}


def birth(pid: int) -> str:
    """Return when a process was started, in the system's ticks; empty if it has ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        fields = text.rpartition(")")[2].split()
        return "" if fields[0] in "ZX" else fields[19]
    except (OSError, IndexError):
        pass
    if Path("/proc/self/stat").exists():
        return ""
    try:  # a system without /proc
        os.kill(pid, 0)
    except OSError:
        return ""
    return "unknown"
