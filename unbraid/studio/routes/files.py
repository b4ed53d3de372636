"""Out: codes of all sequences as Parquet tables."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import APIRouter
from fastapi.responses import Response

from unbraid.studio.routes.shared import Here, with_model
from unbraid.studio.uploads import new_folder

if TYPE_CHECKING:
    from unbraid.studio.model.subject import Subject

router = APIRouter()
FILES = {"s": "codes.parquet", "d": "codes.d.parquet"}


@router.get("/runs/{key}/codes/{code}.parquet")
async def codes(here: Here, key: str, code: str) -> Response:
    """Return the static or dynamic codes of the test split with ids and labels."""
    if code not in FILES:
        raise KeyError(f"there are codes s and d, not {code[:20]!r}.")
    subject = await with_model(here, key)
    body = await here.work.slow(partial(_table, subject, FILES[code]))
    headers = {"content-disposition": f'attachment; filename="{FILES[code]}"'}
    return Response(body, media_type="application/vnd.apache.parquet", headers=headers)


def _table(subject: "Subject", name: str) -> bytes:
    from unbraid.workflows.export import encode
    from unbraid.workflows.export.use import Source

    if subject.run is None or subject.split is None:
        raise ValueError(subject.problem or "there is no run whose codes could be written.")
    with new_folder() as folder:
        encode(subject.run.path, Source(split="test"), Path(folder) / FILES["s"])
        return (Path(folder) / name).read_bytes()
