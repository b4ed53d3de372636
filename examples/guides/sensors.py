"""Guide: sensor series; where they are and when is in s, what happens is in d; an anomaly score.

    python examples/guides/sensors.py [steps]

Beijing Multi-Site Air Quality (open, CC BY 4.0): 28 days of hourly values, ten sensors.
"""

import sys
import tempfile

import numpy as np
import torch

import unbraid
from unbraid.evaluation import manipulate
from unbraid.records import Codes

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
out = tempfile.mkdtemp()
settings = {"training": {"steps": steps}}
run = unbraid.fit("air-quality", settings=settings, out=out, device="cpu")
model, corpus = run.model(), run.corpus()

# 1. What each code tells: season is static here, rain of a day dynamic.
for row in unbraid.evaluate(run)["separation"]["factors"]:
    print(row)

# 2. Anomaly score of a day: how unlikely d_t is under the prior given the days before, s fixed.
test = corpus.test.take(slice(None))
codes = manipulate.encode(model, test)


def score(z: Codes) -> np.ndarray:
    """Return -log p(d_t | d_<t) of every day."""
    with torch.inference_mode():
        p = model.prior(z.d, test.mask)
    nats = 0.5 * (p.log_var + (z.d - p.mean).square() / p.log_var.exp()).sum(-1)
    return nats.numpy()


# Faults put into one day of every sequence: two sensors stuck at three standard deviations.
rng = np.random.default_rng(0)
days = rng.integers(8, test.x.shape[1] - 4, len(test))
broken = test.x.clone()
for i, day in enumerate(days):
    broken[i, day, :, :2] = 3.0
faulty = score(manipulate.encode(model, test.with_x(broken)))
ranks = [(row > row[day]).sum() for row, day in zip(faulty, days, strict=True)]
print(
    f"day of the fault has the highest score of 28 in {np.mean(np.array(ranks) == 0):.0%} of "
    f"{len(test)} sequences, is among the three highest in {np.mean(np.array(ranks) < 3):.0%}"
)
print(f"by chance: {1 / 28:.0%} and {3 / 28:.0%}; median score {np.median(score(codes)):.1f} nats")
