"""Saved models: `model.safetensors` for the weights, `model.json` for everything else."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

import unbraid
from unbraid.files import check_kinds, read_ours, write_text, write_whole
from unbraid.methods import Method, find_method, make_method, method_name
from unbraid.methods.former import convert_settings, convert_weights, successor
from unbraid.nets import Decoder, Encoder
from unbraid.records import Spec
from unbraid.settings import as_table, build

FORMAT = "unbraid-model-1"
PARTS = ("encoder", "decoder")  # networks that can be brought
TRAINING = {
    "steps": int,
    "minutes": float | int,
    "epochs": float | int,
    "seed": int,
    "reason": str,
    "finished": bool,
    "splits": dict,
}


def save_model(method: Method, folder: Path, training: dict[str, Any] | None = None) -> None:
    """Write a model; each file is written aside and renamed, so none is ever half there.

    Args:
        method: the model.
        folder: where; made if it is not there.
        training: what is known of its training, kept in `model.json`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    about = {
        "format": FORMAT,
        "unbraid": unbraid.__version__,
        "method": method_name(type(method)),
        "config": as_table(method.config),
        "spec": dataclasses.asdict(method.spec),
        "parts": own_parts(method),
        "training": training or {},
    }
    weights = {
        key: value.detach().cpu().contiguous().clone() for key, value in method.state_dict().items()
    }
    write_whole(folder / "model.safetensors", lambda path: save_file(weights, path))
    write_text(folder / "model.json", json.dumps(about, indent=1))


def own_parts(method: Method) -> dict[str, str]:
    """Return the networks that somebody brought: the class of each, by the name of the part."""
    parts = {name: type(part) for name in PARTS if (part := getattr(method, name, None))}
    inside = type(method).__module__.split(".")[0]
    return {
        name: f"{cls.__module__}.{cls.__qualname__}"
        for name, cls in parts.items()
        if cls.__module__.split(".")[0] not in ("unbraid", inside)
    }


def load_model(
    folder: str | Path, device: str | torch.device = "cpu", **parts: Encoder | Decoder
) -> Method:
    """Return a saved model, ready for use (evaluation mode).

    Args:
        folder: of the model or the run.
        device: where it goes.
        **parts: `encoder=` and `decoder=`, if the model was trained with networks of your own:
            new ones of the same sizes. A model never says itself what is to be imported.

    Raises:
        ValueError: if the files are missing, foreign or damaged; the sentence says which.
    """
    folder = Path(folder)
    about = read_about(folder)
    _check_parts(folder, about.get("parts", {}), parts)
    try:
        name = successor(about["method"], about["config"])
        table = convert_settings(about["config"], about["method"], name)
        config = build(find_method(name).Config, table, where="config")
        method = make_method(name, spec_from_table(about["spec"]), config, **parts)
    except Exception as error:  # whatever a network says of shapes that are none
        message = str(error.args[0] if error.args else error).rstrip(".")
        raise ValueError(f"{folder / 'model.json'} is damaged: {message}.") from None
    path = folder / "model.safetensors"
    try:
        weights = load_file(path)
    except (SafetensorError, OSError) as error:
        raise ValueError(f"{path} is damaged or not a safetensors file: {error}.") from None
    try:
        method.load_state_dict(convert_weights(weights, method))
    except RuntimeError as error:
        first = str(error).splitlines()[1].strip() if "\n" in str(error) else str(error)
        raise ValueError(f"{path} does not belong to {folder / 'model.json'}: {first}") from None
    return method.to(device).eval()


def _check_parts(folder: Path, wanted: dict[str, str], given: dict[str, Any]) -> None:
    missing = [f"{name}=... ({cls})" for name, cls in wanted.items() if name not in given]
    if missing:
        raise ValueError(
            f"the model of {folder} was trained with networks of its maker, which are not saved. "
            f"Give them: unbraid.load_model(folder, {', '.join(missing)})."
        )


def read_about(folder: Path) -> dict[str, Any]:
    """Return the contents of `model.json`, checked to be ours."""
    path = folder / "model.json"
    if not path.is_file():
        raise ValueError(
            f"{folder} holds no model: there is no model.json. Give the folder of a run, "
            "e.g. runs/toy-sprites/dbse/0."
        )
    about = read_ours(path, FORMAT, "model")
    check_kinds(path, about, {"method": str, "config": dict, "spec": dict, "training": dict})
    check_kinds(path, about["training"], TRAINING, required=False)
    return about


def spec_from_table(table: dict[str, Any]) -> Spec:
    """Undo `dataclasses.asdict` of a Spec that went through JSON."""
    return build(Spec, table, where="spec")
