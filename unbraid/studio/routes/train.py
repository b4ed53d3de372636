"""Train: choose data, see what is in them, start, watch, stop, go on."""

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Body, Request
from fastapi.responses import StreamingResponse

from unbraid.studio.jobs import choose
from unbraid.studio.jobs.events import follow
from unbraid.studio.jobs.manager import TrainingRequest
from unbraid.studio.routes.shared import Here, Trainings
from unbraid.studio.workspace import Workspace

router = APIRouter()
Form = Annotated[dict[str, Any], Body()]
MOST_MINUTES = 10_000.0
MOST_SETS = 40


@router.get("/data")
async def data(here: Here) -> dict[str, Any]:
    """Return the data sets and methods there are to choose from."""
    from unbraid.methods import method_label, method_names

    sets = await here.work.once(("catalogue",), choose.catalogue)
    return {
        "sets": sets,
        "methods": [{"name": n, "label": method_label(n)} for n in method_names()],
    }


@router.get("/data/folder")
async def folder(here: Here, path: str = "") -> dict[str, Any]:
    """Return what a folder holds, if it is one of the chosen ones."""
    return await here.work.quick(partial(choose.listing, path, here.places.folders))


@router.post("/data/check")
async def check(here: Here, form: Form) -> dict[str, Any]:
    """Return what the data hold and what is wrong with them."""
    request = await here.work.quick(partial(_request, here, form))
    return await here.work.slow(partial(choose.check_data, request.data, request.sets))


@router.get("/jobs")
async def jobs(here: Here, trainings: Trainings) -> list[dict[str, Any]]:
    """Return all trainings that were started on this page, also by an earlier server."""
    return await here.work.quick(trainings.all)


@router.post("/jobs")
async def start(here: Here, trainings: Trainings, form: Form) -> dict[str, Any]:
    """Start a training."""
    request = await here.work.quick(partial(_request, here, form))
    record = await here.work.slow(partial(trainings.start, request))
    return trainings.facts(record)


@router.post("/jobs/{word}/stop")
async def stop(trainings: Trainings, word: str) -> dict[str, Any]:
    """Ask a training to stop."""
    record = trainings.find(word)
    trainings.stop(record)
    return trainings.facts(record)


@router.post("/jobs/{word}/resume")
async def resume(here: Here, trainings: Trainings, word: str, form: Form) -> dict[str, Any]:
    """Go on with a training."""
    record, minutes = trainings.find(word), _minutes(form)
    record = await here.work.slow(partial(trainings.resume, record, minutes))
    return trainings.facts(record)


@router.get("/jobs/{word}/events")
async def events(trainings: Trainings, request: Request, word: str) -> StreamingResponse:
    """Return how a training goes, as server-sent events."""
    trainings.find(word)
    stream = follow(trainings, word, request.is_disconnected)
    return StreamingResponse(stream, media_type="text/event-stream")


def _request(here: Workspace, form: dict[str, Any]) -> TrainingRequest:
    """Return the request of a form, checked: data by their place, settings by their name."""
    from unbraid.methods import find_method

    word, method = form.get("data"), form.get("method", "")
    sets = form.get("sets", [])
    texts = [word, method, *(sets if isinstance(sets, list) else [None])]
    if not all(isinstance(text, str) for text in texts) or len(sets) > MOST_SETS or not word:
        raise ValueError("a training wants data, a method and a list of settings, all as text.")
    if method:
        find_method(method)
    known = [entry.data for entry in here.entries.values() if entry.data]
    data = word if word in known else choose.allowed_data(word, here.places.folders)
    choose.check_sets(tuple(sets))
    return TrainingRequest(data=data, method=method, minutes=_minutes(form), sets=tuple(sets))


def _minutes(form: dict[str, Any]) -> float:
    minutes = form.get("minutes") or 0
    if not isinstance(minutes, int | float) or not 0 <= minutes <= MOST_MINUTES:
        raise ValueError(f"minutes must be a number from 0 to {MOST_MINUTES:,.0f}.")
    return float(minutes)
