"""`--logger`: Lightning's trackers by name.

All write to files of the run folder; W&B online and an MLflow server of your own send, too.
"""

import os
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from lightning.pytorch import loggers as trackers
from lightning.pytorch.loggers import Logger

from unbraid.settings import closest

PACKAGES = {"csv": "", "tensorboard": "tensorboard", "wandb": "wandb", "mlflow": "mlflow"}
"""Tracker -> the package it needs."""
LOGGERS = tuple(PACKAGES)


def make_loggers(names: Sequence[str], folder: Path) -> list[Logger]:
    """Return trackers for a run; nothing is sent unless `wandb` is asked for and online.

    Args:
        names: of `LOGGERS`.
        folder: of the run.

    Raises:
        ValueError: there is no such tracker, or its package is not installed.
    """
    for name in names:
        if name not in LOGGERS:
            raise ValueError(
                f"--logger must be {', '.join(LOGGERS)}, got {name!r}.{closest(name, LOGGERS)}"
            )
        _require(name)
    makers: dict[str, Callable[[], Logger]] = {
        "csv": lambda: trackers.CSVLogger(folder, name="tracking", version="csv"),
        "tensorboard": lambda: trackers.TensorBoardLogger(
            folder, name="tracking", version="tensorboard", default_hp_metric=False
        ),
        "wandb": lambda: trackers.WandbLogger(
            name="/".join(folder.parts[-3:]), project="unbraid", save_dir=folder / "tracking"
        ),
        "mlflow": lambda: _mlflow(folder),
    }
    return [makers[name]() for name in dict.fromkeys(names)]


def log_picture(logger: Logger, name: str, path: Path, step: int) -> None:
    """Give a tracker a picture; one that takes none is left alone."""
    if isinstance(logger, trackers.TensorBoardLogger):
        import numpy as np
        from PIL import Image

        with Image.open(path) as picture:
            pixels = np.asarray(picture.convert("RGB"))
        logger.experiment.add_image(name, pixels, step, dataformats="HWC")
    elif isinstance(logger, trackers.WandbLogger):
        logger.log_image(name, [str(path)], step=step)
    elif isinstance(logger, trackers.MLFlowLogger):
        logger.experiment.log_artifact(logger.run_id, str(path), name)


def _mlflow(folder: Path) -> Any:
    """Return a tracker whose store is a folder of the run, unless MLFLOW_TRACKING_URI names one."""
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")  # MLflow 3 prefers a database
    local = (folder / "tracking" / "mlflow").absolute().as_uri()
    store = os.environ.get("MLFLOW_TRACKING_URI") or local
    return trackers.MLFlowLogger("unbraid", "/".join(folder.parts[-3:]), tracking_uri=store)


def _require(name: str) -> None:
    package = PACKAGES[name]
    try:
        import_module(package) if package else None
    except ImportError:
        raise ValueError(
            f'--logger {name} needs {package}: pip install "unbraid[{package}]".'
        ) from None
