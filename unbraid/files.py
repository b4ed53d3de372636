"""Files are either whole or not there: written aside, then renamed."""

import json
import os
import platform
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

LARGEST_TEXT = 1 << 26  # bytes of a file of settings or facts


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


def write_text(path: Path, text: str) -> None:
    """Write a whole text file."""
    write_whole(path, lambda aside: aside.write_text(text, encoding="utf-8"))


@contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Keep other processes from writing into a folder; this one may hold it several times.

    The lock ends with the process, however that ends. Where files cannot be locked at all, other
    processes are told by a file that is removed at the end.

    Raises:
        ValueError: another process holds it; the message says which.
    """
    from filelock import FileLock, Timeout

    folder.mkdir(parents=True, exist_ok=True)
    lock, holder = FileLock(folder / ".lock", is_singleton=True), folder / ".holder.json"
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise ValueError(
            f"{folder} is in use by {_holder(holder)}. Wait until it ends, or choose another "
            "folder."
        ) from None
    try:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        who = {"pid": os.getpid(), "host": platform.node(), "since": now}
        write_text(holder, json.dumps(who | {"command": shlex.join(sys.argv)}))
        yield
    finally:
        if lock.lock_counter == 1:
            holder.unlink(missing_ok=True)
        lock.release()


def _holder(path: Path) -> str:
    try:
        who = json.loads(path.read_text(encoding="utf-8"))
        return f"process {who['pid']} on {who['host']} since {who['since']} ({who['command']})"
    except (OSError, ValueError, KeyError, TypeError):  # it has just begun, or just ended
        return "another process"


def read_text(path: Path) -> str:
    """Return the text of a file of settings or facts, which is never a large one.

    Raises:
        ValueError: it is too large, or not UTF-8 text.
    """
    if path.stat().st_size > LARGEST_TEXT:
        raise ValueError(f"{path} is larger than 64 MB: it is none of our files.")
    return path.read_text(encoding="utf-8")


def read_json(path: Path) -> Any:
    """Return what a JSON file holds, or say that it is damaged."""
    try:
        return json.loads(read_text(path))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is damaged: {error}.") from None
    except RecursionError:
        raise ValueError(f"{path} is damaged: it is nested too deeply.") from None


def read_ours(path: Path, form: str, what: str) -> dict[str, Any]:
    """Return a JSON file of ours, or say that it is damaged or somebody else's.

    Args:
        path: the file, which is there.
        form: what its `format` must say.
        what: what it holds, for the message, e.g. "model".
    """
    about = read_json(path)
    found = about.get("format") if isinstance(about, dict) else None
    if found != form:
        raise ValueError(f"{path} is not a {what} of ours: its format is {found!r}, not {form!r}.")
    return about


def check_kinds(path: Path, table: Any, kinds: Mapping[str, Any], required: bool = True) -> None:
    """Raise `ValueError` unless a table of a file of ours has values of these kinds.

    Args:
        path: of the file, for the message.
        table: what was read.
        kinds: name -> type, or union of types.
        required: whether every name must be there.
    """
    if not isinstance(table, dict):
        raise ValueError(f"{path} is damaged: it holds {_shortly(table)} instead of a table.")
    for name, kind in kinds.items():
        if (name in table or required) and not isinstance(table.get(name), kind):
            raise ValueError(
                f"{path} is damaged: {name} is {_shortly(table.get(name, 'not there'))}. Restore "
                "the file, or make it again."
            )


def _shortly(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 60 else f"{text[:60]}..."


def _umask() -> int:
    """Return the process's mask for new files; it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
