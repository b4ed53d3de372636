"""`unbraid judge fit`, `unbraid judge score` and `unbraid judge curve`."""

from typing import Annotated

import typer

from unbraid.cli.output import print_line
from unbraid.cli.use import Device, Force, Run
from unbraid.safety.ownership import replacing_ours

judge_app = typer.Typer(help="Judge generations: fit, score, curve.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    judge_app.command("fit")(fit)
    judge_app.command("score")(score)
    judge_app.command("curve")(curve)
    app.add_typer(judge_app, name="judge")


def fit(
    data: Annotated[str, typer.Argument(help="Data set (`unbraid data list`), file or folder.")],
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", help="One setting, e.g. data.train=500 or judge.max_steps=2000."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Decides weights and order.")] = 0,
    out: Annotated[str, typer.Option(help="Folder of judges.")] = "judges",
    device: Device = "auto",
) -> None:
    """Train a classifier with labels, to judge what models of the same data generate."""
    from unbraid.runs.run import torch_device
    from unbraid.screen import Screen
    from unbraid.settings import parse_sets
    from unbraid.workflows.evaluate.judging import accuracy_table, fit_judge

    console = Screen()
    folder = fit_judge(
        data,
        settings=parse_sets(sets or []),
        seed=seed,
        out=out,
        say=print_line,
        device=torch_device(device),
    )
    console.print(accuracy_table(folder))
    print_line(f"wrote {folder}")


def score(
    run: Run,
    judge: Annotated[str, typer.Option(help="Folder of a judge, e.g. judges/toy-sprites.")],
    repeats: Annotated[int, typer.Option(help="Draws for every test sequence.")] = 5,
    means: Annotated[
        bool, typer.Option("--means", help="Decode the means along a drawn path, not the draws.")
    ] = False,
    limit: Annotated[
        int, typer.Option(help="Judge so many test sequences (default: all).", show_default=False)
    ] = 0,
    minimum: Annotated[
        float, typer.Option(help="Accuracy the judge must have on its own test split.")
    ] = 0.95,
    device: Device = "auto",
) -> None:
    """Keep one code, draw the other, and let a judge say what shows (test split)."""
    from unbraid.runs.run import opened, torch_device
    from unbraid.screen import Screen
    from unbraid.workflows.evaluate import judging

    scoring = judging.Scoring(repeats=repeats, means=means, limit=limit, minimum=minimum)
    metrics = judging.score(opened(run, torch_device(device)), judge, scoring)
    console = Screen()
    console.print(judging.leakage_screen(metrics))
    console.print(judging.scores_screen(metrics))
    console.print(judging.samples_screen(metrics))
    print_line(f"wrote {run}/judge.json")


def curve(
    runs: Annotated[
        list[str], typer.Argument(help="Folders of runs made with training.keep_every.")
    ],
    judge: Annotated[str, typer.Option(help="Folder of a judge, e.g. judges/toy-sprites.")],
    out: Annotated[str, typer.Option(help="Picture of all runs.")] = "judge_curves.png",
    limit: Annotated[int, typer.Option(help="Judge so many sequences; 0 = all.")] = 450,
    split: Annotated[str, typer.Option(help="validation or test.")] = "validation",
    device: Device = "auto",
    force: Force = False,
) -> None:
    """Judge the kept checkpoints of runs: accuracy over minutes of training."""
    from pathlib import Path

    from unbraid.runs.run import torch_device
    from unbraid.workflows.evaluate.curve import draw_curves, judge_curve
    from unbraid.workflows.evaluate.judging import Scoring

    def say(point: dict[str, float]) -> None:
        step, minutes, *rest = point.items()
        scores = "  ".join(f"{k} {v:.2f}" if v > 1 else f"{k} {100 * v:.1f} %" for k, v in rest)
        print_line(f"{int(step[1]):6d} steps  {minutes[1]:5.1f} min  {scores}")

    with replacing_ours(Path(out).parent, [Path(out).stem], force=force):
        for run in runs:
            print_line(run)
            scoring = Scoring(repeats=1, limit=limit)
            judge_curve(run, judge, scoring, split=split, device=torch_device(device), say=say)
        print_line(f"wrote {draw_curves(runs, Path(out))}")
