"""Lightning's Trainer as runs use it: quiet, without pickle, stopped by SIGINT or SIGTERM."""

import logging
import signal
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

import lightning
from lightning.pytorch.loggers import Logger
from lightning.pytorch.plugins.layer_sync import LayerSync
from lightning.pytorch.strategies import DDPStrategy
from torch import nn

from unbraid.parallel.batchnorm import keep_statistics, share_statistics
from unbraid.parallel.launch import process_info
from unbraid.parallel.signals import STOPS, handled
from unbraid.precision import Format
from unbraid.runs.checkpoint import SafeCheckpointIO
from unbraid.runs.config import TrainingConfig
from unbraid.training.callbacks import Clock

Loggers = Logger | Iterable[Logger] | None
LIGHTNING: dict[Format, Literal["32-true", "bf16-mixed"]] = {
    "fp32": "32-true",
    "bf16": "bf16-mixed",
}


def make_trainer(
    callbacks: list[lightning.Callback],
    steps: int,
    config: TrainingConfig,
    device: str,
    *,
    logger: Loggers = None,
) -> lightning.Trainer:
    """Return a Trainer that keeps to our own bookkeeping, tells a user's loggers, and is quiet.

    If this process was started with others, they train together (DDP).
    """
    with quiet():
        return lightning.Trainer(
            accelerator="cpu" if device == "cpu" else "auto",
            max_steps=steps,
            max_epochs=-1,
            callbacks=callbacks,
            logger=logger or False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            num_sanity_val_steps=0,
            precision=LIGHTNING[config.number_format],
            gradient_clip_val=config.clip or None,
            **_processes(device),
        )


def _processes(device: str) -> dict[str, Any]:
    """Return the Trainer's settings for the processes there are."""
    here, plugins = process_info(), [SafeCheckpointIO()]
    if here.size == 1:
        return {"devices": 1, "plugins": plugins}
    on_cpu = device == "cpu"
    return {
        "devices": here.local_size,
        "num_nodes": here.nodes,
        # BatchNorm's statistics are those of all processes: no need to send them around.
        "strategy": DDPStrategy(broadcast_buffers=False, gradient_as_bucket_view=True),
        "plugins": [*plugins, SharedStatistics()] if on_cpu else plugins,
        "sync_batchnorm": not on_cpu,
    }


class SharedStatistics(LayerSync):
    """BatchNorm over all processes on CPUs, for which Lightning's own plugin is not made."""

    def apply(self, model: nn.Module) -> nn.Module:
        share_statistics(model)
        return model

    def revert(self, model: nn.Module) -> nn.Module:
        keep_statistics(model)
        return model


@contextmanager
def quiet() -> Iterator[None]:
    """Keep Lightning's tips and notices off the screen."""
    loggers = [logging.getLogger(f"lightning.{part}") for part in ("pytorch", "fabric")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@contextmanager
def stop_on_signal(clock: Clock, trainer: lightning.Trainer) -> Iterator[None]:
    """Turn the first Ctrl-C or SIGTERM into a stop after the present step."""

    def stop(number: int, frame: Any) -> None:
        signal.signal(number, signal.default_int_handler)  # a second one stops at once
        clock.stop(trainer, "interrupted")

    with handled(stop, *STOPS) as ours:
        if ours:
            clock.on_signal = stop
        yield
