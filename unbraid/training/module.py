"""One training step: sum the loss table, check that it is finite, keep its rows for the log."""

import math
from collections.abc import Callable, Iterable

import lightning
import torch
from torch import Tensor, nn
from torch.nn import Parameter
from torch.optim import Adam, Optimizer
from torch.optim.lr_scheduler import LambdaLR

from unbraid.methods.base import Method
from unbraid.parallel.gather import mean_terms, sharded_batch
from unbraid.records import Batch, Terms
from unbraid.runs.config import TrainingConfig
from unbraid.seeding import seed_draws
from unbraid.training.cooldown import CoolDown
from unbraid.training.muon import Muon


class NonFiniteLossError(ArithmeticError):
    """A term of the loss, or its gradient, is not a finite number."""


def check_terms(terms: Terms, step: int) -> None:
    """Raise `NonFiniteLossError` naming every term that is not finite."""
    bad = [name for name, (_, value) in terms.items() if not torch.isfinite(value)]
    if bad:
        raise NonFiniteLossError(f"Loss is not finite at step {step}: {', '.join(bad)}.")


def check_gradients(module: nn.Module, step: int) -> None:
    """Raise `NonFiniteLossError` if a gradient is not finite, before it reaches the weights."""
    gradients = [p.grad for p in module.parameters() if p.grad is not None]
    norms = torch._foreach_norm(gradients)
    if not torch.isfinite(torch.stack(norms).sum()):
        names = [n for n, p in module.named_parameters() if p.grad is not None]
        bad = [n for n, norm in zip(names, norms, strict=True) if not torch.isfinite(norm)]
        raise NonFiniteLossError(f"Gradient is not finite at step {step}: {', '.join(bad[:3])}.")


def total(terms: Terms) -> Tensor:
    """Return the loss: the sum of weight times value over the rows."""
    return torch.stack([weight * value for weight, value in terms.values()]).sum()


class TrainingModule(lightning.LightningModule):
    """A method as a Lightning module."""

    def __init__(self, method: Method, config: TrainingConfig, *, seed: int, steps: int) -> None:
        super().__init__()
        self.method, self.config = method, config
        self.seed, self.steps = seed, steps
        self.spent: Callable[[], float] = lambda: 0.0  # share of a budget in minutes
        self.cooling = CoolDown(config.cooldown, steps)  # of a plateau schedule
        self.terms: Terms = {}

    def training_step(self, batch: Batch, index: int) -> Tensor:
        step = self.global_step
        seed_draws(self.seed, "step", step)
        with sharded_batch(len(batch)):
            terms = self.method.loss(batch, step)
            self.terms = mean_terms(terms)
        check_terms(self.terms, step)
        return total(terms)

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        """Free the last step's gradients before the memory is needed, not after."""
        self.zero_grad()

    def on_before_optimizer_step(self, optimizer: Optimizer) -> None:
        check_gradients(self.method, self.global_step)

    def configure_optimizers(self) -> dict[str, object]:  # type: ignore[override]
        optimizer = make_optimizer(*parameter_groups(self.method), self.config)
        factor = learning_rate_factor(self.config, self.steps, self.spent, self.cooling)
        schedule = LambdaLR(optimizer, factor)
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": schedule, "interval": "step"},
        }


def parameter_groups(method: Method) -> tuple[list[Parameter], list[Parameter]]:
    """Return the parameters of a method, those of its critics apart."""
    critics = tuple(f"{name}." for name in method.critics)
    parts: tuple[list[Parameter], list[Parameter]] = ([], [])
    for name, parameter in method.named_parameters():
        parts[name.startswith(critics) if critics else False].append(parameter)
    return parts


def make_optimizer(
    parameters: Iterable[Parameter], critic: list[Parameter], config: TrainingConfig
) -> Optimizer:
    """Return the optimiser that the settings ask for; critics always take Adam's steps."""
    rate = config.critic_lr or config.lr
    if config.optimizer == "muon":
        rates = {"lr": config.lr, "matrix_lr": config.matrix_lr, "beta1": config.beta1}
        return Muon(parameters, **rates, critic=(critic, rate))
    groups = [{"params": list(parameters), "lr": config.lr}]
    groups += [{"params": critic, "lr": rate}] if critic else []
    return Adam(groups, lr=config.lr, betas=(config.beta1, 0.999), foreach=True)


def learning_rate_factor(
    config: TrainingConfig,
    steps: int,
    spent: Callable[[], float] = lambda: 0.0,
    cooling: CoolDown | None = None,
) -> Callable[[int], float]:
    """Return the factor on `lr` at every step.

    A cosine ends with the steps, or with the budget in minutes if that comes first. In the second
    case the rate follows the clock, so two runs are alike but not equal. A plateau schedule falls
    as `cooling` says.

    >>> factor = learning_rate_factor(TrainingConfig(schedule="cosine", warmup_steps=10), 110)
    >>> [round(factor(step), 3) for step in (0, 5, 10, 60, 110)]
    [0.1, 0.6, 1.0, 0.55, 0.1]
    """

    def factor(step: int) -> float:
        rise = min(1.0, (step + 1) / config.warmup_steps) if config.warmup_steps else 1.0
        if config.schedule == "constant" or step < config.warmup_steps:
            return rise
        if config.schedule == "plateau":
            fall = 1 - (cooling.progress(step, spent()) if cooling else 0.0)
            return config.lr_end + (1 - config.lr_end) * fall
        gone = (step - config.warmup_steps) / max(1, steps - config.warmup_steps)
        fall = 0.5 * (1 + math.cos(math.pi * min(1.0, max(gone, spent()))))
        return config.lr_end + (1 - config.lr_end) * fall

    return factor
