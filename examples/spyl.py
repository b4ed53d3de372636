"""SPYL on moving digits, by hand: the whole loop in sight, no Lightning."""

import sys

import torch

import unbraid
from unbraid.methods.spyl import SPYL, SPYLConfig
from unbraid.nets import NetConfig

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 60  # fewer for a first try
corpus = unbraid.load_data("toy-digits", {"train": 300, "validation": 30, "test": 30})
config = SPYLConfig(
    static_dim=64,
    w_reconstruction=1.0,
    w_kl_dynamic=0.1,
    net=NetConfig(channels=(8, 16, 32, 64)),
)
torch.manual_seed(0)
model = SPYL(corpus.spec, config)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for step in range(steps):
    batch = corpus.train.take(torch.randint(len(corpus.train), (12,)).numpy())
    terms = model.loss(batch, step)
    loss = sum(weight * value for weight, value in terms.values())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % max(1, steps // 5) == 0:
        print(step, {name: round(value.item(), 1) for name, (_, value) in terms.items()})

model.eval()
new = unbraid.sample(model, 4, length=20)  # longer than any training sequence
print("four new sequences:", tuple(new.shape))
