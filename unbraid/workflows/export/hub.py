"""`unbraid push`: a run's model with its card as a folder, and on the Hugging Face hub."""

import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from unbraid.files import write_text
from unbraid.methods.hub import hub_library
from unbraid.runs.run import Run, open_run
from unbraid.runs.source import CATALOGUE
from unbraid.workflows.export.card import UNKNOWN_LICENCE, model_card

FILES = ("model.json", "model.safetensors", "metrics.json")
PICTURE = Path("use") / "swap.png"


@dataclass(frozen=True, slots=True, kw_only=True)
class PushConfig:
    """What is uploaded, and how."""

    licence: str = UNKNOWN_LICENCE  # of the weights, in the hub's words, e.g. apache-2.0
    private: bool = False
    picture: bool | None = None  # None: of data sets of the catalogue, never of people's own data
    endpoint: str | None = None  # another hub than huggingface.co
    revision: str | None = None  # branch

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[\w.+-]+", self.licence):
            raise ValueError(f"licence must be a word such as apache-2.0, got {self.licence!r}.")


def save_pretrained(
    run: Run | str | Path, folder: str | Path, *, name: str = "", config: PushConfig | None = None
) -> Path:
    """Write what the hub would get into a folder: model, metrics and card, no data, no paths.

    Args:
        run: the run, or its folder.
        folder: made if it is not there.
        name: what the card calls the model; the folder's name if empty.
        config: licence and picture.
    """
    run = run if isinstance(run, Run) else open_run(run)
    folder, config = Path(folder), config or PushConfig()
    _ = run.about  # says so if there is no model
    folder.mkdir(parents=True, exist_ok=True)
    for file in FILES:
        if (run.path / file).is_file():
            shutil.copyfile(run.path / file, folder / file)
    picture = _picture(run, config)
    if picture:
        shutil.copyfile(run.path / PICTURE, folder / picture)
    card = model_card(folder, name=name or folder.name, licence=config.licence, picture=picture)
    write_text(folder / "README.md", card)
    return folder


def push(run: Run | str | Path, name: str, *, config: PushConfig | None = None) -> str:
    """Upload a run's model with its card to the hub; return where it is.

    Args:
        run: the run, or its folder.
        name: user/name.
        config: licence, visibility and the like.

    Raises:
        ValueError: the hub cannot be reached, or does not let us; the sentence says which.
    """
    config = config or PushConfig()
    with tempfile.TemporaryDirectory() as folder:
        save_pretrained(run, folder, name=name, config=config)
        with hub_library(name) as hub:
            api = hub.HfApi(endpoint=config.endpoint)
            api.create_repo(name, private=config.private, exist_ok=True)
            done = api.upload_folder(
                repo_id=name,
                folder_path=folder,
                revision=config.revision,
                commit_message="Model and card, written by unbraid",
            )
    return str(done.commit_url)


def _picture(run: Run, config: PushConfig) -> str:
    """Return the name of the picture that goes along; empty if none does."""
    wanted = config.picture
    if wanted is None:
        wanted = run.plan.data.reader == CATALOGUE
    if config.picture and not (run.path / PICTURE).is_file():
        raise ValueError(f"there is no picture of a swap: make one with `unbraid swap {run.path}`.")
    return PICTURE.name if wanted and (run.path / PICTURE).is_file() else ""
