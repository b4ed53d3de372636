"""The only things that travel between folders.

Axes: `B` batch, `T` time (steps or windows), `S`/`D` code sizes, `*F` one element of a sequence:
`C H W` for a video frame, `F` for a column of a spectrogram, `W F` for a window of a series.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

Kind = Literal["video", "audio", "series"]
Scalar = Float[Tensor, ""]
Sequences = Float[Tensor, "B T *F"]
Features = Float[Tensor, "B T H"]
Steps = Bool[Tensor, " B T"]
Terms = dict[str, tuple[float, Tensor]]
"""The loss as a table: name -> (weight, value); the loss is the sum of weight times value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """A labelled factor of variation: only evaluation ever looks at it.

    `classes` is the number of classes, or 0 for a number to be regressed. `values` may name the
    classes. A factor with `per_step` has one label per step instead of one per sequence.
    """

    name: str
    classes: int
    values: tuple[str, ...] = ()
    per_step: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """What a data set holds: enough to build networks for it and to draw what they decode.

    A model sees `(x - offset) / scale`, broadcast over the last axis of an element (series, audio)
    or as one number (video). Both are fitted on the training split and stored with the model.
    """

    name: str
    kind: Kind
    frame: tuple[int, ...]
    length: int
    static: tuple[Factor, ...] = ()
    dynamic: tuple[Factor, ...] = ()
    offset: tuple[float, ...] = (0.0,)
    scale: tuple[float, ...] = (1.0,)
    size: int = 1
    """Number of training sequences."""
    missing: bool = False
    """Whether single elements can be unobserved."""
    rate: float = 10.0
    """Steps per second, for players; rows per step's unit for series."""
    channels: tuple[str, ...] = ()
    """Names of the columns of a series."""
    features: str = ""
    """How audio features were made: "log-mel" ones can be turned back into sound."""
    stand_in: str = ""
    """Name of the benchmark that these data stand in for; results are labelled so."""
    pieces: bool = False
    """Whether several sequences are cut out of one recording: what lasts for a whole sequence may
    still change within the recording, so it need not be static."""

    def __post_init__(self) -> None:
        axes = {"video": 3, "audio": 1, "series": 2}
        if self.kind not in axes:
            raise ValueError(f"kind must be video, audio or series, got {self.kind!r}.")
        if min(self.length, *self.frame) < 1 or self.size < 0:
            raise ValueError(
                f"no axis of sequences may be empty, got length {self.length}, frame {self.frame}."
            )
        if len(self.frame) != axes[self.kind]:
            raise ValueError(
                f"a {self.kind} element has {axes[self.kind]} axes, got frame={self.frame}. "
                "Video wants (C, H, W), audio (F,), series (W, F) with W the window."
            )

    def to_model(self, x: Tensor) -> Tensor:
        """Return raw values as a model sees them."""
        return (x.float() - x.new_tensor(self.offset, dtype=torch.float32)) / x.new_tensor(
            self.scale, dtype=torch.float32
        )

    def to_data(self, x: Tensor) -> Tensor:
        """Undo `to_model`."""
        return x * x.new_tensor(self.scale) + x.new_tensor(self.offset)


@dataclass(frozen=True, slots=True)
class Batch:
    """Sequences as a model sees them, padded at the end to one length.

    Attributes:
        x: values; whatever stands at masked or unobserved places is never looked at.
        mask: True where a sequence has a step.
        observed: True where a single element is known; None if all elements of all steps are.
        alternatives: the same dynamics under other identities, prepared with the data (audio:
            converted voices), or None.
    """

    x: Float[Tensor, "B T *F"]
    mask: Bool[Tensor, "B T"]
    observed: Bool[Tensor, "B T *F"] | None = None
    alternatives: Float[Tensor, "B K T *F"] | None = None

    @staticmethod
    def full(x: Tensor) -> "Batch":
        """Return a batch in which every element is valid."""
        return Batch(x, torch.ones(x.shape[:2], dtype=torch.bool, device=x.device))

    @property
    def valid(self) -> Tensor:
        """Which elements are valid (exist and are observed), broadcastable to `x`."""
        if self.observed is not None:
            return self.observed
        return self.mask.reshape(*self.mask.shape, *([1] * (self.x.ndim - 2)))

    @property
    def x_filled(self) -> Tensor:
        """The values, zeros where a single element of a step is not observed."""
        return self.x if self.observed is None else self.x.where(self.observed, 0.0)

    def with_x(self, x: Tensor) -> "Batch":
        """Return the same steps with other values."""
        return replace(self, x=x)

    def steps(self, some: slice | Tensor) -> "Batch":
        """Return some of the steps of every sequence."""
        observed = None if self.observed is None else self.observed[:, some]
        others = None if self.alternatives is None else self.alternatives[:, :, some]
        return Batch(self.x[:, some], self.mask[:, some], observed, others)

    def to(self, device: torch.device | str) -> "Batch":
        """Return the batch on another device."""
        moved = (
            None if part is None else part.to(device)
            for part in (self.x, self.mask, self.observed, self.alternatives)
        )
        return Batch(*moved)  # type: ignore[arg-type]

    def __len__(self) -> int:
        return self.x.shape[0]


@dataclass(frozen=True, slots=True)
class Codes:
    """Static code `s`, one vector per sequence, and dynamic code `d`, one vector per step."""

    s: Float[Tensor, "B S"]
    d: Float[Tensor, "B T D"]

    def __len__(self) -> int:
        return self.s.shape[0]


@dataclass(frozen=True, slots=True)
class Gaussian:
    """A diagonal Gaussian over the last axis."""

    mean: Float[Tensor, "*N"]
    log_var: Float[Tensor, "*N"]

    def sample(self) -> Tensor:
        """Draw once per Gaussian, with a gradient to mean and variance."""
        return self.mean + (0.5 * self.log_var).exp() * torch.randn_like(self.mean)

    def detach(self) -> "Gaussian":
        """Return the same Gaussian without gradient."""
        return Gaussian(self.mean.detach(), self.log_var.detach())


@dataclass(frozen=True, slots=True)
class Posterior:
    """q(s | x) and q(d_t | ...) of a batch."""

    s: Gaussian
    d: Gaussian

    def sample(self) -> Codes:
        """Draw codes by the reparametrisation trick."""
        return Codes(self.s.sample(), self.d.sample())

    @property
    def mean(self) -> Codes:
        """The posterior means, without randomness."""
        return Codes(self.s.mean, self.d.mean)


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a decoder says of x: a mean, and the log-variance where the likelihood has one.

    `observed_logits` are those of an element being observed at all, where the decoder tells that.
    Axes are B T *F, or N *F for the N steps of a mask.
    """

    mean: Float[Tensor, "*shape"]
    log_var: Float[Tensor, "*shape"] | None = None
    observed_logits: Float[Tensor, "*shape"] | None = None


def chosen_steps(x: Shaped[Tensor, "B T *F"], mask: Steps) -> Shaped[Tensor, " N *F"]:
    """Return the steps in `mask`, one row each: `x[mask]`, without a copy where that is all."""
    return x.flatten(0, 1) if mask.all() else x[mask]


def back_in_place(
    some: Float[Tensor, " N *G"], mask: Bool[Tensor, "B T"]
) -> Float[Tensor, "B T *G"]:
    """Undo `chosen_steps`, with zeros elsewhere."""
    if mask.all():
        return some.reshape(*mask.shape, *some.shape[1:])
    every = some.new_zeros(*mask.shape, *some.shape[1:])
    every[mask] = some
    return every


def per_step(
    net: Callable[[Tensor], Tensor], x: Float[Tensor, "B T *F"], mask: Bool[Tensor, "B T"]
) -> Float[Tensor, "B T *G"]:
    """Return `net` of every existing step, zeros elsewhere.

    Padded steps never reach the network: they cost nothing and do not enter its BatchNorm.
    """
    return back_in_place(net(chosen_steps(x, mask)), mask)
