"""DBSE on drawn characters, by hand: the whole loop in sight, no Lightning."""

import sys

import torch

import unbraid
from unbraid.methods.dbse import DBSE, DBSEConfig
from unbraid.nets import NetConfig

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 100  # fewer for a first try
corpus = unbraid.load_data("toy-sprites", {"train": 400, "validation": 40, "test": 40})
config = DBSEConfig(
    static_dim=64,
    dynamic_dim=64,
    net=NetConfig(channels=(8, 16, 32, 64)),
)
torch.manual_seed(0)
model = DBSE(corpus.spec, config)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for step in range(steps):
    batch = corpus.train.take(torch.randint(len(corpus.train), (16,)).numpy())
    terms = model.loss(batch, step)
    loss = sum(weight * value for weight, value in terms.values())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % max(1, steps // 5) == 0:
        print(step, {name: round(value.item(), 1) for name, (_, value) in terms.items()})

model.eval()
a, b = corpus.test.take(0), corpus.test.take(1)
ab, ba = unbraid.swap(model, a, b)
print("who a is, doing what b does:", tuple(ab.shape))
