"""A frame encoder of your own in a method of ours: everything else stays as it is."""

import sys

import torch
from torch import nn

import unbraid
from unbraid.methods.dsvae import DSVAE, DSVAEConfig
from unbraid.nets import NetConfig
from unbraid.records import Batch, Features, per_step


class PatchEncoder(nn.Module):
    """Cuts a frame into patches of 8 x 8 pixels and mixes what each of them shows."""

    def __init__(self, frame: tuple[int, ...], features: int = 64) -> None:
        super().__init__()
        self.features = features  # what posteriors ask for
        patches = (frame[1] // 8) * (frame[2] // 8)
        self.net = nn.Sequential(
            nn.Conv2d(frame[0], 32, kernel_size=8, stride=8),
            nn.GELU(),
            nn.Flatten(),
            nn.Linear(32 * patches, features),
            nn.GELU(),
        )

    def forward(self, batch: Batch) -> Features:
        return per_step(self.net, batch.x, batch.mask)  # padded steps never reach the net


steps = int(sys.argv[1]) if len(sys.argv) > 1 else 300  # fewer for a first try
out = sys.argv[2] if len(sys.argv) > 2 else "runs"
corpus = unbraid.load_data("toy-sprites", {"train": 600, "validation": 60, "test": 120})
config = DSVAEConfig(
    static_dim=32, dynamic_dim=16, posterior="pooled", net=NetConfig(channels=(8, 16, 32, 32))
)
torch.manual_seed(0)
model = DSVAE(corpus.spec, config, encoder=PatchEncoder(corpus.spec.frame))
run = unbraid.fit(corpus, model, settings={"training": {"steps": steps, "lr": 2e-3}}, out=out)

# A saved model does not say what to import: you bring the network again.
model = unbraid.load_model(run.path, encoder=PatchEncoder(corpus.spec.frame))
for row in unbraid.probe(unbraid.embed(model, corpus.test), corpus.test, seeds=3):
    print(f"{row.code} tells {row.factor}: {row.mean:.2f}, chance {row.chance:.2f}")
