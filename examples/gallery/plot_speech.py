"""
Speech: who speaks is in s
==========================

Embedded voices as log-mel features. The static codes of the test sequences, coloured by speaker.
"""

import tempfile

import matplotlib.pyplot as plt
from sklearn.decomposition import PCA

import unbraid

settings = {"training": {"steps": 60}}
run = unbraid.fit("toy-voices", settings=settings, out=tempfile.mkdtemp(), device="cpu")
test = run.corpus().test
codes = unbraid.embed(run.model(), test)
factor = test.spec.static[0]

# %%
# Two principal components of s.

points = PCA(2).fit_transform(codes.s)
plt.figure(figsize=(5, 4))
plt.scatter(*points.T, c=test.label(factor.name), cmap="tab10", s=14)
plt.title(f"s of {len(test)} sequences, by {factor.name}")
plt.show()
