"""How much fits: sizes are checked before memory or disk is asked for."""

import os
import shutil
from contextlib import suppress
from pathlib import Path

GROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")  # of a container, on Linux


def memory_limit() -> int:
    """Return the bytes of memory this process can have at most: the machine's, or its group's."""
    limits = []
    if hasattr(os, "sysconf"):
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with suppress(OSError, ValueError):  # no group, or one without a limit ("max")
        limits.append(int(GROUP_LIMIT.read_text(encoding="ascii")))
    try:
        import resource
    except ImportError:  # Windows
        return min(limits, default=1 << 40)
    own = resource.getrlimit(resource.RLIMIT_AS)[0]
    limits += [] if own == resource.RLIM_INFINITY else [own]
    return min(limits, default=1 << 40)


def check_memory(size: int | float, what: str, advice: str) -> None:
    """Raise `ValueError` if so many bytes can never be in memory at once.

    Args:
        size: in bytes.
        what: needs them, e.g. "data.train=1000000 of toy-sprites".
        advice: what to do, a sentence.
    """
    limit = memory_limit()
    if size > limit:
        raise ValueError(
            f"{what} needs {in_units(size)} of memory, this machine has {in_units(limit)}. {advice}"
        )


def check_generated(count: int, each: int | float) -> None:
    """Raise `ValueError` if so many generated sequences of `each` bytes are more than memory."""
    check_memory(
        count * each,
        f"a data set of {count:,} sequences",
        "Ask for fewer (--set data.NAME=NUMBER).",
    )


def check_disk(folder: Path, size: int, what: str) -> None:
    """Raise `ValueError` if so many bytes do not fit on the disk of a folder that is there."""
    free = shutil.disk_usage(folder).free
    if size > free:
        raise ValueError(
            f"{what} needs {in_units(size)} on the disk of {folder}, where {in_units(free)} are "
            "free. Free some space, or choose another folder (UNBRAID_CACHE for prepared data)."
        )


def reserve(path: Path) -> None:
    """Take the space of a file with holes before it is written to through memory.

    A mapped file is written when the system likes; if the disk is full by then, the process is
    killed (SIGBUS) without a word.

    Raises:
        OSError: the disk is full.
    """
    if hasattr(os, "posix_fallocate") and path.stat().st_size:
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)


def in_units(size: int | float) -> str:
    """Return a number of bytes as people say it.

    >>> in_units(2_500_000), in_units(4e15)
    ('2.5 MB', '4.0 PB')
    """
    units = ["B", "kB", "MB", "GB", "TB", "PB"]
    while size >= 1000 and len(units) > 1:
        size /= 1000
        units.pop(0)
    return f"{size:.1f} {units[0]}" if size < 1e6 else f"{size:.0e} {units[0]}"
