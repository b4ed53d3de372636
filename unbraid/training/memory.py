"""Memory of freed tensors stays with the process, so that a step need not ask for it again."""

import ctypes
import platform

# Names of these settings in glibc's malloc.h.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
LARGE = 64 << 20  # bytes; larger blocks, as wide networks have, go back to the system at once
HEAP = 1 << 30  # bytes that may lie free at the end of the heap


def reuse_memory() -> bool:
    """Have glibc keep freed blocks of up to `LARGE` bytes; say whether it does.

    By itself glibc gives much of what a step frees back to the system and gets it again in the next
    step, page by page: 2,000 to 8,000 page faults in a step of dsvae with `sprites/fast`, 70 with
    this setting, which takes 0.137 s of CPU time instead of 0.161. The setting holds for the
    process. With another C library nothing happens.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    library = ctypes.CDLL(None)
    return all(
        library.mallopt(*pair) for pair in ((M_MMAP_THRESHOLD, LARGE), (M_TRIM_THRESHOLD, HEAP))
    )
