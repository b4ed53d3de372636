"""C-DSVAE on voices, by hand: the whole loop in sight, no Lightning."""

import sys

import torch

import unbraid
from unbraid.methods.cdsvae import CDSVAE, CDSVAEConfig
from unbraid.nets import NetConfig

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 300  # fewer for a first try
corpus = unbraid.load_data(
    "toy-voices", {"speakers": 12, "validation_speakers": 2, "test_speakers": 6}
)
config = CDSVAEConfig(
    static_dim=32,
    dynamic_dim=16,
    w_kl_dynamic=0.1,
    net=NetConfig(hidden=64),
)
torch.manual_seed(0)
model = CDSVAE(corpus.spec, config)
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
a, b = corpus.test.take(0), corpus.test.take(1)
ab, ba = unbraid.swap(model, a, b)
print("who a is, doing what b does:", tuple(ab.shape))
