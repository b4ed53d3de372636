"""One training session of a run: callbacks and Trainer, and what is written at its end."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict

import lightning
from lightning.pytorch.utilities.exceptions import SIGTERMException
from rich.console import Console

from unbraid.data.corpus import Corpus
from unbraid.methods import Method, make_method
from unbraid.methods.store import save_model
from unbraid.parallel.launch import process_info
from unbraid.runs.checkpoint import method_weights, read_checkpoint
from unbraid.runs.folder import CHECKPOINT
from unbraid.runs.plan import Plan
from unbraid.runs.run import Run
from unbraid.runs.splits import split_facts
from unbraid.seeding import seed_draws
from unbraid.training.callbacks import Checkpoints, Clock, LogBook, timer
from unbraid.training.memory import reuse_memory
from unbraid.training.module import NonFiniteLossError, TrainingModule
from unbraid.training.progress import Display
from unbraid.training.stream import BatchStream
from unbraid.training.trainer import Loggers, make_trainer, quiet, stop_on_signal
from unbraid.training.validation import Validation


class TrainingOptions(TypedDict, total=False):
    """What a caller brings to a training; none of it is kept with the run.

    Attributes:
        corpus: the data, if they are in memory already.
        method: the model to train, if it is made already.
        console: where progress is shown; nowhere if None.
        device: where to train.
        callbacks: Lightning's, added to our own.
        logger: Lightning's loggers (TensorBoard, W&B, MLflow); they get the rows of the log.
    """

    corpus: Corpus | None
    method: Method | None
    console: Console | None
    device: str
    callbacks: Sequence[lightning.Callback]
    logger: Loggers


class Session:
    """One call of Lightning's Trainer and what is written around it."""

    def __init__(self, plan: Plan, corpus: Corpus, run: Run, options: TrainingOptions) -> None:
        self.plan, self.run, self.corpus = plan, run, corpus
        here = process_info()
        self.first = here.rank == 0  # of several processes one writes
        seed_draws(plan.seed, "start")
        method = _method_for(plan, corpus, options.get("method"))
        console, device = options.get("console"), options.get("device", "cpu")
        c = plan.training
        c = replace(c, batch_size=min(c.batch_size, len(corpus.train)))
        stream = BatchStream(
            corpus.train,
            c.batch_size,
            seed=plan.seed,
            device=device,
            start=lambda: self.trainer.global_step,
            shard=(here.rank, here.size),
        )
        self.stream = stream
        self.epoch = c.epoch_length(len(corpus.train))
        self.steps = c.steps or c.epochs * self.epoch
        self.module = TrainingModule(method, c, seed=plan.seed, steps=self.steps)
        cooling = self.module.cooling if c.schedule == "plateau" else None
        self.clock = Clock(c.max_minutes, timer(c, device), cooling)
        self.module.spent = lambda: self.clock.spent
        self.book = LogBook(run.path / "log.csv", c.log_every, self.clock)
        self.validation = Validation(
            corpus.validation,
            c,
            run.path / "validation.csv",
            plan.seed,
            steps=(self.epoch, self.steps),
            plateau=self.clock.plateau,
        )
        # Validation may ask for a stop, on which the processes agree at the clock in the same step.
        callbacks: list[lightning.Callback] = [self.validation] if self.first else []
        callbacks += [self.clock, self.book] if self.first else [self.clock]
        if self.first and console is not None:
            callbacks.append(Display(console, self.book, self.clock, self.validation, self.steps))
        callbacks.append(Checkpoints(run.path / CHECKPOINT, c.checkpoint_every, c.keep_every))
        callbacks.extend(options.get("callbacks", ()))
        reuse_memory()
        logger = options.get("logger")
        self.trainer = make_trainer(callbacks, self.steps, c, device, logger=logger)

    def go(self, checkpoint: Path | None) -> None:
        """Train until the budget is used up, the user stops it, or the loss is not finite."""
        with quiet(), stop_on_signal(self.clock, self.trainer):
            try:
                self.trainer.fit(self.module, self.stream, ckpt_path=checkpoint)
            except NonFiniteLossError as error:
                raise self._rolled_back(error) from None
            except SIGTERMException:
                pass  # Lightning handles SIGTERM too; the checkpoint is written
        best = self.validation.restore(self.module.method)
        self._save(self.clock.reason or "finished", self.trainer.global_step, best)

    def _save(self, reason: str, step: int, best: dict[str, Any]) -> None:
        if self.first:
            save_model(self.module.method, self.run.path, self._facts(reason, step) | best)
        self.trainer.strategy.barrier()  # others may look for the model next

    def _facts(self, reason: str, step: int) -> dict[str, Any]:
        return {
            "reason": reason,
            "finished": reason in ("finished", "budget", "plateau"),
            "steps": step,
            "epochs": round(step / self.stream.steps_per_epoch, 2),
            "epoch_steps": self.epoch,
            "minutes": round(self.clock.minutes, 4),  # as the log, so that it is never less
            "waiting": round(self.stream.waited / max(60 * self.clock.session_minutes, 1e-9), 4),
            "precision": self.plan.training.precision,
            "seed": self.plan.seed,
            "splits": split_facts(self.corpus),
            "notes": self.book.notes,
        }

    def _rolled_back(self, error: NonFiniteLossError) -> NonFiniteLossError:
        """Put the last good state back and say what to do."""
        path = self.run.path / CHECKPOINT
        lower = self.plan.training.lr / 3
        state = read_checkpoint(path)
        self.module.method.load_state_dict(method_weights(state))
        self._save("not finite", state["global_step"], {})
        return NonFiniteLossError(
            f"{error} The run is back at step {state['global_step']}, its last good state. Try "
            f"`unbraid fit --resume {self.run.path} --set training.lr={lower:.1g}`, or "
            "--set training.clip=10."
        )


def _method_for(plan: Plan, corpus: Corpus, method: Method | None) -> Method:
    """Return the model to train: the one that was brought, else that of the plan."""
    if method is None:
        return make_method(plan.method, corpus.spec, plan.method_config)
    if method.spec != corpus.spec:
        raise ValueError(
            f"the model was made for {method.spec}, and the data are {corpus.spec}. Make "
            "it with the spec of these data: Method(corpus.spec, config)."
        )
    return method.train()
