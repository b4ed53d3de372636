"""The parts of a model as plain functions of tensors in the units of the data, for other runtimes.

All sequences of a call have the same length: a graph has no mask. Sequences of another length go
into another call.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from unbraid.latents.anchored import AnchoredPrior
from unbraid.latents.recurrent import DynamicPrior
from unbraid.methods.base import Method
from unbraid.nets.folding import folded
from unbraid.records import Batch, Codes

States = Float[Tensor, "L B H"]


class EncoderGraph(nn.Module):
    """x (and which values are observed) -> s, d."""

    def __init__(self, method: Method) -> None:
        super().__init__()
        self.method = method

    def forward(
        self, x: Float[Tensor, "B T *F"], observed: Bool[Tensor, "B T *F"] | None = None
    ) -> tuple[Float[Tensor, "B S"], Float[Tensor, "B T D"]]:
        """Return posterior means."""
        x = self.method.spec.to_model(x)
        mask = torch.ones_like(x.flatten(2)[:, :, 0], dtype=torch.bool)
        if observed is not None:
            x = torch.where(observed, x, 0.0)
        z = self.method.encode(Batch(x, mask, observed))
        return z.s, z.d


class DecoderGraph(nn.Module):
    """s, d -> x."""

    def __init__(self, method: Method) -> None:
        super().__init__()
        self.method = method

    def forward(
        self, s: Float[Tensor, "B S"], d: Float[Tensor, "B T D"]
    ) -> Float[Tensor, "B T *F"]:
        """Return the decoded means."""
        return self.method.spec.to_data(self.method.decode(Codes(s, d)))


class PriorStepGraph(nn.Module):
    """d_{t-1} and the state of the prior's LSTM -> p(d_t | d_<t) and the next state."""

    def __init__(self, prior: DynamicPrior) -> None:
        super().__init__()
        self.prior = prior

    def forward(
        self, d: Float[Tensor, "B D"], h: States, c: States
    ) -> tuple[Float[Tensor, "B D"], Float[Tensor, "B D"], States, States]:
        """Return mean, log-variance and the next state; all zeros begin a sequence."""
        out, (h, c) = self.prior.lstm(d[:, None], (h, c))
        p = self.prior.head(out[:, 0])
        return p.mean, p.log_var, h, c


@dataclass(frozen=True, slots=True)
class Graph:
    """A part of a model with the names of its inputs and outputs and of their free axes."""

    name: str
    module: nn.Module
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    axes: dict[str, dict[int, str]]


def graphs_of(method: Method) -> list[Graph]:
    """Return the parts of a model: encoder, decoder and, where it has one, a step of the prior."""
    method = folded(method.eval()).to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
    inputs = ("x", "observed") if method.spec.missing else ("x",)
    steps = {0: "batch", 1: "time"}
    encoder = Graph(
        "encoder",
        EncoderGraph(method).eval(),
        inputs,
        ("s", "d"),
        {"observed": steps, "x": steps, "d": steps, "s": {0: "batch"}},
    )
    decoder = Graph(
        "decoder",
        DecoderGraph(method).eval(),
        ("s", "d"),
        ("x",),
        {"s": {0: "batch"}, "d": steps, "x": steps},
    )
    prior = step_prior(method)
    if prior is None:
        return [encoder, decoder]
    rows, states = ("d", "mean", "log_var"), ("h", "c", "next_h", "next_c")
    axes = {name: {0: "batch"} for name in rows} | {name: {1: "batch"} for name in states}
    step = PriorStepGraph(prior).eval()
    return [
        encoder,
        decoder,
        Graph("prior_step", step, ("d", "h", "c"), ("mean", "log_var", "next_h", "next_c"), axes),
    ]


def step_prior(method: Method) -> DynamicPrior | None:
    """Return the prior that goes step by step; None if the method has none."""
    prior = getattr(method, "prior", None)
    prior = prior.others if isinstance(prior, AnchoredPrior) else prior
    return prior if isinstance(prior, DynamicPrior) else None
