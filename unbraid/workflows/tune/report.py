"""What a study found: a table, `trials.csv`, and `best.toml`, a preset to train with."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
from optuna.trial import FrozenTrial, TrialState
from rich.table import Table as ScreenTable
from scipy.stats import rankdata

import unbraid
from unbraid.data import data_title
from unbraid.files import write_text, write_whole
from unbraid.settings import Table as Settings
from unbraid.settings import flat
from unbraid.workflows.tune.search import Search
from unbraid.workflows.tune.study import CRITERIA, Study

STATES = {
    TrialState.COMPLETE: "finished",
    TrialState.PRUNED: "pruned",
    TrialState.FAIL: "failed",
    TrialState.RUNNING: "running",
    TrialState.WAITING: "waiting",
}
NAMES = {"nats": "-ELBO, nats", "leakage": "leakage"}
FACTS = ("nats", "leakage", "steps", "minutes")
SHOWN = 10  # rows of the table on screen


def in_order(study: Study, search: Search) -> list[FrozenTrial]:
    """Return the finished trials, best first.

    By two objectives: the smallest sum of ranks first. No trial is better than it in both.
    """
    names = CRITERIA[search.objective]
    trials = study.finished
    if not trials:
        return []
    table = np.array([[trial.user_attrs[name] for name in names] for trial in trials])
    cost = table[:, 0] if len(names) == 1 else sum(rankdata(column) for column in table.T)
    return [trials[place] for place in np.argsort(cost, kind="stable")]


def write_results(study: Study, search: Search) -> None:
    """Write `trials.csv` and, once a trial has finished, `best.toml`."""
    drawn = search.reader()
    rows = [_row(trial, drawn(trial.params)) for trial in study.trials]
    names = list(dict.fromkeys(name for row in rows for name in row))

    def write(aside: Path) -> None:
        with aside.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, names)
            writer.writeheader()
            writer.writerows(rows)

    write_whole(study.folder / "trials.csv", write)
    best = in_order(study, search)
    if best:
        write_text(study.folder / "best.toml", _preset(best[0], study, search))


def _row(trial: FrozenTrial, settings: Settings) -> dict[str, Any]:
    facts = {name: trial.user_attrs.get(name, "") for name in FACTS}
    head = {"trial": trial.number, "state": STATES[trial.state]}
    return head | facts | dict(flat(settings)) | {"note": trial.user_attrs.get("note", "")}


def _preset(trial: FrozenTrial, study: Study, search: Search) -> str:
    values = ", ".join(
        f"{NAMES[name]} {trial.user_attrs[name]:.6g}" for name in CRITERIA[search.objective]
    )
    head = (
        f"# {search.method} on {search.data}, seed {search.seed}: the best of "
        f"{len(study.finished)} finished trials by {search.objective} on validation.\n"
        f"# Trial {trial.number}: {values}, {trial.user_attrs['minutes']} min; "
        f"unbraid {unbraid.__version__}, preset {search.preset}.\n\n"
    )
    return head + tomli_w.dumps(search.preset_table(trial.params))


def line(trial: FrozenTrial, study: Study, search: Search) -> str:
    """Say in one line how a trial ended."""
    drawn = _settings(trial)
    if trial.state != TrialState.COMPLETE:
        note = trial.user_attrs.get("note", "")
        return f"trial {trial.number} {STATES[trial.state]}{': ' + note if note else ''} ({drawn})"
    best = in_order(study, search)[0].number
    facts = trial.user_attrs
    values = ", ".join(f"{NAMES[k]} {facts[k]:.5g}" for k in CRITERIA[search.objective])
    standing = "the best so far" if best == trial.number else f"best: trial {best}"
    return f"trial {trial.number}: {values}, {standing}, {facts['minutes']} min ({drawn})"


def results_table(study: Study, search: Search) -> ScreenTable:
    """Return the best trials as a table for the screen."""
    counts = dict.fromkeys(STATES.values(), 0)
    for trial in study.trials:
        counts[STATES[trial.state]] += 1
    states = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    head = f"{search.method} on {data_title(search.data)} by {search.objective}: {states}"
    table = ScreenTable(
        title=head, title_justify="left", box=None, header_style="bold", min_width=len(head)
    )
    criteria = sorted(NAMES, key=lambda name: name not in CRITERIA[search.objective])
    for column in ("trial", *(NAMES[name] for name in criteria), "min"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("settings")
    for trial in in_order(study, search)[:SHOWN]:
        facts = trial.user_attrs
        cells = [f"{facts[k]:.5g}" if k in facts else "" for k in criteria]
        table.add_row(str(trial.number), *cells, f"{facts['minutes']:.2f}", _settings(trial))
    return table


def _settings(trial: FrozenTrial) -> str:
    """Return what was drawn, without the names of sections."""
    drawn = ((name.partition(".")[2], value) for name, value in trial.params.items())
    return ", ".join(f"{name}={_short(value)}" for name, value in drawn)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
