"""What supervised models on raw values of PhysioNet reach: `python -m benchmarks.supervised`.

What codes learned without labels can be compared with, on the stays of `unbraid reproduce
physionet`. Every variable is summarised by its mean, lowest, highest, first and last value,
deviation and count over the observed hours. Training and validation stays teach; no setting was
tuned. The last lines are the mean of the three outputs, and its spread over redrawn test stays.
"""

import warnings
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unbraid.data import load_data
from unbraid.data.corpus import Split
from unbraid.evaluation.metrics.prediction import auprc, auroc

TARGET = "mortality"
REDRAWS = 1000
Array = NDArray[np.float64]


def main() -> None:
    """Print AUPRC and AUROC of three kinds of model and of their mean."""
    corpus = load_data("physionet", {"grid": "first"})
    parts = [_summaries(split) for split in (corpus.train, corpus.validation, corpus.test)]
    known, unseen = np.concatenate(parts[:2]), parts[2]
    middle = np.nanmedian(known, 0)
    known, unseen = (np.where(np.isnan(part), middle, part) for part in (known, unseen))
    labels = np.concatenate([corpus.train.label(TARGET), corpus.validation.label(TARGET)])
    target, outputs = corpus.test.label(TARGET), []
    for name, model in _models():
        outputs.append(model.fit(known, labels).predict_proba(unseen)[:, 1])
        print(f"{name:20}{auprc(outputs[-1], target):.3f}  {auroc(outputs[-1], target):.3f}")
    mean = np.mean(outputs, 0)
    draws = np.random.default_rng(0).integers(0, len(target), (REDRAWS, len(target)))
    spread = [np.std([score(mean[i], target[i]) for i in draws]) for score in (auprc, auroc)]
    print(f"{'mean of the outputs':20}{auprc(mean, target):.3f}  {auroc(mean, target):.3f}")
    print(f"{'test stays redrawn':20}±{spread[0]:.3f} ±{spread[1]:.3f}")


def _models() -> Iterator[tuple[str, ClassifierMixin]]:
    linear = LogisticRegression(C=0.01, max_iter=5000)
    yield "logistic regression", make_pipeline(StandardScaler(), linear)
    shape = {"max_iter": 150, "learning_rate": 0.03, "max_leaf_nodes": 8, "l2_regularization": 10}
    yield "boosted trees", HistGradientBoostingClassifier(**shape, random_state=0)
    yield "extra trees", ExtraTreesClassifier(1000, min_samples_leaf=5, random_state=0)


def _summaries(split: Split) -> Array:
    """Return seven summaries of every variable, NaN where nothing was observed."""
    batch = split.take(slice(None))
    valid = (batch.valid & batch.mask[..., None, None]).flatten(1, 2).numpy()  # (N, hours, F)
    x = np.where(valid, batch.x.flatten(1, 2).numpy(), np.nan)
    with warnings.catch_warnings():  # variables that were never observed
        warnings.simplefilter("ignore", RuntimeWarning)
        columns = [score(x, axis=1) for score in (np.nanmean, np.nanmin, np.nanmax, np.nanstd)]
    first = valid.argmax(1)
    last = valid.shape[1] - 1 - valid[:, ::-1].argmax(1)
    columns += [np.take_along_axis(x, at[:, None], 1)[:, 0] for at in (first, last)]
    return np.concatenate([*columns, valid.sum(1)], 1)


if __name__ == "__main__":
    main()
