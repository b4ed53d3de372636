"""Muon: weight matrices take orthogonal steps, all other parameters Adam's.

Jordan, "Muon: an optimizer for hidden layers in neural networks", 2024: its momentum and scale. The
step of a matrix is the orthogonal matrix nearest to its momentum, so directions with small
gradients move as far as directions with large ones.

Departures, which make a step faster:

- Singular values are mapped by a rational function, not by five rounds of a polynomial: two
  inverses of the small Gram matrix. They come nearer to one, 0.85 to 1.15 instead of 0.7 to 1.2.
- Large matrices take turns: each steps at every `TURNS`-th call, `TURNS` times as far, with the sum
  of the gradients since its last step.

`torch.optim.Muon` takes 2-D weights only and runs the polynomial on each of them whole, in bf16.
A step of it for dsvae with `sprites/fast` takes 63 ms of CPU time, of this one 11 ms, where the
forward and backward passes take 66 (`python -m benchmarks.optimizer --threads 1 --cpu-time`). After
800 steps the reconstruction error is 342 here, and 351 with the polynomial and no turns; on
PhysioNet, after 1,500 steps, 137 and 142 (one seed each).

All products are fp32: in bf16 the last one saves 3 % of a step, and Gram matrices rounded to bf16
lose singular values below about 0.006 of the norm, where those of LSTM weights have their median.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import Parameter
from torch.optim import Optimizer
from torch.optim.adam import adam

# σ (CONSTANT + Σ weight / (σ² + shift)) lies in 0.85 ... 1.15 for σ in 0.002 ... 1: Zolotarev's
# best approximation of the sign function by a quotient of degrees 5 and 4, in partial fractions.
CONSTANT = 0.9619
TERMS = ((0.009219, 1.896e-5), (0.1853, 9.186e-3))  # weight, shift
MOMENTUM = 0.95
LARGE = 128  # the shorter side of matrices that take turns, at least
TURNS = 4


class Muon(Optimizer):
    """Orthogonal steps of size `matrix_lr` for weights of two axes or more, Adam for the rest."""

    def __init__(
        self,
        parameters: Iterable[Parameter],
        *,
        lr: float,
        matrix_lr: float,
        beta1: float = 0.9,
        critic: tuple[Sequence[Parameter], float] = ((), 0.0),
    ) -> None:
        """Sort parameters into groups.

        Args:
            parameters: those of networks.
            lr: rate of Adam.
            matrix_lr: size of orthogonal steps.
            beta1: Adam's momentum.
            critic: parameters of critics and their rate; all of them take Adam's steps.
        """
        parameters = list(parameters)
        matrices = [p for p in parameters if p.ndim >= 2]
        vectors = [p for p in parameters if p.ndim < 2]
        self.beta1 = beta1
        groups = [
            {"params": members, "lr": rate, "matrices": members is matrices, "calls": 0}
            for members, rate in ((matrices, matrix_lr), (vectors, lr), critic)
            if members
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
            (self._orthogonal_steps if group["matrices"] else self._adam_steps)(group)
            group["calls"] = group.get("calls", 0) + 1
        return loss

    def _orthogonal_steps(self, group: dict[str, Any]) -> None:
        steps = []
        for place, p in enumerate(group["params"]):
            if p.grad is None:
                continue
            gradient, turns = p.grad, 1
            if min(len(p), p.numel() // len(p)) >= LARGE:
                gradient, turns = self._buffer(p, "gradients").add_(p.grad), TURNS
            if (group.get("calls", 0) + place) % turns == 0:
                ahead = self._ahead(p, gradient, MOMENTUM**turns)
                rate = -turns * group["lr"] * max(1.0, len(p) ** 2 / p.numel()) ** 0.5
                steps.append((as_matrix(p, p), as_matrix(ahead, p), rate))
        factors = orthogonal_factors([x @ x.mT for _, x, _ in steps])
        for (weights, x, rate), factor in zip(steps, factors, strict=True):
            weights.addmm_(factor, x, alpha=rate)

    def _ahead(self, p: Tensor, gradient: Tensor, decay: float) -> Tensor:
        """Add a gradient to the momentum and return Nesterov's; a sum of gradients starts anew."""
        momentum = self._buffer(p, "momentum").lerp_(gradient, 1 - decay)
        ahead = momentum.lerp(gradient, 1 - decay)
        if gradient is not p.grad:
            gradient.zero_()
        return ahead

    def _adam_steps(self, group: dict[str, Any]) -> None:
        parameters = [p for p in group["params"] if p.grad is not None]
        adam(
            parameters,
            [p.grad for p in parameters],
            exp_avgs=[self._buffer(p, "exp_avg") for p in parameters],
            exp_avg_sqs=[self._buffer(p, "exp_avg_sq") for p in parameters],
            max_exp_avg_sqs=[],
            state_steps=[self.state[p].setdefault("step", torch.zeros(())) for p in parameters],
            foreach=True,
            amsgrad=False,
            maximize=False,
            weight_decay=0.0,
            beta1=self.beta1,
            beta2=0.999,
            eps=1e-8,
            lr=group["lr"],
        )

    def _buffer(self, p: Tensor, name: str) -> Tensor:
        state = self.state[p]
        if name not in state:
            state[name] = torch.zeros_like(p)
        elif state[name].stride() != p.stride():  # from a checkpoint, which keeps no memory format
            state[name] = torch.empty_like(p).copy_(state[name])
        buffer: Tensor = state[name]
        return buffer


def as_matrix(x: Float[Tensor, " n *m"], like: Tensor) -> Float[Tensor, "_ _"]:
    """Return a view of x as a matrix, its shorter side first.

    Its columns are in the order in which `like`, channels_last or not, lies in memory.
    """
    ordered = x if like.is_contiguous() else x.movedim(1, -1)
    matrix = ordered.view(len(x), -1)
    return matrix if len(x) <= matrix.shape[1] else matrix.mT


def orthogonal_factors(grams: list[Float[Tensor, "_ _"]]) -> list[Float[Tensor, "_ _"]]:
    """Return Q for every G = X Xᵀ, so that Q X has singular values near one; sizes in batches."""
    factors: dict[int, Tensor] = {}
    for size in sorted({len(gram) for gram in grams}):
        places = [place for place, gram in enumerate(grams) if len(gram) == size]
        batch = torch.stack([grams[place] for place in places])
        factors |= zip(places, _factors(batch).unbind(), strict=True)
    return [factors[place] for place in range(len(grams))]


def _factors(gram: Float[Tensor, "K n n"]) -> Float[Tensor, "K n n"]:
    diagonal = gram.diagonal(dim1=1, dim2=2)
    squared_norm = diagonal.sum(1).clamp(min=1e-24)[:, None, None]  # ‖X‖²
    gram /= squared_norm
    factor = torch.diag_embed(torch.full_like(diagonal, CONSTANT))
    for weight, shift in TERMS:
        shifted = gram.clone()
        shifted.diagonal(dim1=1, dim2=2).add_(shift)
        root = torch.linalg.cholesky_ex(shifted).L
        factor.add_(torch.cholesky_inverse(root), alpha=weight)
    return factor.mul_(squared_norm.rsqrt())
