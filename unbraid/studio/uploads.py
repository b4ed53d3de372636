"""People's own files: kept in a temporary folder, decoded by a process with limits.

A malformed or malicious file can at most end that process: its memory, CPU time, files and time
are limited, and what it hands back are plain arrays.
"""

import json
import multiprocessing
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbraid.safety.names import printable

if TYPE_CHECKING:
    from unbraid.data.corpus import Split
    from unbraid.studio.model.subject import Item, Subject

SECONDS = 45.0  # until an upload must be decoded
CPU_SECONDS = 40
MEMORY = 2 << 30  # bytes that decoding may take
DISK = 1 << 30  # bytes of a file it may write
MOST_SEQUENCES = 64
STARTS = {  # what a file must begin with, (offset, bytes), by what its name ends with
    ".mp4": ((4, b"ftyp"),),
    ".m4v": ((4, b"ftyp"),),
    ".mov": ((4, b"ftyp"), (4, b"moov"), (4, b"mdat"), (4, b"wide")),
    ".webm": ((0, b"\x1aE\xdf\xa3"),),
    ".mkv": ((0, b"\x1aE\xdf\xa3"),),
    ".avi": ((0, b"RIFF"),),
    ".mpg": ((0, b"\x00\x00\x01"),),
    ".gif": ((0, b"GIF8"),),
    ".wav": ((0, b"RIFF"), (0, b"RF64")),
    ".flac": ((0, b"fLaC"),),
    ".ogg": ((0, b"OggS"),),
    ".mp3": ((0, b"ID3"), (0, b"\xff")),
    ".npz": ((0, b"PK"),),
    ".npy": ((0, b"\x93NUMPY"),),
    ".parquet": ((0, b"PAR1"),),
    ".csv": (),
    ".tsv": (),
}
READS = {
    "video": (".mp4", ".m4v", ".mov", ".webm", ".mkv", ".avi", ".mpg", ".gif", ".npz", ".npy"),
    "audio": (".wav", ".flac", ".ogg", ".mp3", ".npz", ".npy"),
    "series": (".csv", ".tsv", ".parquet", ".npz", ".npy"),
}


def check_name(name: str, kind: str) -> str:
    """Return what the name of an upload ends with, or say what can be read instead."""
    suffix = Path(name).suffix.lower()
    if suffix not in READS[kind]:
        raise ValueError(
            f"this run is about {kind}, so it reads {', '.join(READS[kind])}, not "
            f"{printable(name[:80])!r}."
        )
    return suffix


def check_start(head: bytes, suffix: str) -> None:
    """Raise `ValueError` unless a file begins as its name says.

    It also keeps playlists away from video decoders, which would open the files they name.
    """
    starts = STARTS[suffix]
    if starts and not any(head[at : at + len(mark)] == mark for at, mark in starts):
        raise ValueError(f"the file is not what its name says ({suffix}): its first bytes differ.")


async def save_upload(chunks: AsyncIterator[bytes], path: Path, limit: int) -> None:
    """Write what is sent to a file, up to a limit."""
    size = 0
    with path.open("wb") as file:
        async for chunk in chunks:
            size += len(chunk)
            if size > limit:
                raise ValueError(f"a file may have {limit / 1e6:.0f} MB at most.")
            file.write(chunk)
    if not size:
        raise ValueError("the file is empty.")


def add_upload(subject: "Subject", file: Path, name: str) -> "list[Item]":
    """Decode a file in a process of its own and add its sequences to those of a subject."""
    if subject.run is None:
        raise ValueError("these data have no trained model: train one, then bring your own files.")
    with file.open("rb") as opened:
        check_start(opened.read(16), file.suffix)
    out = file.parent / "out"
    out.mkdir()
    _decode_aside(subject.run.path, file, out)
    return subject.add(_read(out, subject), printable(Path(name).name[:80]))


def _decode_aside(run: Path, file: Path, out: Path) -> None:
    process = context().Process(
        target=decode_file, args=(str(run), str(file), str(out)), daemon=True
    )
    process.start()
    process.join(SECONDS)
    if process.is_alive():
        process.kill()
        process.join()
        raise ValueError(f"the file could not be decoded within {SECONDS:.0f} s. Cut it shorter.")
    about = out / "about.json"
    if process.exitcode != 0 or not about.is_file():
        raise ValueError(
            "the file could not be decoded: it is damaged, or needs more memory or time than an "
            "upload may take."
        )
    error = json.loads(about.read_text(encoding="utf-8")).get("error")
    if error:
        raise ValueError(error)


def _read(out: Path, subject: "Subject") -> "Split":
    """Return what was decoded as sequences of a subject."""
    from dataclasses import replace

    import numpy as np

    from unbraid.data.corpus import Split

    with np.load(out / "arrays.npz", allow_pickle=False) as file:
        arrays: dict[str, Any] = {name: file[name] for name in file.files}
    spec = replace(subject.spec, static=(), dynamic=())
    if arrays["x"].shape[2:] != spec.frame:
        raise ValueError(
            f"sequences must have frames of {spec.frame}, got {arrays['x'].shape[2:]}."
        )
    return Split(
        spec=spec,
        x=arrays["x"],
        rows=np.arange(len(arrays["x"])),
        lengths=arrays.get("lengths"),
        observed=arrays.get("observed"),
    )


def context() -> Any:
    """Return how processes are started: from one that has imported all, where there is such."""
    methods = multiprocessing.get_all_start_methods()
    return multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")


def warm_up() -> None:
    """Start the process that decoding processes are copied from."""
    processes = context()
    if processes.get_start_method() == "forkserver":
        processes.set_forkserver_preload(["unbraid.workflows.export.use", "unbraid.studio.uploads"])
        from multiprocessing import forkserver

        forkserver.ensure_running()


def decode_file(run: str, file: str, out: str) -> None:
    """Read a file as the data of a run are read and write arrays; the work of the process."""
    _limit()
    os.environ["UNBRAID_CACHE"] = str(Path(out) / "cache")
    sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    try:
        _decode(Path(run), Path(file), Path(out))
        error = ""
    except (ValueError, KeyError, OSError, ImportError) as reason:
        error = str(reason.args[0] if reason.args else reason).replace(file, "the file")
    except MemoryError:
        error = "the file needs more memory than an upload may take."
    (Path(out) / "about.json").write_text(json.dumps({"error": error}), encoding="utf-8")


def _decode(run: Path, file: Path, out: Path) -> None:
    import numpy as np

    from unbraid.methods.store import spec_from_table
    from unbraid.runs.run import open_run
    from unbraid.workflows.export.use import own_split

    opened = open_run(run)
    split = own_split(file, opened.plan, spec_from_table(opened.about["spec"]))
    rows = split.rows[:MOST_SEQUENCES]
    arrays = {"x": split.x, "lengths": split.lengths, "observed": split.observed}
    chosen = {key: value[rows] for key, value in arrays.items() if value is not None}
    np.savez(out / "arrays.npz", allow_pickle=False, **chosen)


def _limit() -> None:
    """Limit what this process may take; where the system cannot, only the time is limited."""
    try:
        import resource
    except ImportError:  # Windows
        return
    taken = 0
    status = Path("/proc/self/statm")
    if status.is_file():
        taken = int(status.read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, taken + MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_FSIZE, (DISK, DISK))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def new_folder() -> "tempfile.TemporaryDirectory[str]":
    """Return a folder that is gone after use."""
    return tempfile.TemporaryDirectory(prefix="unbraid-studio-")
