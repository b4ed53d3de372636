"""One trial of a study: train by its settings, look at it now and then, measure it at the end."""

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import lightning
import optuna
from lightning import Trainer
from optuna.trial import TrialState

from unbraid.data.corpus import Corpus
from unbraid.evaluation.protocols.diagnosis import diagnose
from unbraid.evaluation.protocols.selection import held_out_nats, leakage
from unbraid.files import write_text
from unbraid.methods.base import Method
from unbraid.runs.folder import CHECKPOINT
from unbraid.runs.plan import Plan
from unbraid.runs.run import Run
from unbraid.training.fit import resume, run_plan
from unbraid.workflows.tune.search import Search
from unbraid.workflows.tune.study import CHECKS, CRITERIA, Claim

Numbers = dict[str, float]
Measurement = Callable[[Method], float]
BROKEN = (ArithmeticError, RuntimeError, MemoryError)
"""What ends a trial but not the study: a loss that is not finite, too large a model."""


class TrialPruning(lightning.Callback):
    """Measures a trial at even shares of its budget, in steps or minutes, and may end it.

    Shares compare trials of unequal speed and batch size, which steps would not.
    """

    def __init__(self, trial: optuna.Trial, measure: Measurement) -> None:
        self.trial, self.measure = trial, measure
        before = trial.study.get_trials(deepcopy=False)[trial.number]
        self.last_check = max(before.intermediate_values, default=0)  # by whoever began the trial

    def on_train_batch_end(self, trainer: Trainer, module: Any, *_: Any) -> None:
        share = max(trainer.global_step / module.steps, module.spent())
        check = int(CHECKS * share)
        if not self.last_check < check < CHECKS:
            return
        module.eval()
        value = self.measure(module.method)
        module.train()
        self.last_check = check
        self.trial.report(value, check)
        if self.trial.should_prune():
            raise optuna.TrialPruned


def run_trial(claim: Claim, search: Search, folder: Path, corpus: Corpus, device: str) -> bool:
    """Train and measure one trial and tell the study; return False if it was interrupted.

    Args:
        claim: the trial.
        search: what it belongs to.
        folder: of the study; the trial goes to `trials/<number>`.
        corpus: the data.
        device: where to train.
    """
    trial, study = claim.trial, claim.trial.study
    plan, path = search.plan(trial.params), folder / "trials" / str(trial.number)
    try:
        run = _train(plan, path, corpus, device, _pruning(trial, search, plan, corpus))
        about = run.about["training"]
        if about["reason"] == "interrupted":
            return False
        numbers = measure(run, search, corpus, device)
    except optuna.TrialPruned:
        study.tell(trial, state=TrialState.PRUNED)
    except BROKEN as error:
        trial.set_user_attr("note", str(error))
        study.tell(trial, state=TrialState.FAIL)
    else:
        for name, value in (numbers | {k: about[k] for k in ("steps", "minutes")}).items():
            trial.set_user_attr(name, value)
        study.tell(trial, [numbers[name] for name in CRITERIA[search.objective]])
    shutil.rmtree(path / CHECKPOINT.parent, ignore_errors=True)
    claim.done()
    return True


def _pruning(
    trial: optuna.Trial, search: Search, plan: Plan, corpus: Corpus
) -> list[lightning.Callback]:
    """Return the callback that prunes the trial; two objectives cannot be pruned by one."""
    if search.objective == "both" or search.pruner == "none":
        return []
    judge = {"elbo": nats_of, "leakage": leakage_of}[search.objective]
    return [TrialPruning(trial, lambda method: judge(method, plan, corpus))]


def _train(
    plan: Plan, path: Path, corpus: Corpus, device: str, callbacks: list[lightning.Callback]
) -> Run:
    """Train into a new run folder, or go on with one that was left behind."""
    if (path / CHECKPOINT).is_file():
        run = Run(path)
        ended = (path / "model.json").is_file() and run.about["training"]["finished"]
        return run if ended else resume(path, corpus=corpus, device=device, callbacks=callbacks)
    shutil.rmtree(path, ignore_errors=True)
    return run_plan(plan, path, corpus=corpus, device=device, callbacks=callbacks)


def measure(run: Run, search: Search, corpus: Corpus, device: str) -> Numbers:
    """Return the label-free numbers of a finished trial; its diagnosis stays in the run folder.

    A method without an evidence bound gets no `nats`, unless the search is by them.
    """
    method, plan = run.model(device), run.plan
    limit = plan.training.validation_sequences
    numbers = diagnose(method, corpus.validation, limit=limit)
    write_text(run.path / "diagnosis.json", json.dumps(asdict(numbers), indent=1))
    values = {"leakage": leakage(numbers)}
    try:
        values["nats"] = nats_of(method, plan, corpus)
    except ValueError:
        if "nats" in CRITERIA[search.objective]:
            raise
    return values


def nats_of(method: Method, plan: Plan, corpus: Corpus) -> float:
    """Return the negative evidence bound on validation."""
    c = plan.training
    return held_out_nats(
        method,
        corpus.validation,
        limit=c.validation_sequences,
        batch_size=c.batch_size,
        seed=plan.seed,
    )


def leakage_of(method: Method, plan: Plan, corpus: Corpus) -> float:
    """Return the leakage on validation."""
    limit = plan.training.validation_sequences
    return leakage(diagnose(method, corpus.validation, limit=limit))
