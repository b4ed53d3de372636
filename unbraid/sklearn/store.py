"""A fitted estimator as files: safetensors for the weights, JSON for everything else."""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from unbraid.files import check_kinds, read_ours, write_text
from unbraid.methods import method_name
from unbraid.methods.base import Method
from unbraid.methods.store import load_model, save_model

FORMAT = "unbraid-estimator-1"
FITTED = ("n_features_in_", "n_iter_", "_flat", "_rows")  # beside the model, what `fit` finds
MODEL_FILES = ("model.json", "model.safetensors")


def packed(model: Method) -> dict[str, bytes]:
    """Return a model as the contents of its files, for a pickle without code in it."""
    with tempfile.TemporaryDirectory() as folder:
        save_model(model, Path(folder))
        return {name: (Path(folder) / name).read_bytes() for name in MODEL_FILES}


def unpacked(files: Mapping[str, bytes]) -> Method:
    """Undo `packed`."""
    with tempfile.TemporaryDirectory() as folder:
        for name in MODEL_FILES:
            (Path(folder) / name).write_bytes(files[name])
        return load_model(folder)


class StoredEstimator:
    """Pickles, files: the model in them is always JSON and safetensors."""

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())  # type: ignore[call-overload]
        if "model_" in state:
            state["model_"] = packed(state["model_"])
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if isinstance(state.get("model_"), dict):
            state = state | {"model_": unpacked(state["model_"])}
        super().__setstate__(state)  # type: ignore[misc]

    def save(self, folder: str | Path) -> None:
        """Write a fitted estimator as JSON and safetensors, which hold no code."""
        check_is_fitted(self)
        fitted = {name: getattr(self, name) for name in FITTED}
        write_estimator(Path(folder), self.model_, self.get_params(), fitted)  # type: ignore[attr-defined]

    @classmethod
    def load(cls, folder: str | Path) -> Any:
        """Return an estimator that `save` wrote."""
        model, params, fitted = read_estimator(Path(folder))
        names = cls._get_param_names()  # type: ignore[attr-defined]
        unknown = set(params) - set(names) or set(fitted) - set(FITTED)
        if unknown:
            raise ValueError(f"{folder} is damaged: there is no parameter '{min(unknown)}'.")
        estimator = cls(**params)
        estimator.__dict__ |= fitted | {"model_": model}
        return estimator


def write_estimator(
    folder: Path, model: Method, params: Mapping[str, Any], fitted: Mapping[str, Any]
) -> None:
    """Write a fitted estimator; its parameters must be plain values."""
    plain = dict(params)
    if isinstance(plain["method"], type):
        plain["method"] = method_name(plain["method"])
    try:
        text = json.dumps({"format": FORMAT, "params": plain, "fitted": dict(fitted)}, indent=1)
    except TypeError as error:
        raise ValueError(
            f"only plain values can be saved, and a parameter is none ({error}). Give random_state "
            "a whole number, for example."
        ) from None
    save_model(model, folder)
    write_text(folder / "estimator.json", text)


def read_estimator(folder: Path) -> tuple[Method, dict[str, Any], dict[str, Any]]:
    """Return the model, the parameters and what else `fit` found."""
    path = folder / "estimator.json"
    if not path.is_file():
        raise ValueError(f"{folder} holds no estimator: there is no estimator.json.")
    about = read_ours(path, FORMAT, "estimator")
    check_kinds(path, about, {"params": dict, "fitted": dict})
    return load_model(folder), about["params"], about["fitted"]
