"""People's own arrays: NumPy arrays in memory, or an `.npz` or `.npy` file of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any, Literal
from zipfile import BadZipFile
from zlib import error as ZlibError

import numpy as np
from numpy.typing import NDArray

from unbraid.data.collection import Collection, SplitConfig
from unbraid.data.corpus import UNKNOWN, Array, Corpus
from unbraid.data.labels import encode_labels, label_array
from unbraid.data.windows import cut_windows, window_labels
from unbraid.records import Kind
from unbraid.safety.limits import check_memory, in_units
from unbraid.settings import at_least, build
from unbraid.shapes import ShapeError

RESERVED = ("x", "lengths", "observed")
BOMB_SIZE, BOMB_RATIO = 1 << 28, 200  # bytes unpacked, and times the packed ones: no real data


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What the axes mean and how they are cut."""

    kind: Literal["auto", "video", "audio", "series"] = "auto"  # auto: by the number of axes
    window: int = 0  # rows of a step of a series (N, T, F); 0 = chosen for about 20 steps
    dynamic: tuple[str, ...] = ()  # labels per sequence that are dynamic factors
    split: SplitConfig = field(default_factory=SplitConfig)

    def __post_init__(self) -> None:
        at_least(self, 0, "window")


def read(path: Path, config: Config) -> Collection:
    """Return the sequences of an `.npz` file, or of an `.npy` file that holds `x` alone.

    An `.npz` holds `x` (N, T, ...) and optionally `lengths` (N,), `observed` (as x) and labels: any
    other array of N (per sequence) or N x T (per step) whole numbers, words or numbers.
    """
    if path.is_dir():
        raise ValueError(
            f"{path} is a folder: give one .npz or .npy file that holds all sequences."
        )
    arrays = _load(path)
    if "x" not in arrays:
        names = ", ".join(arrays) or "nothing"
        raise ValueError(f"{path} must hold an array 'x' of sequences, it holds: {names}.")
    labels = {key: value for key, value in arrays.items() if key not in RESERVED}
    return collect(
        arrays["x"],
        lengths=arrays.get("lengths"),
        observed=arrays.get("observed"),
        labels=labels,
        name=path.stem,
        config=config,
    )


def _load(path: Path) -> dict[str, Array]:
    try:
        if path.suffix.lower() == ".npy":
            return {"x": np.load(path, mmap_mode="r", allow_pickle=False)}
        with path.open("rb") as content, np.load(content, allow_pickle=False) as file:
            _check_sizes(path, file)
            arrays = {key: file[key] for key in file.files}
            return {key: value for key, value in arrays.items() if isinstance(value, np.ndarray)}
    except (OSError, ValueError, EOFError, TypeError, BadZipFile, ZlibError) as error:
        raise ValueError(
            f"{path} cannot be read as {path.suffix} without pickle: {str(error).rstrip('.')}."
        ) from None


def _check_sizes(path: Path, file: Any) -> None:
    """Raise `ValueError` if the arrays of an opened `.npz` file are not what it can hold."""
    members = file.zip.infolist()
    for member in members:
        with file.zip.open(member) as content:
            claimed = _claimed_size(content)
        if claimed is not None and claimed != member.file_size:
            raise ValueError(f"{member.filename} claims {in_units(claimed)}, it holds others")
    size, packed = (sum(getattr(m, n) for m in members) for n in ("file_size", "compress_size"))
    if size > BOMB_SIZE and size > BOMB_RATIO * packed:
        raise ValueError(
            f"{in_units(packed)} would become {in_units(size)}, nearly all of it the same value. "
            "If that is right, write it with np.save or np.savez, without compression"
        )
    check_memory(3 * size, str(path), "Give x as an .npy file, which is read from the disk.")


def _claimed_size(content: Any) -> int | None:
    """Return how many bytes an array has by its header; None if it is no array."""
    if content.peek(6)[:6] != np.lib.format.MAGIC_PREFIX:
        return None
    version = np.lib.format.read_magic(content)
    read = {1: np.lib.format.read_array_header_1_0, 2: np.lib.format.read_array_header_2_0}
    shape, _, dtype = read.get(version[0], read[2])(content)
    return int(content.tell() + prod(shape) * dtype.itemsize)


def from_arrays(
    x: Array | Sequence[Array],
    *,
    lengths: Any = None,
    observed: Any = None,
    labels: Mapping[str, Any] | None = None,
    name: str = "arrays",
    options: Mapping[str, Any] | None = None,
) -> Corpus:
    """Return arrays as a corpus: 80 % training, 10 % validation, 10 % test unless told otherwise.

    Args:
        x: video (N, T, C, H, W), uint8 or floats in [0, 1]; series (N, T, F), which are cut into
            windows, or windows (N, T, W, F); audio features (N, T, F) with `{"kind": "audio"}`.
            Or a list of N arrays of unequal length, without the axis N. NaN in a series is
            missing.
        lengths: (N,) steps of each sequence, if they differ and `x` is one padded array.
        observed: True where an element of `x` is known; a list if `x` is one.
        labels: name -> N (per sequence) or N x T (per step) classes, words or numbers; used only
            in evaluation. Those per step may be a list of unequal length, as `x`. A label `split`
            of the words train, validation, test decides the splits.
        name: what to call it.
        options: of `Config`, e.g. `{"split": {"by": "speaker"}}`.
    """
    config = build(Config, options or {}, where="from_arrays")
    collection = collect(
        x, lengths=lengths, observed=observed, labels=labels or {}, name=name, config=config
    )
    return collection.deal(config.split)


def collect(
    x: Array | Sequence[Array],
    *,
    lengths: Any,
    observed: Any,
    labels: Mapping[str, Any],
    name: str,
    config: Config,
) -> Collection:
    """Return arrays as a collection; see `from_arrays`."""
    if not isinstance(x, np.ndarray):
        x, lengths, observed, labels = _pad_all(x, lengths, observed, labels)
    kind = _kind(x, config.kind)
    lengths = None if lengths is None else np.asarray(lengths)
    sides = {key: label_array(value) for key, value in labels.items()}
    _check_sides(x, lengths, sides)
    lengths = None if lengths is None else lengths.astype(np.int64)
    x, observed = _clean(x, kind, observed, lengths)
    rows = x.shape[1]
    if kind == "series" and x.ndim == 3:
        window, ends = config.window or max(1, round(rows / 20)), lengths
        x, observed, lengths = cut_windows(x, window, observed=observed, lengths=lengths)
        sides = {k: window_labels(v, window, rows, lengths=ends) for k, v in sides.items()}
    arrays, static, dynamic = encode_labels(sides, dynamic=config.dynamic)
    return Collection(
        name=name,
        kind=kind,
        x=x,
        lengths=lengths,
        observed=observed,
        labels=arrays,
        static=static,
        dynamic=dynamic,
        white=255.0 if x.dtype == np.uint8 else 1.0,
    )


def _pad_all(
    x: Sequence[Array], lengths: Any, observed: Any, labels: Mapping[str, Any]
) -> tuple[Array, Array, Array | None, dict[str, Any]]:
    """Return lists of N arrays of unequal length as padded arrays."""
    if lengths is not None:
        raise ValueError("lengths are for one padded array; a list says them itself.")
    parts = [np.asarray(part) for part in x]
    if not parts:
        raise ShapeError("x must hold three sequences at least, got an empty list.")
    padded = _pad(parts, "x", 0)
    counts = np.array([len(part) for part in parts])
    if counts.min() < 1:
        raise ShapeError(f"every sequence needs a step, sequence {counts.argmin()} has none.")
    if isinstance(observed, list | tuple):
        observed = _pad([np.asarray(part, dtype=bool) for part in observed], "observed", False)
    sides = {key: _pad_label(key, value, counts) for key, value in labels.items()}
    return padded, counts, observed, sides


def _pad(parts: list[Array], name: str, filler: Any) -> Array:
    """Return a list of (T_i, ...) as one (N, T, ...) array."""
    frames = {part.shape[1:] for part in parts}
    if len(frames) > 1 or min(part.ndim for part in parts) < 1:
        shapes = ", ".join(str(part.shape) for part in parts[:4])
        raise ShapeError(f"all sequences of {name} must agree but in length, got {shapes}, ...")
    shape = (len(parts), max(map(len, parts)), *parts[0].shape[1:])
    padded = np.full(shape, filler, np.result_type(*parts))
    for row, part in zip(padded, parts, strict=True):
        row[: len(part)] = part
    return padded


def _pad_label(name: str, values: Any, counts: NDArray[np.int64]) -> Any:
    """Return a label per step, a list as long as the sequences are, padded with unknown."""
    if isinstance(values, np.ndarray) or [np.size(v) for v in values] != counts.tolist():
        return values
    parts = [label_array(part) for part in values]
    if any(part.ndim != 1 for part in parts):
        return values
    kind = np.result_type(*parts).kind
    fillers = {"f": np.nan, "i": UNKNOWN, "u": UNKNOWN, "b": UNKNOWN, "O": None}
    whole = [part.astype(np.int64) if kind in "ub" else part for part in parts]
    return _pad(whole, f"label '{name}'", fillers.get(kind, ""))


def _kind(x: Array, wanted: str) -> Kind:
    kinds: dict[int, tuple[Kind, ...]] = {
        5: ("video",),
        4: ("series",),
        3: ("series", "audio"),
    }
    if x.ndim not in kinds or (wanted != "auto" and wanted not in kinds[x.ndim]):
        raise ShapeError(
            "x must be video (N, T, C, H, W), series (N, T, F) or in windows (N, T, W, F), or "
            f"audio features (N, T, F), got shape {x.shape} for kind '{wanted}'."
        )
    if len(x) < 1 or min(x.shape) < 1:
        raise ShapeError(f"no axis of x may be empty, got shape {x.shape}.")
    return next(kind for kind in kinds[x.ndim] if wanted in ("auto", kind))


def _clean(
    x: Array, kind: Kind, observed: Any, lengths: Array | None
) -> tuple[Array, Array | None]:
    """Check the values; turn NaN of a series into missing elements."""
    observed = _mask(observed, x.shape)
    if x.dtype == np.uint8 and kind == "video":
        return x, observed
    if x.dtype.kind not in "buif":
        raise ValueError(f"x must hold real numbers, got {x.dtype}.")
    with np.errstate(over="ignore"):  # beyond float32: infinite, which is found below
        x = x.astype(np.float32)
    if lengths is not None:  # what stands beyond the end is never looked at
        x[np.arange(x.shape[1]) >= lengths[:, None]] = 0
    broken = ~np.isfinite(x)
    if broken.any() and kind != "series":
        first = tuple(int(i) for i in np.argwhere(broken)[0])
        raise ValueError(f"x holds {int(broken.sum())} NaN or infinite values, first at {first}.")
    if kind == "video" and (x.min() < 0 or x.max() > 1):
        raise ValueError(
            f"float video must lie in [0, 1], got [{x.min():.3g}, {x.max():.3g}]. "
            "Give uint8, or divide by the largest value."
        )
    if not broken.any():
        return x, observed
    known = ~broken if observed is None else observed & ~broken
    return np.where(broken, np.float32(0), x), known


def _mask(observed: Any, shape: tuple[int, ...]) -> Array | None:
    """Return which elements are known as True and False, whatever they came as."""
    if observed is None:
        return None
    mask = np.asarray(observed).astype(bool)
    if mask.shape != shape:
        raise ShapeError(f"observed must have the shape of x, {shape}, got {mask.shape}.")
    return mask


def _check_sides(x: Array, lengths: Array | None, labels: Mapping[str, Array]) -> None:
    if lengths is not None and (
        lengths.dtype.kind not in "iu"
        or lengths.shape != x.shape[:1]
        or lengths.min() < 1
        or lengths.max() > x.shape[1]
    ):
        raise ShapeError(
            f"lengths must be {len(x)} whole numbers from 1 to {x.shape[1]}, got {lengths.dtype} "
            f"of shape {lengths.shape}: {str(lengths.ravel()[:8].tolist())[1:-1]}."
        )
    for name, label in labels.items():
        if label.shape not in (x.shape[:1], x.shape[:2]):
            raise ShapeError(
                f"label '{name}' must have shape {x.shape[:1]} or {x.shape[:2]}, got {label.shape}."
            )
