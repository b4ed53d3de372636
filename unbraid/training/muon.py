"""Muon: every matrix of weights moves by an orthogonal step, everything else by Adam.

Jordan, "Muon: an optimizer for hidden layers in neural networks", 2024; its polynomial and its
momentum. The step of a matrix is the orthogonal matrix nearest to its momentum, so that directions
with small gradients move as far as those with large ones. Small but telling differences (a shade
of skin beside a change of pose) are learned several times earlier than with Adam.

Departure: the iteration runs on the small Gram matrix. Where X is n x m with m much larger than n,
as convolutions are, that takes a fraction of the products, for the same step up to rounding.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import Parameter
from torch.optim import Optimizer

POLYNOMIAL = (3.4445, -4.7750, 2.0315)  # of Jordan: singular values go to about 0.7 ... 1.2
ROUNDS = 5
MOMENTUM = 0.95
BETAS, EPS = (0.9, 0.999), 1e-8  # of Adam


class Muon(Optimizer):
    """Orthogonal steps of size `matrix_lr` for weights of two axes or more, Adam for the rest."""

    def __init__(self, parameters: Iterable[Parameter], *, lr: float, matrix_lr: float) -> None:
        kept = list(parameters)
        matrices = [p for p in kept if p.ndim >= 2]
        others = [p for p in kept if p.ndim < 2]
        groups = [
            {"params": some, "lr": rate, "matrices": which}
            for some, rate, which in ((matrices, matrix_lr, True), (others, lr, False))
            if some
        ]
        super().__init__(groups, {})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Make one step."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            parameters = [p for p in group["params"] if p.grad is not None]
            move = self._orthogonal if group["matrices"] else self._adam
            if parameters:
                move(parameters, group["lr"])
        return loss

    def _orthogonal(self, parameters: list[Tensor], lr: float) -> None:
        for p in parameters:
            assert p.grad is not None
            momentum = self._kept(p, "momentum")
            momentum.lerp_(p.grad, 1 - MOMENTUM)
            ahead = p.grad.lerp(momentum, MOMENTUM)  # Nesterov
            p.sub_(orthogonal(ahead.flatten(1)).view_as(p), alpha=lr)

    def _adam(self, parameters: list[Tensor], lr: float) -> None:
        gradients = [p.grad for p in parameters if p.grad is not None]
        first = [self._kept(p, "first") for p in parameters]
        second = [self._kept(p, "second") for p in parameters]
        count = self.state[parameters[0]].setdefault("steps", 0) + 1
        self.state[parameters[0]]["steps"] = count
        torch._foreach_lerp_(first, gradients, 1 - BETAS[0])
        torch._foreach_mul_(second, BETAS[1])
        torch._foreach_addcmul_(second, gradients, gradients, 1 - BETAS[1])
        spread = torch._foreach_sqrt(second)
        torch._foreach_div_(spread, (1 - BETAS[1] ** count) ** 0.5)
        torch._foreach_add_(spread, EPS)
        torch._foreach_addcdiv_(parameters, first, spread, -lr / (1 - BETAS[0] ** count))

    def _kept(self, p: Tensor, name: str) -> Tensor:
        state = self.state[p]
        if name not in state:
            state[name] = torch.zeros_like(p)
        value: Tensor = state[name]
        return value


def orthogonal(x: Float[Tensor, "n m"]) -> Float[Tensor, "n m"]:
    """Return x with its singular values brought near one, times √(n / m) if n is larger.

    X <- (a + b A + c A²) X with A = X Xᵀ, five times. The polynomials commute with A, so they are
    gathered in the small square matrix and applied to X once, at the end.
    """
    if len(x) > x.shape[1]:
        return orthogonal(x.mT).mT * (len(x) / x.shape[1]) ** 0.5
    a, b, c = POLYNOMIAL
    x = x / x.norm().clamp(min=1e-12)
    gram = x @ x.mT
    gathered = None
    for _ in range(ROUNDS):
        factor = torch.addmm(gram, gram, gram, beta=b, alpha=c)
        factor.diagonal().add_(a)
        gathered = factor if gathered is None else factor @ gathered
        gram = factor @ gram @ factor
    assert gathered is not None
    return gathered @ x
