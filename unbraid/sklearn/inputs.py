"""What `fit` and `transform` are given becomes sequences of our own, or a sentence says why not."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from unbraid.data.collection import Collection
from unbraid.data.corpus import Corpus
from unbraid.data.readers import arrays
from unbraid.data.readers.panels import Panel
from unbraid.records import Spec
from unbraid.settings import build, merge
from unbraid.shapes import ShapeError

WHERE = "SequenceDisentangler"


def corpus_of(panel: Panel, options: dict[str, Any], *, keep_test: bool) -> Corpus:
    """Return the corpus of a panel, its splits dealt as by `unbraid.from_arrays`.

    Args:
        panel: the sequences.
        options: of `arrays.Config`.
        keep_test: leave the test sequences alone; else they are trained on, and validation stands
            in for them.
    """
    config = build(arrays.Config, options, where=WHERE)
    collection = _collect(panel, config)
    if len(collection) < 3:
        raise ValueError(
            f"training, validation and test need three sequences at least, got "
            f"n_samples={len(collection)}."
        )
    corpus = collection.deal(config.split)
    if keep_test:
        return corpus
    rows = np.sort(np.concatenate([corpus.train.rows, corpus.test.rows]))
    held_out = corpus.validation.rows
    return collection.cut(train=rows, validation=held_out, test=held_out)


def collection_like(panel: Panel, spec: Spec) -> Collection:
    """Return sequences cut as those a model was trained on."""
    options = {"kind": spec.kind, "window": spec.frame[0] if spec.kind == "series" else 0}
    collection = _collect(panel, build(arrays.Config, options, where=WHERE))
    if collection.x.shape[2:] != spec.frame:
        raise ShapeError(
            f"the model was fitted on elements of shape {spec.frame}, got {collection.x.shape[2:]}."
        )
    return collection


def with_spec(corpus: Corpus, spec: Spec) -> Corpus:
    """Return the sequences of a corpus as a model sees them that was trained before."""
    if corpus.spec.frame != spec.frame or corpus.spec.kind != spec.kind:
        raise ValueError(
            f"warm_start goes on with elements of shape {spec.frame}, got {corpus.spec.frame}. Set "
            "warm_start=False."
        )
    train, validation, test = (
        replace(part, spec=spec) for part in (corpus.train, corpus.validation, corpus.test)
    )
    return replace(corpus, spec=spec, train=train, validation=validation, test=test)


def fit_settings(
    given: Mapping[str, Any], sizes: Mapping[str, Any] | None, budget: Mapping[str, Any]
) -> dict[str, Any]:
    """Return settings with the parameters that are not None; without sizes the model is made."""
    ours = {
        section: {name: value for name, value in table.items() if value is not None}
        for section, table in (("method", sizes or {}), ("training", budget))
    }
    tables = {name: table for name, table in given.items() if name != "method" or sizes is not None}
    return merge(tables, {name: table for name, table in ours.items() if table})


def check_values(panel: Panel) -> None:
    """Refuse what no model can be given: NaN is missing, infinity is a mistake."""
    if not len(panel.x):
        raise ValueError("there are no sequences: n_samples=0.")
    for part in panel.x if isinstance(panel.x, list) else [panel.x]:
        if part.dtype.kind not in "buif":
            raise ValueError(f"sequences must hold real numbers, got {part.dtype}.")
        if part.dtype.kind == "f" and np.isinf(part).any():
            raise ValueError("X holds infinity. A missing value is NaN.")


def _collect(panel: Panel, config: arrays.Config) -> Collection:
    return arrays.collect(panel.x, lengths=None, observed=None, labels={}, name="X", config=config)
