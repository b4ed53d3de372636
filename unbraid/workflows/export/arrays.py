"""Codes as an `.npz` file, as `np.savez` would write it, but part by part.

Arrays: `s` (N, S), `d` (N, T, D), `mask` (N, T), `id` (N,) and `label_<name>` (N,) or (N, T).
"""

import zipfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np

from unbraid.data.corpus import Array
from unbraid.files import write_whole
from unbraid.workflows.export.parts import ARRAYS, Parts

MARK = b"unbraid-codes-1"  # comment of the archive, which `np.load` ignores
_BEGINNING = (1980, 1, 1, 0, 0, 0)  # of zip: the same codes are the same bytes, whenever written


def files(path: Path) -> tuple[Path, ...]:
    """Return the files that are written."""
    return (path,)


def require() -> None:
    """Check that what is needed is installed: nothing is."""


def is_ours(path: Path) -> bool:
    """Say whether a file was written by `write`."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.comment == MARK
    except (OSError, zipfile.BadZipFile):
        return False


def write(path: Path, parts: Parts, split: str) -> None:
    """Write the codes of all parts.

    Args:
        path: the file.
        parts: all of them finished.
        split: its name, which this format does not keep.
    """
    count, all_parts = len(parts.split), range(len(parts))

    def fill(aside: Path) -> None:
        with zipfile.ZipFile(aside, "w") as archive:
            archive.comment = MARK
            for name in ARRAYS:
                _write_array(archive, name, count, (parts.codes(i, name) for i in all_parts))
            _write_array(archive, "id", count, map(parts.rows, all_parts))
            for name in parts.split.labels:
                chunks = (parts.labels(i, name) for i in all_parts)
                _write_array(archive, f"label_{name}", count, chunks)

    write_whole(path, fill)


def _write_array(archive: zipfile.ZipFile, name: str, count: int, chunks: Iterator[Array]) -> None:
    """Write one array of `count` rows that comes in chunks."""
    first = next(chunks)
    header = {
        "descr": np.lib.format.dtype_to_descr(first.dtype),
        "fortran_order": False,
        "shape": (count, *first.shape[1:]),
    }
    info = zipfile.ZipInfo(f"{name}.npy", _BEGINNING)
    # Codes hardly shrink (7 %) and would take longer to compress than to encode with small nets.
    info.compress_type = zipfile.ZIP_STORED if first.dtype.kind == "f" else zipfile.ZIP_DEFLATED
    with archive.open(info, "w", force_zip64=True) as file:
        np.lib.format.write_array_header_1_0(file, header)
        for chunk in chain((first,), chunks):
            file.write(np.ascontiguousarray(chunk).tobytes())
