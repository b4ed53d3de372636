"""Compare: settings, measurements and training curves of a run."""

from functools import partial
from typing import Any

from fastapi import APIRouter

from unbraid.studio.routes.shared import Here

router = APIRouter()


@router.get("/runs/{key}/facts")
async def facts(here: Here, key: str) -> dict[str, Any]:
    """Return what a comparison shows beside the sequences."""
    from unbraid.studio.model.facts import run_facts

    subject = await here.subject(key)
    return await here.work.quick(partial(run_facts, subject))
