"""Two players in one loss table.

Rows of a critic see detached samples, rows of a generator a critic with detached parameters. Each
row then moves its own player only, with one backward pass and one optimiser.
"""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.functional import softplus

from unbraid.records import Scalar


def frozen(critic: nn.Module) -> Callable[..., Any]:
    """Return the critic with detached parameters: gradients pass through it, not into it."""
    parameters = {name: p.detach() for name, p in critic.named_parameters()}
    return lambda *inputs: functional_call(critic, parameters, inputs)


def critic_loss(
    real: Float[Tensor, "*N"], fake: Float[Tensor, "*N"], valid: Bool[Tensor, "*N"] | None = None
) -> Scalar:
    """Return BCE(D(real), 1) + BCE(D(fake), 0) of logits, mean over valid steps, then sequences."""
    return _mean(softplus(-real) + softplus(fake), valid)


def generator_loss(fake: Float[Tensor, "*N"], valid: Bool[Tensor, "*N"] | None = None) -> Scalar:
    """Return BCE(D(fake), 1) of logits, the non-saturating loss; means as there."""
    return _mean(softplus(-fake), valid)


def gradient_penalty(
    logits: Float[Tensor, "*N"],
    x: Float[Tensor, "B T *F"],
    valid: Bool[Tensor, "B T"] | None = None,
) -> Scalar:
    """Return ½ ‖∇_x D(x)‖² of real sequences, mean over the batch.

    R1 of Mescheder, Geiger and Nowozin, ICML 2018. The slope is that of the sum of all logits:
    where BatchNorm joins the sequences of a batch, it holds what one does to another, too.

    Args:
        logits: of sequences or of steps.
        x: what they are of; it must ask for its gradient. Where none is computed, as in
            validation, the penalty is 0.
        valid: the steps that have a logit, of which the penalty is the mean; for logits of steps.
    """
    if not torch.is_grad_enabled():
        return logits.new_zeros(())
    (slope,) = torch.autograd.grad(logits.sum(), x, create_graph=True)
    steps = 0.5 * slope.square().flatten(2).sum(2)
    return _mean(steps.sum(1) if valid is None else steps, valid)


def _mean(values: Tensor, valid: Tensor | None) -> Tensor:
    if valid is None:
        return values.mean()
    per_sequence = values.where(valid, 0.0).sum(-1) / valid.sum(-1).clamp(min=1)
    return per_sequence.mean()  # not over all steps: processes have unequal numbers of them
