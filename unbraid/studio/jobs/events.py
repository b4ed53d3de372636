"""How a training goes, as server-sent events: rows of its logs, its state, new weights."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from unbraid.rows import read_rows
from unbraid.studio.jobs.manager import Jobs
from unbraid.studio.jobs.record import Record

SECONDS = 1.0  # between two looks
SILENCE = 15  # looks without news after which a comment keeps the connection open
LOGS = ("log", "validation")


async def follow(jobs: Jobs, word: str, gone: Callable[[], Awaitable[bool]]) -> AsyncIterator[str]:
    """Yield events until the training has ended or nobody listens.

    Events: `rows` (log, those since the last), `state`, `weights` (a new version), `end`. Whoever
    connects again gets all rows from the start.

    Args:
        jobs: all trainings.
        word: id of the training.
        gone: says whether the listener has left.
    """
    row_counts, state, version, quiet = dict.fromkeys(LOGS, 0), "", "", 0
    while not await gone():
        record = jobs.find(word)
        facts = await asyncio.to_thread(jobs.facts, record)
        events = await asyncio.to_thread(_rows, Path(record.run), row_counts)
        if facts["state"] != state:
            state = facts["state"]
            events.append(_event("state", facts))
        newest = _version(record)
        if newest and newest != version:
            version = newest
            events.append(_event("weights", {"version": version, "key": facts["key"]}))
        for event in events:
            yield event
        if state != "running":
            yield _event("end", facts)
            return
        quiet = 0 if events else quiet + 1
        if quiet % SILENCE == SILENCE - 1:
            yield ": still here\n\n"
        await asyncio.sleep(SECONDS)


def _rows(run: Path, row_counts: dict[str, int]) -> list[str]:
    """Return events of the rows that were written since the last look."""
    events = []
    for name in LOGS:
        path = run / f"{name}.csv"
        rows = read_rows(path) if path.is_file() else []
        if len(rows) < row_counts[name]:  # it was begun anew, or cut where it goes on
            row_counts[name] = 0
            events.append(_event("restart", {"log": name}))
        fresh = rows[row_counts[name] :]
        row_counts[name] = len(rows)
        if fresh:
            events.append(_event("rows", {"log": name, "rows": [_numbers(row) for row in fresh]}))
    return events


def _numbers(row: dict[str, str]) -> dict[str, float]:
    numbers = {}
    for name, text in row.items():
        try:
            value = float(text)
        except (TypeError, ValueError):
            continue
        if abs(value) < float("inf"):
            numbers[name] = value
    return numbers


def _version(record: Record) -> str:
    from unbraid.studio.model.subject import latest_weights

    return latest_weights(Path(record.run))


def _event(name: str, value: Any) -> str:
    return f"event: {name}\ndata: {json.dumps(value, allow_nan=False)}\n\n"
