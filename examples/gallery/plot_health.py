"""
Health: missing values in a scikit-learn pipeline
=================================================

Series with gaps, as patients' records have them. The static code is a profile of a fixed size,
which any classifier takes.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import unbraid
from unbraid.sklearn import SequenceDisentangler

corpus = unbraid.load_data("toy-series", {"train": 200, "validation": 20, "test": 20})
train = corpus.train
x = np.where(train.observed[train.rows], train.x[train.rows], np.nan)
sequences = list(x.reshape(len(x), -1, x.shape[-1]))
y = train.label(corpus.spec.static[0].name)
print(f"{np.isnan(x).mean():.0%} of the values are missing")

# %%
# Codes are learned without labels, inside every fold.

profile = SequenceDisentangler(max_steps=40, window=corpus.spec.frame[0])
scores = cross_val_score(
    make_pipeline(profile, LogisticRegression(max_iter=1000)), sequences, y, cv=3
)
chance = np.bincount(y).max() / len(y)
print(f"accuracy {scores.mean():.2f}, largest class {chance:.2f}")
plt.figure(figsize=(4, 2.4))
plt.bar(["fold 1", "fold 2", "fold 3"], scores)
plt.axhline(chance, color="black", linestyle=":", label="largest class")
plt.ylabel("accuracy")
plt.legend()
plt.show()
