"""Trainings that are stopped on the way."""

from typing import Any

import pytest

from unbraid.training.callbacks import Clock


def interrupt_at(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop training after a step, as Ctrl-C does."""
    plain = Clock.on_train_batch_end

    def stopping(self: Clock, trainer: Any, *rest: Any) -> None:
        plain(self, trainer, *rest)
        if trainer.global_step == step:
            self.stop(trainer, "interrupted")

    monkeypatch.setattr(Clock, "on_train_batch_end", stopping)
