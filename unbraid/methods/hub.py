"""Models of the Hugging Face hub: downloaded, checked and loaded like any other folder."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from unbraid.methods.base import Method
from unbraid.methods.store import load_model
from unbraid.nets import Decoder, Encoder

MODEL_FILES = ("model.json", "model.safetensors")  # nothing else is downloaded


def load(
    name: str | Path,
    *,
    revision: str | None = None,
    device: str | torch.device = "cpu",
    endpoint: str | None = None,
    offline: bool = False,
    **parts: Encoder | Decoder,
) -> Method:
    """Return a model of a folder on this machine, or of the hub, ready for use.

    Only `model.json` and `model.safetensors` are downloaded, and nothing in them is run: the method
    must be one that is installed here.

    Args:
        name: the folder of a model or run, or user/name on the hub. A folder comes first.
        revision: branch, tag or commit on the hub.
        device: where it goes.
        endpoint: another hub than huggingface.co.
        offline: take what was downloaded before, and never ask the hub.
        **parts: networks of your own, see `load_model`.
    """
    folder = Path(name).expanduser()
    if not folder.is_dir():
        folder = _download(str(name), revision, endpoint, offline)
    return load_model(folder, device, **parts)


def _download(name: str, revision: str | None, endpoint: str | None, offline: bool) -> Path:
    """Return the folder of the hub's cache that holds the files of a model."""
    how = {"revision": revision, "endpoint": endpoint, "local_files_only": offline}
    with hub_library(name) as hub:
        paths = [Path(hub.hf_hub_download(name, file, **how)) for file in MODEL_FILES]
    return paths[0].parent


@contextmanager
def hub_library(name: str) -> Iterator[Any]:
    """Yield `huggingface_hub` for a model; its errors become sentences."""
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        raise ValueError(
            f"there is no folder {name}, and a model of the hub is called user/name, got {name!r}."
        )
    try:
        hub = import_module("huggingface_hub")
    except ImportError:
        raise ValueError(
            f"there is no folder {name}; models of the hub need huggingface_hub: pip install "
            '"unbraid[hub]".'
        ) from None
    errors = import_module("huggingface_hub.errors")
    try:
        yield hub
    except errors.RemoteEntryNotFoundError:
        raise ValueError(
            f"{name} is on the hub, but is no model of unbraid: it has no model.json and "
            "model.safetensors."
        ) from None
    except errors.RepositoryNotFoundError:
        raise ValueError(
            f"there is no folder {name}, and the hub has no model of this name, or you may not see "
            "it. Log in with `hf auth login` if it is yours."
        ) from None
    except errors.RevisionNotFoundError:
        raise ValueError(f"{name} has no such revision on the hub.") from None
    except (errors.LocalEntryNotFoundError, errors.OfflineModeIsEnabled):
        raise ValueError(
            f"there is no folder {name}, it was not downloaded before, and the hub cannot be asked "
            "(offline). Download it on a machine with a network, and copy the folder."
        ) from None
    except errors.HfHubHTTPError as error:
        reason = str(error).strip().partition("\n")[0]
        raise ValueError(f"the hub does not let us ({name}): {reason}") from None
