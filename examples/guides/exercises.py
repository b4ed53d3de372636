"""Guide: a sensor at the wrist; who wears it is in s, which exercise it is in d.

    pip install seglearn
    python examples/guides/exercises.py [minutes]

Smartwatch recordings of seven shoulder exercises by ten people, shipped with seglearn (BSD): 140
recordings of six channels at 50 Hz, cut into pieces of 10 s.
"""

import sys
import tempfile

import pandas as pd
from seglearn.datasets import load_watch

import unbraid

minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
data = load_watch()
frames = [
    pd.DataFrame(x, columns=data["X_labels"]).assign(
        recording=f"r{i}", person=f"p{data['subject'][i]}", exercise=data["y_labels"][data["y"][i]]
    )
    for i, x in enumerate(data["X"])
]
corpus = unbraid.from_frame(
    pd.concat(frames, ignore_index=True),
    name="exercises",
    options={
        "sequence": "recording",
        "labels": ["person", "exercise"],
        "dynamic": ["exercise"],
        "piece": 500,
    },
)
settings = {"training": {"max_minutes": minutes}}
run = unbraid.fit(corpus, settings=settings, out=tempfile.mkdtemp(), device="cpu")
result = unbraid.evaluate(run)["separation"]
for row in result["factors"]:
    print(row)
