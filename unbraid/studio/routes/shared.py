"""What routes share: the workspace of a request."""

from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request

from unbraid.studio.jobs.manager import Jobs
from unbraid.studio.workspace import Workspace

if TYPE_CHECKING:
    from unbraid.studio.model.subject import Subject


def _workspace(request: Request) -> Workspace:
    return request.app.state.workspace


def _jobs(request: Request) -> Jobs:
    return request.app.state.jobs


Here = Annotated[Workspace, Depends(_workspace)]
Trainings = Annotated[Jobs, Depends(_jobs)]


async def with_model(here: Workspace, key: str) -> "Subject":
    """Return an opened run, or say that it has no model yet."""
    subject = await here.subject(key)
    subject.needs_model()
    return subject
