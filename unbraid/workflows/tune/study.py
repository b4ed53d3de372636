"""A study on disk that several processes share and that outlives each of them.

Optuna keeps trials in a journal file; locks of the operating system, which end with their holder
however it ends, say who works on which trial. A trial that runs and is held by nobody was left
behind, and the next process goes on with it under its own number.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from filelock import FileLock, Timeout

try:
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend
    from optuna.trial import FrozenTrial, TrialState
except ImportError:
    raise ValueError('tuning needs Optuna: pip install "unbraid[tune]".') from None

from unbraid.workflows.tune.space import Space

Objective = Literal["elbo", "leakage", "both"]
Pruner = Literal["median", "hyperband", "none"]
CRITERIA: dict[Objective, tuple[str, ...]] = {
    "elbo": ("nats",),
    "leakage": ("leakage",),
    "both": ("nats", "leakage"),
}
"""What is made small: the names of the numbers every finished trial is given."""
CHECKS = 5  # looks at a trial, evenly over its budget; the last one is its result
WARM_UP = 2  # looks before a trial may be pruned
STARTUP = 5  # trials drawn at random, and finished before any is pruned


@dataclass(frozen=True, slots=True)
class Claim:
    """A trial this process works on, until the lock is released."""

    trial: optuna.Trial
    lock: FileLock

    def done(self) -> None:
        """Release the trial."""
        Path(self.lock.lock_file).unlink(missing_ok=True)
        self.lock.release()


@dataclass(frozen=True, slots=True)
class Study:
    """An Optuna study in a folder, with what decides its draws."""

    folder: Path
    study: optuna.Study
    space: Space
    seed: int

    @property
    def trials(self) -> list[FrozenTrial]:
        """Every trial that was started, in order."""
        trials = self.study.get_trials(deepcopy=False)
        return [trial for trial in trials if trial.state != TrialState.WAITING]

    @property
    def finished(self) -> list[FrozenTrial]:
        """The trials that trained to their end."""
        return [trial for trial in self.trials if trial.state == TrialState.COMPLETE]

    def claim(self, trials: int) -> Claim | None:
        """Take up a trial that was left behind, else start one; None when there are enough.

        Args:
            trials: how many the study shall have, whoever works on them.
        """
        with FileLock(self.folder / "claim.lock"):
            started = self.trials
            for trial in started:
                if trial.state == TrialState.RUNNING and (lock := self._lock(trial.number)):
                    if self.trials[trial.number].state == TrialState.RUNNING:
                        # Optuna has no public name for going on with another process's trial.
                        return self._drawn(optuna.Trial(self.study, trial._trial_id), lock)
                    lock.release()  # it ended between the two looks
            if len(started) >= trials:
                return None
            fresh = self.study.ask()
            return self._drawn(fresh, self._lock(fresh.number))

    def _lock(self, number: int) -> FileLock | None:
        """Return the lock of a trial, unless somebody holds it."""
        lock = FileLock(self.folder / "trials" / f"{number}.lock")
        try:
            lock.acquire(blocking=False)
        except Timeout:
            return None
        return lock

    def _drawn(self, trial: optuna.Trial, lock: FileLock | None) -> Claim:
        """Draw what is not drawn yet.

        Every number has a sampler of its own: a study that was stopped draws what it would have.
        """
        if lock is None:
            raise ValueError(f"trial {trial.number} of {self.folder} is held by another process.")
        self.study.sampler = make_sampler(self.seed, trial.number)
        try:
            draw(trial, self.space)
        except BaseException:  # a full disk, for example: others may go on with the trial
            lock.release()
            raise
        return Claim(trial, lock)


def open_study(
    folder: Path,
    space: Space,
    *,
    objective: Objective,
    pruner: Pruner,
    seed: int,
    first: dict[str, Any] | None,
) -> Study:
    """Return the study of a folder, made if there is none.

    Args:
        folder: holds `study.log` and `trials/`.
        space: what is drawn.
        objective: what is made small.
        pruner: how trials are given up early.
        seed: decides the draws.
        first: values of the first trial, or None to draw it.
    """
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    (folder / "trials").mkdir(parents=True, exist_ok=True)
    log = folder / "study.log"
    with FileLock(folder / "claim.lock"):
        try:
            lock = FileLock(folder / "study.lock")  # Optuna's own outlive a killed process
            with lock:
                _cut_torn_line(log)
            storage = JournalStorage(JournalFileBackend(str(log), lock))  # type: ignore[arg-type]
            study = optuna.create_study(
                study_name="unbraid",
                storage=storage,
                load_if_exists=True,
                sampler=make_sampler(seed, 0),
                pruner=make_pruner(pruner),
                directions=["minimize"] * len(CRITERIA[objective]),
            )
        except ValueError as error:
            raise ValueError(f"{log} is damaged: {error}. Choose another --out.") from None
        if first is not None and not study.get_trials(deepcopy=False):
            study.enqueue_trial({name: space[name].word(value) for name, value in first.items()})
    return Study(folder, study, space, seed)


def _cut_torn_line(log: Path) -> None:
    """Cut off what a process that was killed, or met a full disk, left as half a line."""
    content = log.read_bytes() if log.exists() else b""
    if content and not content.endswith(b"\n"):
        os.truncate(log, content.rfind(b"\n") + 1)


def make_sampler(seed: int, number: int) -> optuna.samplers.BaseSampler:
    """Return the sampler of one trial, whose draws depend on the trials before and the seed."""
    key = np.random.SeedSequence((seed, number)).generate_state(1)[0]
    return optuna.samplers.TPESampler(seed=int(key), n_startup_trials=STARTUP)


def make_pruner(name: Pruner) -> optuna.pruners.BasePruner:
    """Return what gives trials up: those worse than the median, or by Hyperband's brackets."""
    if name == "median":
        return optuna.pruners.MedianPruner(n_startup_trials=STARTUP, n_warmup_steps=WARM_UP)
    if name == "hyperband":
        return optuna.pruners.HyperbandPruner(min_resource=1, max_resource=CHECKS)
    return optuna.pruners.NopPruner()


def draw(trial: optuna.Trial, space: Space) -> None:
    """Draw every free setting of a space."""
    for name, entry in space.items():
        if entry.same:
            continue
        if name in trial.params:  # by a process that was stopped: what follows is as it would be
            _repeat_draw(trial, name)
            continue
        if entry.choices:
            trial.suggest_categorical(name, [entry.word(choice) for choice in entry.choices])
        elif entry.whole:
            low, high, step = int(entry.low), int(entry.high), int(entry.step or 1)
            trial.suggest_int(name, low, high, step=step, log=entry.log)
        else:
            trial.suggest_float(name, entry.low, entry.high, step=entry.step, log=entry.log)


def _repeat_draw(trial: optuna.Trial, name: str) -> None:
    """Take the random numbers that a value was drawn with, and leave the value."""
    study, frozen = trial.study, trial.study.get_trials(deepcopy=False)[trial.number]
    study.sampler.sample_independent(study, frozen, name, trial.distributions[name])
