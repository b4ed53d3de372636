"""Look: which runs there are, their sequences, and maps of their codes."""

from functools import partial
from typing import Any

from fastapi import APIRouter, Request

import unbraid
from unbraid.studio.guard import LARGEST_UPLOAD
from unbraid.studio.routes.shared import Here, with_model
from unbraid.studio.uploads import READS, add_upload, check_name, new_folder, save_upload

router = APIRouter()


@router.get("/studio")
async def studio(here: Here) -> dict[str, Any]:
    """Return what the page begins with."""
    entries = here.entries.values()
    return {
        "version": unbraid.__version__,
        "runs": [
            {
                "key": entry.key,
                "title": entry.title,
                "data": entry.data,
                "dataName": entry.run.parts[-3] if entry.run and len(entry.run.parts) > 2 else "",
                "run": bool(entry.run),
            }
            for entry in entries
        ],
    }


@router.get("/runs/{key}")
async def run(here: Here, key: str) -> dict[str, Any]:
    """Return what a run or data set holds."""
    from unbraid.studio.model.facts import subject_facts

    subject = await here.subject(key)
    facts = await here.work.quick(partial(subject_facts, subject))
    if subject.method is not None and subject.split is not None:
        here.work.begin((key, subject.version, "codes"), subject.all_codes)
    return facts | {"reads": READS[subject.spec.kind], "title": here.entry(key).title}


@router.get("/runs/{key}/map")
async def code_map(here: Here, key: str, code: str = "s", way: str = "pca") -> dict[str, Any]:
    """Return a place in the plane for every test sequence."""
    from unbraid.studio.model.analysis import map_points

    if code not in ("s", "d") or way not in ("pca", "tsne"):
        raise ValueError(f"a map is of s or d, by pca or tsne, got {code[:20]!r}, {way[:20]!r}.")
    return await here.computed(await with_model(here, key), "map", map_points, code, way)


@router.post("/runs/{key}/items")
async def upload(here: Here, request: Request, key: str, name: str) -> dict[str, Any]:
    """Take a file, decode it with limits and return its sequences."""
    from unbraid.studio.model.facts import item_facts

    subject = await with_model(here, key)
    suffix = check_name(name, subject.spec.kind)
    with new_folder() as folder:
        from pathlib import Path

        path = Path(folder) / f"input{suffix}"
        await save_upload(request.stream(), path, LARGEST_UPLOAD)
        items = await here.work.slow(partial(add_upload, subject, path, name))
    return {"items": [item_facts(item) for item in items]}
