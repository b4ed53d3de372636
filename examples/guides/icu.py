"""Guide: a static profile of ICU patients, with missing values, in a scikit-learn pipeline.

    python examples/guides/icu.py [steps]

PhysioNet 2012 (open): two days of ten measurements, most of them missing.
"""

import sys

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import unbraid
from unbraid.data.corpus import Split
from unbraid.sklearn import SequenceDisentangler


def series(split: Split) -> np.ndarray:
    """Return (N, rows, channels) with NaN where nothing was measured."""
    x = np.where(split.observed[split.rows], split.x[split.rows], np.nan)
    return x.reshape(len(x), -1, x.shape[-1])


def means(x: np.ndarray) -> np.ndarray:
    """Return the baseline: mean of every channel, and how often it was measured."""
    count = np.isfinite(x).sum(1)
    return np.concatenate([np.nansum(x, 1) / np.maximum(count, 1), count], axis=1)


steps = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
corpus = unbraid.load_data("physionet")
train, test = corpus.train, corpus.test
x, x_test = series(train), series(test)
y, y_test = train.label("mortality"), test.label("mortality")
print(f"{len(x)} patients, {np.isnan(x).mean():.0%} of the values missing, {y.mean():.0%} died")

profile = SequenceDisentangler(max_steps=steps, window=4, test_fraction=0, random_state=0)
classifier = LogisticRegression(max_iter=2000, class_weight="balanced")
pipeline = make_pipeline(profile, StandardScaler(), classifier).fit(x, y)
baseline = make_pipeline(StandardScaler(), clone(classifier)).fit(means(x), y)
for name, p in (
    ("profile s", pipeline.predict_proba(x_test)[:, 1]),
    ("means and counts", baseline.predict_proba(means(x_test))[:, 1]),
):
    auroc, auprc = roc_auc_score(y_test, p), average_precision_score(y_test, p)
    print(f"{name}: AUROC {auroc:.3f}, AUPRC {auprc:.3f} (chance 0.5, {y_test.mean():.3f})")
print(f"numbers per patient: s {pipeline[0].transform(x_test).shape[1]}, means {x.shape[-1] * 2}")
