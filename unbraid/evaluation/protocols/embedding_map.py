"""Codes as points on a plane: t-SNE, for looking only."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbraid.shapes import check_axes

Floats = NDArray[np.float64]
WIDE = 50  # more units than this are reduced to so many principal components first


def tsne_points(codes: NDArray[Any], *, seed: int = 0, limit: int = 2000) -> Floats:
    """Return a place for every code, near places for near codes; distances far apart mean little.

    Codes wider than `WIDE` go through PCA first, as scikit-learn advises; the places start from
    PCA too. Codes that are all equal (a collapsed posterior) all lie at the origin.

    Args:
        codes: (N, K), one row per sequence: s, or d flattened.
        seed: decides which rows are taken and where they come to lie.
        limit: at most so many rows are placed.

    Returns:
        (N, 2) in the order of the codes; NaN for rows left out because of `limit`.
    """
    check_axes("codes", codes.shape, "N K")
    chosen = np.sort(np.random.default_rng(seed).permutation(len(codes))[:limit])
    if len(chosen) < 3:
        raise ValueError(f"a map wants three codes at least, got {len(chosen)}.")
    points = np.full((len(codes), 2), np.nan)
    points[chosen] = _place(codes[chosen].astype(np.float64), seed)
    return points


def _place(codes: Floats, seed: int) -> Floats:
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    if np.allclose(codes, codes[0]):
        return np.zeros((len(codes), 2))
    if codes.shape[1] > WIDE:
        parts = min(WIDE, len(codes))
        codes = PCA(parts, random_state=seed).fit_transform(codes)
    if codes.shape[1] == 1:
        codes = np.hstack([codes, np.zeros_like(codes)])  # PCA gives two places to start from
    perplexity = min(30.0, (len(codes) - 1) / 3)
    model = TSNE(2, init="pca", perplexity=perplexity, random_state=seed)
    return model.fit_transform(codes).astype(np.float64)
