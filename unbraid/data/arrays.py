"""People's own arrays: NumPy arrays in memory, or an `.npz` file of them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from unbraid.data.corpus import Array, Corpus, Split, cut_validation
from unbraid.records import Factor, Kind, Spec
from unbraid.shapes import ShapeError

KINDS: dict[int, Kind] = {5: "video", 4: "series", 3: "audio"}
RESERVED = ("x", "lengths", "observed")


def is_file(name: str) -> bool:
    """Say whether a word names an `.npz` file."""
    return name.endswith(".npz")


def open_file(name: str) -> Corpus:
    """Return the corpus of an `.npz` file.

    It holds `x` (N, T, ...) and optionally `lengths` (N,), `observed` (as x) and labels: any other
    array of N (per sequence) or N x T (per step) whole numbers.
    """
    path = Path(name)
    if not path.is_file():
        raise ValueError(f"there is no file {path}.")
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {key: file[key] for key in file.files}
    except (OSError, ValueError, EOFError) as error:
        raise ValueError(f"{path} cannot be read as .npz without pickle: {error}.") from None
    if "x" not in arrays:
        found = ", ".join(arrays) or "nothing"
        raise ValueError(f"{path} must hold an array 'x' of sequences, it holds: {found}.")
    labels = {key: value for key, value in arrays.items() if key not in RESERVED}
    return from_arrays(
        arrays["x"], lengths=arrays.get("lengths"), observed=arrays.get("observed"),
        labels=labels, name=path.stem,
    )  # fmt: skip


def from_arrays(
    x: Array,
    *,
    lengths: Array | None = None,
    observed: Array | None = None,
    labels: Mapping[str, Array] | None = None,
    name: str = "arrays",
) -> Corpus:
    """Return arrays as a corpus: 80 % training, 10 % validation, 10 % test, always the same.

    Args:
        x: video (N, T, C, H, W), uint8 or floats in [0, 1]; audio features (N, T, F); series cut
            into windows (N, T, W, F). NaN in a series means missing.
        lengths: (N,) steps of each sequence, if they differ.
        observed: True where an element of `x` is known.
        labels: name -> (N,) or (N, T) class numbers; used only in evaluation.
        name: what to call it.
    """
    x, observed = _clean(np.asarray(x), observed)
    rows = np.arange(len(x))
    rest, test = cut_validation(rows, rows, share=0.1, seed=0)
    train, validation = cut_validation(rest, rows, share=0.111, seed=1)
    labels = {key: np.asarray(value) for key, value in (labels or {}).items()}
    _check_sides(x, lengths, labels)
    spec = _describe(x, observed, train, labels, name)
    parts = {"train": train, "validation": validation, "test": test}
    made = {
        key: Split(
            spec=spec, x=x, rows=part, lengths=lengths, observed=observed, labels=labels
        )
        for key, part in parts.items()
    }  # fmt: skip
    return Corpus(spec=spec, **made)


def _clean(x: Array, observed: Array | None) -> tuple[Array, Array | None]:
    """Check kind and values; turn NaN of a series into missing elements."""
    if x.ndim not in KINDS:
        raise ShapeError(
            "x must be video (N, T, C, H, W), series (N, T, W, F) or audio features (N, T, F), "
            f"got shape {x.shape}."
        )
    if len(x) < 3:
        raise ShapeError(f"x must hold three sequences at least, got {len(x)}.")
    if x.dtype == np.uint8:
        return x, observed
    if not np.issubdtype(x.dtype, np.number) or np.issubdtype(x.dtype, np.complexfloating):
        raise ValueError(f"x must hold real numbers, got {x.dtype}.")
    x = x.astype(np.float32)
    broken = ~np.isfinite(x)
    if not broken.any():
        return x, observed
    if KINDS[x.ndim] != "series":
        first = tuple(int(i) for i in np.argwhere(broken)[0])
        raise ValueError(f"x holds {int(broken.sum())} NaN or infinite values, first at {first}.")
    known = ~broken if observed is None else observed & ~broken
    return np.where(broken, np.float32(0), x), known


def _check_sides(x: Array, lengths: Array | None, labels: Mapping[str, Array]) -> None:
    if lengths is not None and (lengths.shape != x.shape[:1] or lengths.min() < 1):
        raise ShapeError(f"lengths must be {len(x)} numbers of 1 or more, got {lengths.shape}.")
    for name, label in labels.items():
        if label.shape not in (x.shape[:1], x.shape[:2]):
            raise ShapeError(
                f"label '{name}' must have shape {x.shape[:1]} or {x.shape[:2]}, got {label.shape}."
            )


def _describe(
    x: Array, observed: Array | None, train: Array, labels: Mapping[str, Array], name: str
) -> Spec:
    kind = KINDS[x.ndim]
    offset: tuple[float, ...] = (0.0,)
    scale: tuple[float, ...] = (255.0,)
    if kind == "video" and x.dtype != np.uint8:
        scale = (1.0,)
        if x.min() < 0 or x.max() > 1:
            raise ValueError(
                f"float video must lie in [0, 1], got [{x.min():.3g}, {x.max():.3g}]. "
                "Give uint8, or divide by the largest value."
            )
    if kind != "video":
        offset, scale = fit_scale(x, observed, train)
    factors = [_factor(key, value) for key, value in labels.items()]
    return Spec(
        name=name, kind=kind, frame=x.shape[2:], length=x.shape[1], offset=offset, scale=scale,
        static=tuple(f for f in factors if not f.per_step),
        dynamic=tuple(f for f in factors if f.per_step),
        size=len(train), missing=observed is not None,
    )  # fmt: skip


def fit_scale(
    x: Array, observed: Array | None, train: Array
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return mean and standard deviation of every channel over observed training values."""
    values = x[train].reshape(-1, x.shape[-1]).astype(np.float64)
    known = np.ones_like(values, dtype=bool)
    if observed is not None:
        known = observed[train].reshape(values.shape)
    count = np.maximum(known.sum(0), 1)
    mean = np.where(known, values, 0).sum(0) / count
    spread = np.sqrt((np.where(known, values - mean, 0) ** 2).sum(0) / count)
    spread = np.where(spread > 1e-8, spread, 1.0)  # a constant channel stays as it is
    return tuple(mean.tolist()), tuple(spread.tolist())


def _factor(name: str, values: Any) -> Factor:
    classes = int(values.max()) + 1 if np.issubdtype(values.dtype, np.integer) else 0
    return Factor(name=name, classes=classes, per_step=values.ndim == 2)
