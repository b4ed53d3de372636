"""
Machines: a disturbance is found by the reconstruction
======================================================

Train on undisturbed series. A disturbance that the codes cannot express shows up in the
reconstruction error of its steps.
"""

import tempfile

import matplotlib.pyplot as plt
import numpy as np

import unbraid

rng = np.random.default_rng(0)
t = np.arange(80)
speed = rng.uniform(0.2, 0.5, 120)  # of the machine: static
x = np.sin(speed[:, None] * t + rng.uniform(0, 6, (120, 1))) + 0.05 * rng.normal(size=(120, 80))
corpus = unbraid.from_arrays(x[..., None], name="machines", options={"window": 4})
settings = {"training": {"steps": 150}}
run = unbraid.fit(corpus, settings=settings, out=tempfile.mkdtemp(), device="cpu")

# %%
# One test sequence with a jump between rows 40 and 48.

model, batch = run.model(), corpus.test.take([0])
batch.x[0, 10:12] += 2.5
error = (unbraid.reconstruct(model, batch) - batch.x).abs().mean((2, 3))[0]
plt.figure(figsize=(6, 2.4))
plt.plot(batch.x[0].flatten(), label="x")
plt.step(np.arange(20) * 4, error, where="post", label="error of a step")
plt.legend()
plt.show()
