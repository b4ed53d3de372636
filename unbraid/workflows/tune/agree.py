"""How well the label-free choice agrees with labels: ranks, and what the choice costs."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from optuna.trial import FrozenTrial
from rich.table import Table as ScreenTable

import unbraid
from unbraid.data.corpus import Corpus
from unbraid.evaluation.metrics.agreement import regret, spearman
from unbraid.figures.charts.agreement import agreement_figure
from unbraid.figures.save import save_figure
from unbraid.files import json_values, write_text
from unbraid.runs.run import Run
from unbraid.runs.splits import check_splits
from unbraid.workflows.tune.labels import Scores, labelled_scores
from unbraid.workflows.tune.report import NAMES
from unbraid.workflows.tune.search import Search
from unbraid.workflows.tune.study import Study

Results = dict[str, Any]
FEWEST = 3  # trials that can be ranked


def agree(study: Study, search: Search, *, device: str = "cpu") -> Results:
    """Compare label-free numbers of all finished trials with labelled ones, both on validation.

    Writes `agreement.json` and `agreement.png`; the labelled numbers of a trial are kept in its
    folder and not measured twice.

    Args:
        study: with three finished trials at least.
        search: what was searched.
        device: where to encode.
    """
    trials = study.finished
    if len(trials) < FEWEST:
        raise ValueError(f"agreement wants {FEWEST} finished trials at least, got {len(trials)}.")
    corpus = search.plan({}).data.load()
    labelled = [_labelled(trial, study.folder, corpus, device) for trial in trials]
    free = {
        name: np.array([trial.user_attrs[name] for trial in trials])
        for name in NAMES
        if all(name in trial.user_attrs for trial in trials)
    }
    scores = {
        name: np.array([row[name] for row in labelled])
        for name in labelled[0]
        if all(name in row for row in labelled)
    }
    agreement: Results = {
        "data": search.data,
        "method": search.method,
        "objective": search.objective,
        "split": "validation",
        "main": next(iter(scores)),
        "rows": [
            row(criterion, cost, metric, score)
            for metric, score in scores.items()
            for criterion, cost in free.items()
        ],
        "trials": [
            {"trial": trial.number, **{name: cost[i] for name, cost in free.items()}, **labelled[i]}
            for i, trial in enumerate(trials)
        ],
        "unbraid": unbraid.__version__,
    }
    write_text(study.folder / "agreement.json", json.dumps(json_values(agreement), indent=1))
    main = scores[agreement["main"]]
    costs = {NAMES[name]: cost for name, cost in free.items()}
    figure = agreement_figure(costs, main, agreement["main"])
    numbers = costs | {agreement["main"]: main}
    save_figure(figure, study.folder / "agreement.png", numbers)
    return agreement


def _labelled(trial: FrozenTrial, folder: Path, corpus: Corpus, device: str) -> Scores:
    """Return the labelled numbers of a trial, measured once."""
    run = Run(folder / "trials" / str(trial.number))
    path = run.path / "labelled.json"
    if path.is_file():
        return json.loads(path.read_text(encoding="utf-8"))
    check_splits(corpus, run.about["training"].get("splits", {}), run.path)
    scores = labelled_scores(run.model(device), corpus)
    write_text(path, json.dumps(scores, indent=1))
    return scores


def row(criterion: str, cost: NDArray[Any], metric: str, score: NDArray[Any]) -> Results:
    """Compare one label-free cost (less is better) with one labelled score (more is better).

    `spearman` is 1 if they order the trials alike; `regret` is the score lost by choosing by the
    cost, `by_chance` what a trial drawn at random loses on average.
    """
    return {
        "criterion": criterion,
        "metric": metric,
        "spearman": spearman(-cost, score),
        "chosen": float(score[cost.argmin()]),
        "best": float(score.max()),
        "regret": regret(cost, score),
        "by_chance": float(score.max() - score.mean()),
        "trials": len(score),
    }


def agreement_table(agreement: Results) -> ScreenTable:
    """Return the comparison as a table for the screen."""
    head = (
        f"{agreement['method']} on {agreement['data']}: label-free choice beside labels, "
        f"{len(agreement['trials'])} finished trials, validation"
    )
    table = ScreenTable(
        title=head, title_justify="left", box=None, header_style="bold", min_width=len(head)
    )
    columns = ("labelled metric", "chosen by", "Spearman", "chosen", "best", "lost", "by chance")
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i < 2 else "right")
    for r in agreement["rows"]:
        numbers = (r["chosen"], r["best"], r["regret"], r["by_chance"])
        cells = [f"{value:.4f}" for value in numbers]
        alike = f"{r['spearman']:+.2f}" if np.isfinite(r["spearman"]) else "-"
        table.add_row(r["metric"], NAMES[r["criterion"]], alike, *cells)
    return table
