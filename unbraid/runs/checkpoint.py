"""Checkpoints without pickle: one safetensors file, its structure as JSON inside."""

import json
from pathlib import Path
from typing import Any

import torch
from lightning.fabric.plugins.io.checkpoint_io import CheckpointIO
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from unbraid.files import check_kinds, write_whole

FORMAT = "unbraid-checkpoint-1"


def pack(value: Any, tensors: dict[str, Tensor]) -> Any:
    """Return `value` as JSON can hold it; tensors go to `tensors` and leave their name behind.

    Raises:
        TypeError: for anything but dicts, lists, tuples, tensors and plain values.
    """
    if isinstance(value, Tensor):
        name = str(len(tensors))
        tensors[name] = value.detach().cpu().contiguous().clone()
        return {"tensor": name}
    if isinstance(value, dict):
        return {"dict": [[pack(k, tensors), pack(v, tensors)] for k, v in value.items()]}
    if isinstance(value, list | tuple):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [pack(part, tensors) for part in value]}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"a checkpoint cannot hold a {type(value).__name__}.")


def unpack(value: Any, tensors: dict[str, Tensor]) -> Any:
    """Undo `pack`."""
    if not isinstance(value, dict):
        return value
    ((kind, inner),) = value.items()
    if kind == "tensor":
        return tensors[inner]
    if kind == "dict":
        return {unpack(k, tensors): unpack(v, tensors) for k, v in inner}
    parts = [unpack(part, tensors) for part in inner]
    return tuple(parts) if kind == "tuple" else parts


def write_state(path: Path, state: dict[str, Any]) -> None:
    """Write a state, of what `pack` can hold."""
    tensors: dict[str, Tensor] = {}
    metadata = {"format": FORMAT, "tree": json.dumps(pack(state, tensors))}
    write_whole(path, lambda aside: save_file(tensors, aside, metadata))


class SafeCheckpointIO(CheckpointIO):
    """Saves and loads Lightning's state without ever unpickling."""

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: Any, storage_options: Any | None = None
    ) -> None:
        write_state(Path(path), checkpoint)

    def load_checkpoint(
        self, path: Any, map_location: Any | None = None, weights_only: bool | None = None
    ) -> dict[str, Any]:
        return read_checkpoint(Path(path))

    def remove_checkpoint(self, path: Any) -> None:
        Path(path).unlink(missing_ok=True)


def read_checkpoint(path: Path) -> dict[str, Any]:
    """Return the state of a run's checkpoint, or say what is wrong with the file."""
    if not path.is_file():
        raise ValueError(f"there is no checkpoint {path}. The run was stopped before its first.")
    kinds = {"state_dict": dict, "global_step": int, "callbacks": dict}
    return read_state(path, kinds, "Restore it, or start a new run.")


def read_state(path: Path, kinds: dict[str, type], advice: str) -> dict[str, Any]:
    """Return a state that `write_state` wrote, with the entries `kinds`.

    Args:
        path: of the file.
        kinds: what it must hold.
        advice: what to do if it is damaged, a sentence.
    """
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise ValueError(f"{path} is damaged or not a checkpoint of ours: {error}.") from None
    if metadata.get("format") != FORMAT:
        raise ValueError(f"{path} is not a checkpoint of ours: its format is not {FORMAT}.")
    try:
        state: dict[str, Any] = unpack(json.loads(metadata["tree"]), tensors)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: {error}. {advice}") from None
    check_kinds(path, state, kinds)
    return state


def method_weights(checkpoint: dict[str, Any]) -> dict[str, torch.Tensor]:
    """Return the method's own weights out of Lightning's state."""
    prefix = "method."
    state = checkpoint["state_dict"]
    return {name.removeprefix(prefix): value for name, value in state.items()}
