"""`SequenceDisentangler`: fit, transform and the other verbs of scikit-learn."""

import copy
import os
import tempfile
from numbers import Integral
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import (
    _check_feature_names_in,
    check_is_fitted,
    validate_data,
)

from unbraid.data.corpus import Array, Corpus, Split
from unbraid.data.readers.panels import Panel, as_panel, frame_index, is_table
from unbraid.evaluation import manipulate
from unbraid.evaluation.manipulate import Embedding, decode
from unbraid.evaluation.protocols.selection import held_out_nats
from unbraid.methods.base import Method
from unbraid.records import Batch, Codes
from unbraid.rows import read_rows
from unbraid.runs.run import Run, torch_device
from unbraid.screen import Screen
from unbraid.shapes import ShapeError
from unbraid.sklearn.inputs import (
    check_values,
    collection_like,
    corpus_of,
    fit_settings,
    with_spec,
)
from unbraid.sklearn.store import StoredEstimator
from unbraid.sklearn.tables import code_names, code_table, codes_of_table, in_data_units
from unbraid.training.fit import fit

OUTPUTS = ("static", "dynamic", "both")


class SequenceDisentangler(StoredEstimator, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Split sequences into a static code s and a dynamic code d_t, as a transformer.

    X is an array (N, T, F), a table (N, T) of one channel, an array of video (N, T, C, H, W), a
    list of arrays (T_i, F) of unequal length, or a data frame (see `sequence`). NaN is a missing
    value of a series. Labels are not used: y is ignored.

    Args:
        method: name or class of a method; None: the recommended one for the kind of data.
        output: what `transform` returns of a sequence: "static" (s), "dynamic" (all d_t in a row)
            or "both". Steps beyond the end of a short sequence are NaN.
        static_dim: numbers of s; None: as the preset says.
        dynamic_dim: numbers of d_t; None: as the preset says.
        kind: "auto", "video", "audio" or "series"; auto goes by the number of axes.
        window: rows of a series that are one step; 0: chosen for about 20 steps.
        channels_first: X is (N, F, T), as in aeon and sktime.
        sequence: column of a long data frame that tells sequences apart. Without it a frame has an
            index of (sequence, time), or a row per sequence.
        time: column of a long data frame to order the rows by.
        preset: settings to start from, see `unbraid.fit`.
        settings: what differs, e.g. `{"training": {"lr": 1e-3}}`.
        max_steps: budget in optimiser steps; None: as the preset says.
        max_minutes: budget in minutes; None: as the preset says.
        validation_fraction: share of the sequences on which training is judged.
        test_fraction: share left untouched, as by `unbraid.fit`; 0: these are trained on, too.
        warm_start: let a second `fit` go on from the weights of the first.
        random_state: seed of every draw. The default gives the same result each time.
        n_jobs: processes that encode; None: one, -1: one per core.
        device: "cpu", "cuda" or "auto".
        out: folder to keep the run folder in; None: only the model is kept.
        verbose: 1 shows progress.

    Attributes:
        model_: the trained `unbraid.Method`.
        n_features_in_: columns of a table, else channels.
        feature_names_in_: names of the columns of a table, if it is a data frame.
        n_iter_: optimiser steps made.
        history_: rows of the training log: step, loss and its terms.
        run_: the run folder if `out` is given, else None.
    """

    # Any value is accepted here and refused by `fit`: that is scikit-learn's rule.
    def __init__(  # noqa: PLR0913 an estimator's settings are its arguments
        self,
        method: Any = None,
        *,
        output: Any = "static",
        static_dim: Any = None,
        dynamic_dim: Any = None,
        kind: Any = "auto",
        window: Any = 0,
        channels_first: Any = False,
        sequence: Any = None,
        time: Any = None,
        preset: Any = None,
        settings: Any = None,
        max_steps: Any = None,
        max_minutes: Any = None,
        validation_fraction: Any = 0.1,
        test_fraction: Any = 0.1,
        warm_start: Any = False,
        random_state: Any = 0,
        n_jobs: Any = None,
        device: Any = "cpu",
        out: Any = None,
        verbose: Any = 0,
    ) -> None:
        self.method, self.output = method, output
        self.static_dim, self.dynamic_dim = static_dim, dynamic_dim
        self.kind, self.window = kind, window
        self.channels_first = channels_first
        self.sequence, self.time = sequence, time
        self.preset, self.settings = preset, settings
        self.max_steps, self.max_minutes = max_steps, max_minutes
        self.validation_fraction = validation_fraction
        self.test_fraction = test_fraction
        self.warm_start, self.random_state = warm_start, random_state
        self.n_jobs, self.device = n_jobs, device
        self.out, self.verbose = out, verbose

    def fit(self, X: Any, y: Any = None) -> "SequenceDisentangler":
        """Train on sequences; y is ignored."""
        self._check_output()
        corpus = self.make_corpus(X)
        before: Method | None = getattr(self, "model_", None) if self.warm_start else None
        if before is not None:  # a copy, so that a training that fails leaves the model alone
            corpus, before = with_spec(corpus, before.spec), copy.deepcopy(before)
        with tempfile.TemporaryDirectory() as folder:
            run = fit(
                corpus,
                before or self.method,
                preset=self.preset,
                settings=self._settings(fresh=before is None),
                seed=self._seed(),
                out=self.out or folder,
                console=Screen() if self.verbose else None,
                device=torch_device(self.device),
            )
            self._keep(run)
        return self

    def make_corpus(self, X: Any) -> Corpus:
        """Return the corpus that `fit` trains on: `unbraid.fit(model.make_corpus(X))` is the same.

        Its splits are those of `unbraid.from_arrays`.
        """
        panel = self._panel(X, reset=True)
        if panel.flat and panel.x[0].shape[0] == 1:
            raise ValueError("a sequence needs two steps at least, got n_features=1.")
        split = {
            "test": self.test_fraction or self.validation_fraction,
            "validation": self.validation_fraction,
        }
        kind = "series" if panel.flat and self.kind == "auto" else self.kind
        options = {"kind": kind, "window": self.window, "split": split}
        return corpus_of(panel, options, keep_test=bool(self.test_fraction))

    def transform(self, X: Any) -> Any:
        """Return the codes of sequences, one row each, with the columns `output` asks for."""
        self._check_output()
        split, panel = self._split(X)
        table = code_table(self._embed(split), self.output, self.model_.spec.length)
        if panel.ids is None or _get_output_config("transform", self)["dense"] != "pandas":
            return table
        import pandas

        # An index of sequences: the rows of a long frame are steps.
        return pandas.DataFrame(table, index=panel.ids)

    def encode(self, X: Any) -> Embedding:
        """Return the codes as arrays: s (N, S), d (N, T, D) and which steps there are (N, T)."""
        return self._embed(self._split(X)[0])

    def inverse_transform(self, X: Any) -> Array:
        """Return the sequences of codes that `transform` made with output="both".

        They have the axes and units of the data, and NaN beyond their end.
        """
        check_is_fitted(self)
        if self.output != "both":
            raise ValueError(f'only output="both" can be inverted, got "{self.output}".')
        spec = self.model_.spec
        table = np.asarray(X, dtype=np.float32)
        codes, steps = codes_of_table(table, self._sizes(), spec.length)
        window = spec.frame[0] if spec.kind == "series" else 1
        return self._raw(decode(self.model_, codes), np.minimum(steps * window, self._rows))

    def swap(self, a: Any, b: Any) -> tuple[Array, Array]:
        """Return (static of a, dynamics of b) and the reverse, in the units of the data."""
        (first, rows_a), (second, rows_b) = (self._batch(X) for X in (a, b))
        if len(first) != len(second):
            raise ShapeError(
                f"a and b must be equally many sequences, got {len(first)} and {len(second)}."
            )
        z_a, z_b = (manipulate.encode(self.model_, batch) for batch in (first, second))
        ab = decode(self.model_, Codes(z_a.s, z_b.d))
        ba = decode(self.model_, Codes(z_b.s, z_a.d))
        return self._raw(ab, rows_b), self._raw(ba, rows_a)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the evidence bound of sequences in nats per sequence; higher is better."""
        split = self._split(X)[0]
        return -held_out_nats(self.model_, split, limit=len(split), seed=self._seed())

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns: s_0, s_1, ... and d_<step>_<number>."""
        self._check_output()
        check_is_fitted(self)
        _check_feature_names_in(self, input_features, generate_names=False)
        names = code_names(self.output, self._sizes(), self.model_.spec.length)
        return np.array(names, dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = []  # codes are float32
        return tags

    def _keep(self, run: Run) -> None:
        """Take over what a training has made."""
        about = run.about["training"]
        self.model_ = run.model(torch_device(self.device))
        self.n_iter_ = int(about["steps"])
        rows = read_rows(run.path / "log.csv") if (run.path / "log.csv").is_file() else []
        self.history_ = [{name: float(value) for name, value in row.items()} for row in rows]
        self.run_ = run if self.out else None

    def _settings(self, *, fresh: bool) -> dict[str, Any]:
        sizes = {"static_dim": self.static_dim, "dynamic_dim": self.dynamic_dim}
        budget = {"steps": self.max_steps, "max_minutes": self.max_minutes}
        return fit_settings(self.settings or {}, sizes if fresh else None, budget)

    def _embed(self, split: Split) -> Embedding:
        jobs = os.cpu_count() or 1 if self.n_jobs == -1 else self.n_jobs or 1
        return manipulate.embed(self.model_, split, devices=min(jobs, len(split)))

    def _batch(self, X: Any) -> tuple[Batch, NDArray[np.int64]]:
        """Return all sequences as one batch, and how many rows each has."""
        split, panel = self._split(X)
        rows = np.array([len(part) for part in panel.x])
        return split.take(slice(None), torch_device(self.device)), rows

    def _split(self, X: Any) -> tuple[Split, Panel]:
        """Return sequences as this model's data would hold them."""
        check_is_fitted(self)
        panel, spec = self._panel(X, reset=False), self.model_.spec
        return collection_like(panel, spec).whole(spec), panel

    def _panel(self, X: Any, *, reset: bool) -> Panel:
        """Return X as a panel, checked; `reset`: remember what it looks like."""
        if is_table(X, self.sequence):
            values = validate_data(
                self, X, reset=reset, dtype="numeric", ensure_all_finite="allow-nan"
            )
            panel = Panel(values[..., None].astype(np.float32), frame_index(X), flat=True)
        else:
            how = {"sequence": self.sequence, "time": self.time}
            panel = as_panel(X, channels_first=self.channels_first, **how)
            self._check_channels(panel, reset)
        check_values(panel)
        if reset:
            self._flat, self._rows = panel.flat, max(len(part) for part in panel.x)
        return panel

    def _check_channels(self, panel: Panel, reset: bool) -> None:
        channels = int(np.shape(panel.x[0])[-1])
        if reset:
            self.n_features_in_ = channels
            self.__dict__.pop("feature_names_in_", None)
        elif channels != self.n_features_in_:
            raise ValueError(
                f"X has {channels} channels, but SequenceDisentangler was fitted with "
                f"{self.n_features_in_}."
            )

    def _raw(self, x: torch.Tensor, rows: NDArray[np.int64]) -> Array:
        values = in_data_units(self.model_.spec, x, rows)
        return values[..., 0] if self._flat else values

    def _sizes(self) -> tuple[int, int]:
        return self.model_.config.static_dim, self.model_.config.dynamic_dim

    def _seed(self) -> int:
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _check_output(self) -> None:
        if self.output not in OUTPUTS:
            raise ValueError(f"output must be {', '.join(OUTPUTS)}, got {self.output!r}.")
