"""What a judge sees over the course of training: accuracy against minutes."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from unbraid.data import data_title
from unbraid.evaluation import judge as judges
from unbraid.evaluation.protocols.generation import Draws, JudgedRow, judge_generations
from unbraid.figures.charts.judge_curves import judge_curves
from unbraid.figures.save import save_figure
from unbraid.rows import read_rows, write_rows
from unbraid.runs.run import OpenedRun, RunLike, open_run, opened
from unbraid.workflows.evaluate.judging import Scoring

Point = dict[str, float]
NAME = "judge_curve"


def judge_curve(
    run: RunLike,
    folder: str | Path,
    scoring: Scoring | None = None,
    *,
    split: str = "validation",
    device: str = "cpu",
    say: Callable[[Point], None] = lambda point: None,
) -> list[Point]:
    """Judge every kept checkpoint of a run; write `judge_curve.csv` into it.

    Points are of the validation split unless asked otherwise: the test split is for the end.

    Args:
        run: the run, or its folder; it was trained with `training.keep_every`.
        folder: of the judge.
        scoring: how much to draw; default once, for 450 sequences.
        split: validation or test.
        device: where to decode and judge.
        say: called with every point as it is measured.
    """
    run, folder = opened(run, device), Path(folder)
    judge, corpus = judges.load_judge(folder, device), run.corpus
    c = scoring or Scoring(repeats=1, limit=450)
    judges.check_judge(judges.read_judge(folder), corpus, c.minimum)
    some = c.some(corpus.split(split))
    points: list[Point] = []
    for step, method in run.history():
        draws = Draws(repeats=c.repeats, seed=run.plan.seed, means=c.means)
        rows = judge_generations(method, judge, some, draws)
        points.append({"step": float(step), "minutes": minutes_at(run, step)} | _columns(rows))
        say(points[-1])
        write_rows(run.path / f"{NAME}.csv", points, list(points[-1]))
    return points


def minutes_at(run: OpenedRun, step: int) -> float:
    """Return the minutes of training up to a step, by the run's log."""
    training = run.about["training"]
    if step == training["steps"]:
        return float(training["minutes"])
    rows = read_rows(run.path / "log.csv")
    steps, minutes = ([float(row[name]) for row in rows] for name in ("step", "minutes"))
    return float(np.interp(step, [0.0, *steps], [0.0, *minutes]))


def _columns(rows: Sequence[JudgedRow]) -> Point:
    """Return accuracies as `d kept: action`, and the inception score of what d should hold."""
    columns = {
        f"{row.kept} kept: {row.factor}": row.mean for row in rows if row.metric == "accuracy"
    }
    for row in rows:
        if row.metric == "inception_score" and row.kept == "d" and row.role == "dynamic":
            columns[f"IS: {row.factor}"] = row.mean
    return columns


def draw_curves(paths: Sequence[str | Path], out: Path) -> Path:
    """Draw the curves of several judged runs into one picture, with its numbers beside it."""
    curves: dict[str, list[Point]] = {}
    runs = [open_run(path) for path in paths]
    for run in runs:
        file = run.path / f"{NAME}.csv"
        if not file.is_file():
            raise ValueError(f"{run.path} has no {file.name}. Make it: unbraid judge curve RUN.")
        points = [{k: float(v) for k, v in row.items()} for row in read_rows(file)]
        name = run.plan.method
        while name in curves:
            name += "'"
        curves[name] = points
    title = data_title(runs[0].plan.data.name)
    save_figure(judge_curves(curves, title), out, {"curves": curves})
    return out
