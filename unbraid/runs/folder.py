"""What may go on in a run folder: everything is checked first, and written last."""

import json
from pathlib import Path
from typing import Any

from unbraid.data.collection import PARTS
from unbraid.data.corpus import Corpus
from unbraid.files import check_kinds, read_json, write_text
from unbraid.methods import Method
from unbraid.methods.store import read_about
from unbraid.rows import cut_rows
from unbraid.runs.checkpoint import method_weights
from unbraid.runs.plan import Plan, read_plan
from unbraid.runs.splits import TRAINING, check_splits, split_facts, write_splits
from unbraid.settings import flat

CHECKPOINT = Path("checkpoints") / "last.safetensors"
FILES = (
    "config.toml",
    "splits.csv",
    "splits.json",
    "log.csv",
    "validation.csv",
    "model.json",
    "model.safetensors",
    "checkpoints",
)
# besides the data and what shapes the network: another posterior may fit the same weights
FIXED = ("training.optimizer", "method.posterior")

USED_UP = 0.95  # share of the minutes: a plateau schedule counts the last part of them in steps


def is_begun(path: Path) -> bool:
    """Say whether a folder holds a run that would be lost: a checkpoint, or a model."""
    config = (path / "config.toml").is_file()
    return config and any((path / name).is_file() for name in (CHECKPOINT, "model.json"))


def check_free(path: Path) -> None:
    """Raise `ValueError` if a folder holds a run; one cut off before its first state does not."""
    if is_begun(path):
        raise ValueError(
            f"{path} holds a run already. Go on with it (--resume {path}), choose another "
            "--seed or --out, or delete the folder."
        )
    foreign = [name for name in FILES if (path / name).exists()]
    if foreign and not _is_ours(path / "config.toml"):
        raise ValueError(
            f"{path} holds files of something else ({', '.join(foreign)}), which a run would "
            "replace. Choose another --out, or move them."
        )


def _is_ours(config: Path) -> bool:
    """Say whether a file is the `config.toml` of a run; it is the first that a run writes."""
    try:
        read_plan(config)
    except (ValueError, KeyError, OSError):
        return False
    return True


def write_begun(path: Path, plan: Plan, corpus: Corpus) -> None:
    """Write what a run begins with, and drop what was logged by one that was cut off."""
    write_text(path / "config.toml", plan.as_toml())  # the first: with it the others are ours
    for name in ("log.csv", "validation.csv"):
        (path / name).unlink(missing_ok=True)
    write_splits(corpus, path / "splits.csv")
    write_text(path / "splits.json", json.dumps(split_facts(corpus), indent=1))


def check_data(path: Path, corpus: Corpus) -> None:
    """Raise `ValueError` unless the data are those a run began with."""
    facts = {}
    if (path / "splits.json").is_file():
        facts = read_json(path / "splits.json")
        check_kinds(path / "splits.json", facts, dict.fromkeys(PARTS, dict))
    elif (path / "model.json").is_file():  # runs of older versions
        facts = read_about(path)["training"].get("splits", {})
    check_splits(corpus, facts, path, advice=TRAINING)


def changed_settings(old: Plan, new: Plan) -> list[str]:
    """Return the dotted names of the settings in which two plans differ."""
    before, now = (dict(flat(plan.tables())) for plan in (old, new))
    return [name for name in now | before if now.get(name) != before.get(name)]


def check_change(path: Path, old: Plan, new: Plan) -> None:
    """Raise `ValueError` if a run cannot go on: other data, another optimiser or posterior."""
    bad = [k for k in changed_settings(old, new) if k.startswith("data.") or k in FIXED]
    if bad:
        raise ValueError(_refusal(path, bad))


def check_budget(path: Path, old: Plan, new: Plan) -> None:
    """Raise `ValueError` if a run that has ended is given no more minutes than it has used."""
    before, now = (plan.training.max_minutes for plan in (old, new))
    if not now or not (path / "model.json").is_file():
        return
    training = read_about(path)["training"]
    used = training.get("minutes", 0.0)
    if training.get("reason") == "budget" and used >= USED_UP * before:
        used = max(used, before)
    if training.get("finished") and now <= used:
        raise ValueError(
            f"the budget of {now:g} min is used up in {path}: give a larger --max-minutes."
        )


def check_weights(path: Path, state: dict[str, Any], method: Method, plans: list[Plan]) -> None:
    """Raise `ValueError` unless a checkpoint holds the weights of this network.

    Args:
        path: the run folder.
        state: of its checkpoint.
        method: built by the new plan.
        plans: the run's own, and the new one.
    """
    try:
        weights = {name: value.shape for name, value in method_weights(state).items()}
    except (KeyError, AttributeError, TypeError):
        raise ValueError(f"{path / CHECKPOINT} is damaged: it holds no weights.") from None
    if weights == {name: value.shape for name, value in method.state_dict().items()}:
        return
    bad = [name for name in changed_settings(*plans) if name.startswith("method.")]
    if bad:
        raise ValueError(_refusal(path, bad))
    raise ValueError(
        f"{path / CHECKPOINT} does not belong to {path / 'config.toml'}: its weights are those of "
        "another network. Put the files of one run together again, or start a new run."
    )


def _refusal(path: Path, names: list[str]) -> str:
    return (
        f"{', '.join(names)}: cannot change in {path}, which has been trained with another value. "
        "Go on without it, or start a new run with another --out or --seed."
    )


def write_resumed(path: Path, plan: Plan, step: int) -> None:
    """Write the settings a run goes on with, and drop what was logged after its checkpoint."""
    for name in ("log.csv", "validation.csv"):
        cut_rows(path / name, step)
    write_text(path / "config.toml", plan.as_toml())
