"""The contract: a method answers four verbs, and everything users do is built from them."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from unbraid.latents.recurrent import PooledPosterior, some_steps
from unbraid.nets import Decoder, Encoder
from unbraid.objectives.elbo import negative_elbo, reconstruction_error
from unbraid.parallel.gather import gather
from unbraid.records import (
    Batch,
    Codes,
    Features,
    Kind,
    Posterior,
    Scalar,
    Sequences,
    Spec,
    Terms,
)
from unbraid.settings import all_finite, at_least

KL_START = 0.2  # share of the weight of KL(d) at the start of a warm-up
KL_GROWTH = 0.025  # of KL(d) over its lowest mean, at which the weight of s goes back
KL_MEAN_DECAY = 0.99  # of the running mean of KL(d): about 100 steps
Steps = Bool[Tensor, "B T"]
Errors = Float[Tensor, "B T"]


class Method(nn.Module, ABC):
    """A way to split sequences into a static and a dynamic code."""

    label: ClassVar[str] = ""
    """Its name as papers print it; empty: that of the class."""
    paper: ClassVar[str] = ""
    """Authors, short title, where printed."""
    kinds: ClassVar[tuple[Kind, ...]] = ("video", "audio", "series")
    """The kinds of data it is for."""
    critics: ClassVar[tuple[str, ...]] = ()
    """Parts that play against the others: they have a rate of their own (`training.critic_lr`)."""
    Config: ClassVar[type[Any]]
    """The frozen dataclass of its settings."""
    spec: Spec
    config: Any

    @property
    def likelihood_terms(self) -> tuple[str, ...]:
        """Terms of the loss that add up to −log p(x | s, d), every element once."""
        return ("reconstruction",)

    @abstractmethod
    def encode(self, batch: Batch) -> Codes:
        """Return the codes of sequences: posterior means, without randomness."""

    @abstractmethod
    def decode(self, codes: Codes) -> Sequences:
        """Return the sequences of codes, as a model sees them (`Spec.to_data` undoes that)."""

    @abstractmethod
    def sample(self, n: int, length: int, *, means: bool = False) -> Codes:
        """Draw codes of n sequences from the prior.

        Args:
            n: how many sequences.
            length: how many steps each.
            means: let d be the means along a drawn path instead of the draws.
        """

    @abstractmethod
    def loss(self, batch: Batch, step: int) -> Terms:
        """Return the terms of the objective in the order of the paper's equation.

        Args:
            batch: training sequences.
            step: how many optimiser steps were made, for warm-ups.
        """

    def save_pretrained(self, folder: str | Path) -> None:
        """Write the model as `model.json` and `model.safetensors`."""
        from unbraid.methods.store import save_model

        save_model(self, Path(folder))

    @classmethod
    def from_pretrained(cls, name: str | Path, **options: Any) -> "Method":
        """Return a model of a folder or of the hub (user/name); see `unbraid.load`."""
        from unbraid.methods.hub import load

        method = load(name, **options)
        if not isinstance(method, cls):
            raise ValueError(
                f"{name} holds a {type(method).__name__}, not a {cls.__name__}. Use unbraid.load."
            )
        return method


class RiseLimit(nn.Module):
    """How far the KL weight of s rises: beyond a safe factor only while KL(d) does not grow.

    A larger weight first removes from s what d holds anyway, a motion for example, and KL(d) stays
    as it is. Then static factors leave s for d, and KL(d) grows. When its running mean is
    `KL_GROWTH` above its lowest value since the safe factor, the factor goes back to the safe one,
    and stays.
    """

    mean: Tensor
    lowest: Tensor
    stopped: Tensor

    def __init__(self, safe: float) -> None:
        super().__init__()
        self.safe = safe
        for name in ("mean", "lowest"):
            self.register_buffer(name, torch.tensor(math.inf, dtype=torch.float64))
        self.register_buffer("stopped", torch.tensor(False))

    def forward(self, factor: float) -> float:
        """Return the factor, or the safe one if that is lower and the rise was stopped."""
        return min(factor, self.safe) if self.stopped else factor

    @torch.no_grad()
    def observe(self, kl_dynamic: Scalar, factor: float) -> None:
        """Take note of KL(d) of a training step that had this factor."""
        kl = gather(kl_dynamic.detach().double()[None]).mean()
        self.mean.copy_(kl if self.mean.isinf() else self.mean.lerp(kl, 1 - KL_MEAN_DECAY))
        if factor > self.safe:
            self.lowest.copy_(torch.minimum(self.lowest, self.mean))
            self.stopped |= self.mean > (1 + KL_GROWTH) * self.lowest


class VariationalMethod(Method):
    """A method made of four declared parts: `encoder`, `posterior`, `prior`, `decoder`."""

    kl_static_is_standard: ClassVar[bool] = True
    """Whether the loss has KL(q(s) || N(0, I)); not if s has no KL or is made of steps' codes."""
    encoder: Encoder
    """Batch -> features of every step."""
    posterior: nn.Module
    """(features, mask) -> Posterior."""
    prior: nn.Module
    """(d, mask) -> Gaussian, teacher-forced; `rollout(n, length)` draws."""
    decoder: Decoder
    """Codes -> Prediction of every step; (Codes, mask) -> Prediction of the steps in the mask."""

    def __init__(self, kl_static_safe: float = 0.0) -> None:
        super().__init__()
        self.rise_limit = RiseLimit(kl_static_safe) if kl_static_safe else None

    def encode(self, batch: Batch) -> Codes:
        return self.infer(batch)[1].mean

    def decode(self, codes: Codes) -> Sequences:
        return self.decoder(codes).mean

    def sample(self, n: int, length: int, *, means: bool = False) -> Codes:
        d = self.prior.rollout(n, length, means=means)  # type: ignore[operator]
        return Codes(d.new_empty(n, self.config.static_dim).normal_(), d)

    def infer(self, batch: Batch) -> tuple[Features, Posterior]:
        """Return the features of every step and the posterior they give."""
        h = self.encoder(batch)
        return h, self.posterior(h, batch.mask)

    def kl_dynamic_weight(self, step: int) -> float:
        """Return `w_kl_dynamic`, which rises from a fifth of itself over `kl_warmup_steps`.

        A small weight lets d learn the dynamic factors first; the larger weight later removes the
        static ones from d.
        """
        c = self.config
        progress = min(1.0, step / c.kl_warmup_steps) if c.kl_warmup_steps else 1.0
        return c.w_kl_dynamic * (KL_START + (1 - KL_START) * progress)

    def read_static(self, step: int) -> None:
        """Let a pooled posterior read s from `static_steps` once the warm-up of d is over.

        From the start, s would be too noisy for the static factors, and d would hold them.
        """
        if isinstance(self.posterior, PooledPosterior):
            c = self.config
            self.posterior.static_steps = c.static_steps if step >= c.kl_warmup_steps else 0

    def kl_static_weight(self, step: int) -> float:
        """Return `w_kl_static`, which rises by `kl_static_rise` after the warm-up of d.

        With a large weight from the start, d would hold the static factors. Once the weight of d
        is large, too, a larger one of s removes from s what d holds anyway. The rise is geometric,
        from one to three times `kl_warmup_steps`; without a warm-up there is none. Beyond
        `kl_static_safe` it goes as far as `rise_limit` allows.
        """
        factor = self._static_rise(step)
        factor = self.rise_limit(factor) if self.rise_limit else factor
        return self.config.w_kl_static * factor

    def _static_rise(self, step: int) -> float:
        """Return the factor of `w_kl_static` at this step, before any limit."""
        c = self.config
        if not c.kl_warmup_steps:
            return 1.0
        progress = min(1.0, max(0.0, (step / c.kl_warmup_steps - 1) / 2))
        return c.kl_static_rise**progress

    def elbo(self, q: Posterior, z: Codes, batch: Batch, step: int) -> Terms:
        """Return the rows of the negative ELBO of drawn codes, with the weights of this step."""
        errors, p_d = self.errors(z, batch), self.prior(z.d, batch.mask)
        w = self.config.w_reconstruction
        weights = (w, self.kl_static_weight(step), self.kl_dynamic_weight(step))
        terms = negative_elbo(errors, q, p_d, batch.mask, weights=weights)
        if self.rise_limit and self.training:
            self.rise_limit.observe(terms["kl_dynamic"][1], self._static_rise(step))
        return terms

    def errors(self, z: Codes, batch: Batch, *, always: Steps | None = None) -> Errors:
        """Return the reconstruction error of every step.

        While training with `decoded_steps`, only so many steps of a sequence are decoded, drawn
        anew each time; their errors count for the others too, so that the expected sum is that of
        all steps.

        Args:
            z: drawn codes.
            batch: the true sequences.
            always: steps that are decoded in any case and count for themselves alone.
        """
        steps, weight = steps_to_decode(self, batch.mask, always=always)
        return reconstruction_error(self.decoder(z, steps), replace(batch, mask=steps)) * weight


def steps_to_decode(
    method: Method, mask: Steps, *, always: Steps | None = None
) -> tuple[Steps, Errors]:
    """Return the steps that are decoded, and how often the error of each counts.

    All, once each, unless a method trains on video with `decoded_steps`: see `errors`.
    """
    few = method.config.decoded_steps
    if not few or not method.training or method.spec.kind != "video":
        return mask, mask.float()
    drawable = mask if always is None else mask & ~always
    chosen = some_steps(drawable, few)
    factor = drawable.sum(1) / chosen.sum(1).clamp(min=1)
    steps = chosen if always is None else chosen | (mask & always)
    return steps, torch.where(chosen, factor[:, None], steps.float())


@contextmanager
def frozen_statistics(*parts: Encoder | Decoder) -> Iterator[None]:
    """Normalise by batch statistics as in training, but do not let them move the running ones.

    Used for generated sequences, which must not shift what real data will be normalised by.
    """
    norms = [
        m
        for part in parts
        for m in part.modules()
        if isinstance(m, nn.modules.batchnorm._BatchNorm)
    ]
    states = [(norm, norm.momentum, norm.num_batches_tracked) for norm in norms]
    for norm in norms:
        norm.momentum = 0.0
        norm.num_batches_tracked = None
    try:
        yield
    finally:
        for norm, momentum, tracked in states:
            norm.momentum, norm.num_batches_tracked = momentum, tracked


def check_sizes(config: Any) -> None:
    """Raise `ValueError` for settings no method can work with."""
    all_finite(config)
    at_least(config, 1, "static_dim", "dynamic_dim")
    if getattr(config, "kl_static_rise", 1.0) <= 0:
        raise ValueError(f"kl_static_rise must be positive, got {config.kl_static_rise}.")
    if 0 < getattr(config, "kl_static_safe", 0.0) < 1:
        raise ValueError(
            f"kl_static_safe must be 0 (no limit) or at least 1, got {config.kl_static_safe}."
        )
    names = ("decoded_steps", "kl_static_safe", "kl_warmup_steps", "static_steps")
    at_least(config, 0, *(name for name in names if hasattr(config, name)))
    at_least(config, 0, *(name for name in config.__dataclass_fields__ if name.startswith("w_")))


def count_parameters(method: nn.Module) -> int:
    """Return the number of trained numbers.

    >>> count_parameters(nn.Linear(3, 2))
    8
    """
    return sum(part.numel() for part in method.parameters() if part.requires_grad)
