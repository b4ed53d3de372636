"""
Video: swap two characters
==========================

Train on the embedded sprites for some steps, then let one character do what another does.
"""

import tempfile

import matplotlib.pyplot as plt
import numpy as np

import unbraid

settings = {
    "data": {"train": 256, "validation": 32, "test": 32},
    "training": {"steps": 300},
}
run = unbraid.fit("toy-sprites", settings=settings, out=tempfile.mkdtemp(), device="cpu")
model, test = run.model(), run.corpus().test

# %%
# The first two rows are real. The third has the static code of the first and the dynamics of the
# second.

a, b = test.take([0]), test.take([5])
ab, _ = unbraid.swap(model, a, b)
figure, axes = plt.subplots(3, 8, figsize=(8, 3.2))
for row, (name, x) in enumerate((("a", a.x), ("b", b.x), ("a doing b", ab))):
    for step, axis in enumerate(axes[row]):
        axis.imshow(np.clip(x[0, step].float().permute(1, 2, 0).numpy(), 0, 1))
        axis.set_xticks([])
        axis.set_yticks([])
    axes[row, 0].set_ylabel(name)
figure.tight_layout()
plt.show()
