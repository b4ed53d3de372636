"""`--preview-every`: swapped validation sequences as pictures while training goes on."""

from pathlib import Path
from typing import Any

import lightning
import torch
from lightning import Trainer
from torch import Tensor

from unbraid.data.corpus import Split
from unbraid.evaluation import manipulate
from unbraid.figures.sequences.render import render
from unbraid.workflows.track.loggers import log_picture


class Previews(lightning.Callback):
    """Writes `previews/step-<step>.png` of a swap, and gives it to the trackers.

    Codes are posterior means and the model is in evaluation mode meanwhile: nothing is drawn, so
    the run is the same with and without previews.
    """

    def __init__(self, split: Split, folder: Path, every: int) -> None:
        """Take the sequences, the run folder and the steps between pictures."""
        if every < 1:
            raise ValueError(f"--preview-every must be 1 or more, got {every}.")
        if len(split) < 2:
            raise ValueError(f"a preview swaps two sequences, validation has {len(split)}.")
        self.folder, self.every = folder / "previews", every
        self.a, self.b = split.take([0]), split.take([len(split) // 2])

    def on_train_batch_end(self, trainer: Trainer, module: Any, *_: Any) -> None:
        step = trainer.global_step
        if step % self.every or not trainer.is_global_zero:
            return
        picture = self.draw(module.method, step)
        for logger in trainer.loggers:
            log_picture(logger, "swap", picture, step)

    def draw(self, method: Any, step: int) -> Path:
        """Write the picture of this step."""
        device, training = next(method.parameters()).device, method.training
        a, b = self.a.to(device), self.b.to(device)
        method.eval()
        with torch.inference_mode():
            first, second = manipulate.swap(method, a, b)
        method.train(training)
        rows = [("a", a.x, a), ("b", b.x, b), ("a doing b", first, b), ("b doing a", second, a)]
        shown = [(name, _steps(x, batch.mask)) for name, x, batch in rows]
        files = render(self.folder, f"step-{step:07d}", method.spec, shown, columns=4)
        return next(file for file in files if file.suffix == ".png")


def _steps(x: Tensor, mask: Tensor) -> Any:
    return x[0, : int(mask.sum())].float().cpu().numpy()
