"""Files are either whole or not there: written aside, then renamed."""

import errno
import json
import math
import os
import platform
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from glob import escape
from pathlib import Path
from typing import Any

from unbraid.safety.ownership import ledger

LARGEST_TEXT = 1 << 26  # bytes of a file of settings or facts


def write_whole(path: Path, write: Callable[[Path], Any]) -> None:
    """Let `write` fill a file beside `path`, then put it in place in one move.

    Args:
        path: where the file shall be; its folder is made.
        write: writes the file at the path it is given.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(path.parent.glob(f".*.{escape(path.name)}"))
    mine = ledger.get()
    if mine is not None:
        mine.check(path)
    # The suffix stays last: some writers choose their format by it.
    aside = path.with_name(f".{writer()}.{path.name}")
    try:
        with name_when_full(path):
            write(aside)
            aside.chmod(0o666 & ~_umask())  # some writers leave files to their owner alone
            sync(aside)
        aside.replace(path)
        sync(path.parent)
    finally:
        aside.unlink(missing_ok=True)
    if mine is not None:
        mine.note(path)


def writer() -> str:
    """Return what names this process in files that it has not finished."""
    return f"{_host()}-{os.getpid()}"


def left_behind(path: Path) -> bool:
    """Say whether the process that was writing a file or folder is no more.

    `writer` must be one of the parts of its name; of other machines nothing is known.
    """
    match = re.search(rf"\.{_host()}-(\d+)\.", path.name)
    if not match:
        return False
    try:
        os.kill(int(match[1]), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):  # somebody else's process
        return False
    return False


def remove_leftovers(files: Iterable[Path]) -> None:
    """Delete those files that processes which are no more have left unfinished."""
    for path in files:
        if left_behind(path) and path.is_file():
            path.unlink(missing_ok=True)


def _host() -> str:
    return re.sub(r"\W", "", platform.node())[:40] or "here"


def sync(path: Path) -> None:
    """Make sure that a file or folder is on the disk, not only on its way there."""
    if path.is_dir() and os.name == "nt":
        return  # Windows cannot open folders
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def name_when_full(path: Path) -> Iterator[None]:
    """Let a full disk be an `OSError` that names the file, whatever library has met it."""
    try:
        yield
    except Exception as error:
        full = getattr(error, "errno", None) == errno.ENOSPC or "No space left" in str(error)
        if not full:
            raise
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path)) from error


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
        if lock.lock_counter == 1:
            remove_leftovers(folder.rglob(".*"))
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


def json_values(value: Any) -> Any:
    """Return a value made of JSON's own types; a number that is not finite becomes None.

    >>> json_values({"a": (1.5, float("nan"))})
    {'a': [1.5, None]}
    """
    if isinstance(value, Mapping):
        return {str(key): json_values(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [json_values(part) for part in value]
    if hasattr(value, "dtype"):  # a number of NumPy's
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_ours(path: Path, form: str, what: str) -> dict[str, Any]:
    """Return a JSON file of ours, or say that it is damaged or somebody else's.

    Args:
        path: the file, which is there.
        form: what its `format` must say.
        what: what it holds, for the message, e.g. "model".
    """
    about = read_json(path)
    file_format = about.get("format") if isinstance(about, dict) else None
    if file_format != form:
        raise ValueError(
            f"{path} is not a {what} of ours: its format is {file_format!r}, not {form!r}."
        )
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
            problem = f"{name} is {_shortly(table[name])}" if name in table else f"it has no {name}"
            raise ValueError(f"{path} is damaged: {problem}. Restore the file, or make it again.")


def _shortly(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 60 else f"{text[:60]}..."


def _umask() -> int:
    """Return the process's mask for new files; it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
