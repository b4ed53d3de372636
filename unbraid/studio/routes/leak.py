"""Leak: which code tells which factor, and the sequences that show it."""

from typing import Any

from fastapi import APIRouter

from unbraid.studio.routes.shared import Here, with_model

router = APIRouter()


@router.get("/runs/{key}/leak")
async def matrix(here: Here, key: str) -> dict[str, Any]:
    """Return the leak matrix with its verdict."""
    from unbraid.studio.model.analysis import leak_matrix

    return await here.computed(await with_model(here, key), "leak", leak_matrix)


@router.get("/runs/{key}/leak/cell")
async def cell(here: Here, key: str, factor: str, code: str, classifier: str) -> dict[str, Any]:
    """Return the sequences whose label a code tells best."""
    from unbraid.studio.model.analysis import leak_cell

    subject = await with_model(here, key)
    return await here.computed(subject, "cell", leak_cell, factor, code, classifier)
