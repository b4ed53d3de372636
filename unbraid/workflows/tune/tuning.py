"""Search good settings of a method for a data set, without labels."""

from collections.abc import Callable
from pathlib import Path

from unbraid.runs.run import Run
from unbraid.runs.splits import check_splits
from unbraid.workflows.tune.report import line, write_results
from unbraid.workflows.tune.search import Search, enter
from unbraid.workflows.tune.study import Study
from unbraid.workflows.tune.trial import run_trial

Say = Callable[[str], None]


def tune(
    search: Search,
    folder: Path,
    *,
    trials: int,
    workers: int = 1,
    device: str = "cpu",
    say: Say = lambda text: None,
) -> Study:
    """Bring a study to a number of trials; go on with it if it was begun before.

    Args:
        search: what is searched, from `make_search`.
        folder: of the study, from `Search.folder`.
        trials: how many the study shall have in all, whoever works on it.
        workers: how many processes; several take one thread each.
        device: where to train.
        say: called with a line per trial.

    Raises:
        KeyboardInterrupt: the study is kept; the same call goes on with it.
        ValueError: no trial finished.
    """
    if min(trials, workers) < 1:
        raise ValueError(f"trials and workers must be 1 or more, got {trials} and {workers}.")
    study = enter(search, folder)
    if workers == 1:
        ended = work(study, search, trials=trials, device=device, say=say)
    else:
        from unbraid.workflows.tune.workers import run_workers

        search.plan({}).data.load()  # prepared once, before every process asks for them
        ended = run_workers(study, search, trials=trials, workers=workers, device=device, say=say)
    write_results(study, search)
    if not ended:
        raise KeyboardInterrupt
    if not study.finished:
        raise ValueError(_none_finished(study))
    return study


def work(
    study: Study,
    search: Search,
    *,
    trials: int,
    device: str = "cpu",
    say: Say = lambda text: None,
    go_on: Callable[[], bool] = lambda: True,
) -> bool:
    """Work on trials until the study has enough; return False if one was interrupted.

    Args:
        study: from `enter`.
        search: what is searched.
        trials: how many the study shall have.
        device: where to train.
        say: called with a line per trial.
        go_on: asked before every trial.
    """
    corpus = search.plan({}).data.load()
    for trial in study.finished[:1]:
        run = Run(study.folder / "trials" / str(trial.number))
        check_splits(corpus, run.about["training"].get("splits", {}), run.path)
    while go_on() and (claim := study.claim(trials)) is not None:
        try:
            if not run_trial(claim, search, study.folder, corpus, device):
                return False
        finally:
            claim.lock.release()
        write_results(study, search)
        say(line(study.trials[claim.trial.number], study, search))
    return True


def _none_finished(study: Study) -> str:
    running = sum(not trial.state.is_finished() for trial in study.trials)
    if running:
        return (
            f"{running} trials of {study.folder} are at work in other processes, and none has "
            "finished yet. Wait for them, or ask for more --trials."
        )
    notes = [trial.user_attrs["note"] for trial in study.trials if "note" in trial.user_attrs]
    why = f" The first failed: {notes[0]}" if notes else ""
    return f"none of {len(study.trials)} trials in {study.folder} has finished.{why}"
