"""The server: routes, their order, and how an error is answered."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from unbraid.safety.errors import EXPECTED, error_message
from unbraid.studio.guard import Access, Guard
from unbraid.studio.jobs.manager import Jobs
from unbraid.studio.routes import compare, files, leak, look, swap, train
from unbraid.studio.workspace import Workspace

STATIC = Path(__file__).parent / "static"
PREFETCH = 1.0  # seconds until the first run is opened unasked: the page itself comes first


def make_app(workspace: Workspace, access: Access) -> Any:
    """Return the application, guarded.

    Args:
        workspace: runs, data and folders.
        access: who may ask.
    """
    jobs = Jobs(workspace)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        asyncio.get_running_loop().call_later(PREFETCH, workspace.prefetch)
        yield
        workspace.work.close()

    app = FastAPI(
        title="unbraid studio", docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan
    )
    app.state.workspace, app.state.jobs = workspace, jobs
    for view in (look, swap, leak, compare, train, files):
        app.include_router(view.router, prefix="/api")
    app.add_api_route("/", lambda: FileResponse(STATIC / "index.html"), include_in_schema=False)
    app.mount("/static", StaticFiles(directory=STATIC))
    for kind in (HTTPException, RequestValidationError, *EXPECTED, Exception):
        app.add_exception_handler(kind, _answer)
    return Guard(app, access)


def _answer(request: Request, error: Exception) -> Response:
    """Say what was wrong in a sentence; what is our mistake is told on the terminal alone."""
    if isinstance(error, RequestValidationError):
        names = ", ".join(str(part["loc"][-1]) for part in error.errors()[:3])
        return JSONResponse({"error": f"the request is not understood: {names}."}, 422)
    if isinstance(error, HTTPException):
        return JSONResponse({"error": str(error.detail)}, error.status_code)
    sentence = error_message(error)
    if sentence:
        status = 404 if isinstance(error, KeyError) else 400
        return JSONResponse({"error": sentence}, status)
    return JSONResponse(
        {"error": "the studio made a mistake. Its terminal has the traceback (please report it)."},
        500,
    )
