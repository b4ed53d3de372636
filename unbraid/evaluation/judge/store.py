"""Judges on disk: saved with the fingerprint of their data, read and checked again."""

import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

import unbraid
from unbraid.data.corpus import Corpus
from unbraid.evaluation.judge.model import Judge, JudgeConfig, make_judge
from unbraid.files import check_kinds, read_ours, write_text, write_whole
from unbraid.methods.store import spec_from_table
from unbraid.settings import as_table, build

FORMAT = "unbraid-judge-1"
SAMPLE = 64  # rows of raw data in a fingerprint


def fingerprint(corpus: Corpus) -> str:
    """Return a SHA-256 of the spec, the split sizes, training labels and some training rows."""
    train = corpus.train
    sizes = [len(train), len(corpus.validation), len(corpus.test)]
    digest = hashlib.sha256(json.dumps([dataclasses.asdict(corpus.spec), sizes]).encode())
    for name in sorted(train.labels):
        digest.update(name.encode() + np.ascontiguousarray(train.label(name)).tobytes())
    some = np.unique(np.linspace(0, len(train) - 1, SAMPLE).astype(int))
    digest.update(np.ascontiguousarray(train.x[train.rows[some]]).tobytes())
    return digest.hexdigest()


def save_judge(judge: Judge, folder: Path, about: dict[str, Any]) -> None:
    """Write `judge.safetensors` and `judge.json`; `about` has its `fingerprint` and `accuracy`."""
    own = {"format": FORMAT, "unbraid": unbraid.__version__, "config": as_table(judge.config)}
    text = json.dumps({**own, "spec": dataclasses.asdict(judge.spec), **about}, indent=1)
    weights = {k: v.detach().cpu().contiguous().clone() for k, v in judge.state_dict().items()}
    write_whole(folder / "judge.safetensors", lambda path: save_file(weights, path))
    write_text(folder / "judge.json", text)


def load_judge(folder: Path, device: str = "cpu") -> Judge:
    """Return a saved judge in evaluation mode; files that are not one raise `ValueError`."""
    about = read_judge(folder)
    try:
        config = build(JudgeConfig, about["config"], where="config")
        judge = make_judge(spec_from_table(about["spec"]), config)
    except Exception as error:  # whatever a network says of shapes that are none
        raise ValueError(f"{folder / 'judge.json'} is damaged: {error}.") from None
    path = folder / "judge.safetensors"
    try:
        judge.load_state_dict(_today(load_file(path)))
    except (SafetensorError, OSError) as error:
        raise ValueError(f"{path} is damaged or not a safetensors file: {error}.") from None
    except RuntimeError:
        raise ValueError(f"{path} does not belong to {folder / 'judge.json'}.") from None
    return judge.to(device).eval()


def _today(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return weights by their names of today.

    Until version 0.2 a judge had one kind of reader, later one net.
    """
    if any(name.startswith("encoder.") for name in weights):
        parts = {"encoder": "reader.encoder", "reader": "reader.lstm"}
    elif any(name.startswith("reader.") for name in weights):
        parts = {}
    else:
        return weights
    return {
        ".".join(("nets.0", parts.get(part, part), rest)): value
        for name, value in weights.items()
        for part, _, rest in [name.partition(".")]
    }


def read_judge(folder: Path) -> dict[str, Any]:
    """Return the contents of `judge.json`, checked to be ours."""
    path = folder / "judge.json"
    if not path.is_file():
        raise ValueError(f"{folder} holds no judge.json. Make a judge with `unbraid judge fit`.")
    about = read_ours(path, FORMAT, "judge")
    check_kinds(path, about, {"fingerprint": str, "accuracy": dict})
    return about


def check_judge(about: dict[str, Any], corpus: Corpus, minimum: float = 0.95) -> None:
    """Raise `ValueError` for a judge of other data, or below `minimum` on its own test split.

    `about` comes from `read_judge`; the minimum holds for every factor.
    """
    if about["fingerprint"] != fingerprint(corpus):
        raise ValueError(
            f"the judge was trained on other data than this {corpus.spec.name}, which it cannot "
            "score. Make one with `unbraid judge fit`, with the same data settings as the run."
        )
    weak = {name: value for name, value in about["accuracy"].items() if not value >= minimum}
    if weak:
        accuracies = ", ".join(f"{name} {100 * value:.1f} %" for name, value in weak.items())
        raise ValueError(
            f"the judge does not know its own test split: {accuracies}, less than "
            f"{100 * minimum:g} %. Train it for longer (--set judge.max_steps=3000), or accept "
            "less with --minimum."
        )
