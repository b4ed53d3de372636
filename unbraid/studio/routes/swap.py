"""Swap: any sequence that codes can be decoded to, and the directions of s."""

from functools import partial
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from unbraid.studio.recipe import SequenceRecipe, parse_recipe
from unbraid.studio.routes.shared import Here, with_model
from unbraid.studio.workspace import Workspace

if TYPE_CHECKING:
    from unbraid.studio.model.decode import Directions
    from unbraid.studio.model.subject import Subject

router = APIRouter()


@router.get("/runs/{key}/sequence.{form}")
async def sequence(here: Here, request: Request, key: str, form: str) -> Response:
    """Return a sequence as a file; its address says which (see `SequenceRecipe`)."""
    recipe = parse_recipe(request.query_params)
    subject = await (here.subject(key) if recipe.x else with_model(here, key))
    directions = await _directions(here, subject) if recipe.moves else {}
    body, kind = await here.work.quick(partial(_made, subject, recipe, directions, form))
    # An address with a version of the weights means the same bytes for ever.
    fixed = "v" in request.query_params
    headers = {"cache-control": "private, max-age=3600" if fixed else "no-cache"}
    if "save" in request.query_params:
        headers["content-disposition"] = f'attachment; filename="{_file_name(recipe)}.{form}"'
    return Response(body, media_type=kind, headers=headers)


@router.get("/runs/{key}/directions")
async def directions(here: Here, key: str) -> list[dict[str, Any]]:
    """Return the directions of s that have a slider."""
    from unbraid.studio.model.analysis import direction_facts, find_directions

    subject = await with_model(here, key)
    return direction_facts(await here.computed(subject, "directions", find_directions))


async def _directions(here: Workspace, subject: "Subject") -> "Directions":
    from unbraid.studio.model.analysis import find_directions

    directions = await here.computed(subject, "directions", find_directions)
    return {name: one.vector for name, one in directions.items()}


def _made(
    subject: "Subject", recipe: SequenceRecipe, directions: "Directions", form: str
) -> tuple[bytes, str]:
    from unbraid.studio.media import as_file
    from unbraid.studio.model.decode import make_sequence

    return as_file(subject.spec, make_sequence(subject, recipe, directions), form)


def _file_name(recipe: SequenceRecipe) -> str:
    """Return a name for a download: letters and digits of ids only."""
    if recipe.x:
        return f"sequence-{recipe.x}"
    way = f"-to-{recipe.to}-{100 * recipe.share:.0f}" if recipe.to else ""
    return f"s-{recipe.s}-d-{recipe.d}{way}{'-moved' if recipe.moves else ''}"
