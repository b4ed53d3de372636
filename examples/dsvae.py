"""DSVAE on a series with gaps, by hand: the whole loop in sight, no Lightning."""

import sys

import torch

import unbraid
from unbraid.methods.dsvae import DSVAE, DSVAEConfig
from unbraid.nets import NetConfig

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 300  # fewer for a first try
corpus = unbraid.load_data("toy-series", {"train": 600, "validation": 60, "test": 120})
config = DSVAEConfig(
    static_dim=8,
    dynamic_dim=8,
    net=NetConfig(hidden=32),
)
torch.manual_seed(0)
model = DSVAE(corpus.spec, config)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for step in range(steps):
    batch = corpus.train.take(torch.randint(len(corpus.train), (32,)).numpy())
    terms = model.loss(batch, step)
    loss = sum(weight * value for weight, value in terms.values())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % max(1, steps // 5) == 0:
        print(step, {name: round(value.item(), 1) for name, (_, value) in terms.items()})

model.eval()
codes = unbraid.embed(model, corpus.test)  # unequal lengths: codes.mask says which steps exist
for row in unbraid.probe(codes, corpus.test, seeds=3):
    print(f"{row.code} tells {row.factor}: {row.mean:.2f}, chance {row.chance:.2f}")
