"""Memory of freed tensors goes back to the system at once."""

import ctypes
import platform

M_MMAP_THRESHOLD = -3  # the name of this setting in glibc's malloc.h
LARGE = 8 << 20  # bytes; the lean presets' tensors are smaller and keep being reused


def free_at_once() -> bool:
    """Have glibc map every large block on its own; say whether it did.

    By itself glibc soon keeps blocks of up to 32 MB on its heap, where what is freed between two
    live blocks cannot go back: a tenth of the peak of training with wide networks. The setting
    holds for the process. With another C library nothing happens.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    return bool(ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, LARGE))
