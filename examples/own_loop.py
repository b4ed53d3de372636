"""A method inside your own Lightning module: your loop, your optimiser, no run folder."""

import sys

import lightning
import torch
from torch.utils.data import DataLoader

import unbraid
from unbraid.methods.cdsvae import CDSVAE, CDSVAEConfig
from unbraid.nets import NetConfig

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 300  # fewer for a first try
corpus = unbraid.load_data(
    "toy-voices", {"speakers": 12, "validation_speakers": 2, "test_speakers": 6}
)


class Mine(lightning.LightningModule):
    """Everything a method needs is `loss(batch, step)`: rows of (weight, value)."""

    def __init__(self) -> None:
        super().__init__()
        config = CDSVAEConfig(static_dim=16, dynamic_dim=8, net=NetConfig(hidden=64))
        self.method = CDSVAE(corpus.spec, config)

    def training_step(self, batch: unbraid.Batch, index: int) -> torch.Tensor:
        terms = self.method.loss(batch, self.global_step)
        return sum(weight * value for weight, value in terms.values())

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.parameters(), lr=2e-3)


lightning.seed_everything(0, verbose=False)
module = Mine()
loader = DataLoader(
    range(len(corpus.train)), batch_size=32, shuffle=True, collate_fn=corpus.train.take
)
trainer = lightning.Trainer(
    max_steps=steps,
    max_epochs=-1,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(module, loader)

codes = unbraid.embed(module.method.eval(), corpus.test)
for row in unbraid.probe(codes, corpus.test, seeds=3):
    print(f"{row.code} tells {row.factor}: {row.mean:.2f}, chance {row.chance:.2f}")
