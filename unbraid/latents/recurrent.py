"""q(s | x), q(d_t | ...) by recurrent nets over the features, and the prior p(d_t | d_<t)."""

from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from unbraid.records import Features, Gaussian, Posterior, Spec

Steps = Bool[Tensor, "B T"]


class GaussianHead(nn.Module):
    """Features -> mean and log-variance, both linear, in fp32 whatever the features are."""

    def __init__(self, features: int, size: int) -> None:
        super().__init__()
        self.linear = nn.Linear(features, 2 * size)

    def forward(self, h: Float[Tensor, "*N H"]) -> Gaussian:
        """Return the Gaussian of every feature vector."""
        with torch.autocast(h.device.type, enabled=False):
            mean, log_var = self.linear(h.float()).chunk(2, -1)
        return Gaussian(mean, log_var)


def run_recurrent(
    rnn: nn.RNNBase, h: Float[Tensor, "B T H"], mask: Bool[Tensor, "B T"]
) -> tuple[Float[Tensor, "B T K"], Float[Tensor, "B K"]]:
    """Run a recurrent net over the existing steps in one call.

    Returns:
        the output at every step (zeros at padding) and the last state, both directions joined;
        the backward direction starts at each sequence's own end.
    """
    if mask.all():
        out, state = rnn(h)
    else:
        lengths = mask.sum(1).clamp(min=1).cpu()
        packed = pack_padded_sequence(h, lengths, batch_first=True, enforce_sorted=False)
        packed_out, state = rnn(packed)
        out, _ = pad_packed_sequence(packed_out, batch_first=True, total_length=h.shape[1])
    last = state[0] if isinstance(state, tuple) else state  # an LSTM also returns its cells
    directions = 2 if rnn.bidirectional else 1
    return out, torch.cat(tuple(last[-directions:]), -1)


def mean_features(h: Float[Tensor, "B T H"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B H"]:
    """Return the mean of the features of the existing steps of every sequence."""
    exists = mask[..., None]
    return (h * exists).sum(1) / exists.sum(1).clamp(min=1)


def some_steps(mask: Bool[Tensor, "B T"], few: int) -> Bool[Tensor, "B T"]:
    """Draw `few` of the steps in `mask` for every sequence, or all if there are no more.

    >>> some_steps(torch.tensor([[True, True, False], [True, False, False]]), 2).tolist()
    [[True, True, False], [True, False, False]]
    """
    keys = torch.rand(mask.shape, device=mask.device).masked_fill(~mask, 2.0)
    return mask & (keys.argsort(1).argsort(1) < few)


class SequencePosterior(nn.Module):
    """A bi-LSTM's last states give s; its outputs, through a forward RNN, give d_t."""

    def __init__(self, features: int, static_dim: int, dynamic_dim: int, hidden: int) -> None:
        super().__init__()
        self.reader = nn.LSTM(features, hidden, batch_first=True, bidirectional=True)
        self.static_head = GaussianHead(2 * hidden, static_dim)
        self.tracker = nn.RNN(2 * hidden, hidden, batch_first=True)
        self.dynamic_head = GaussianHead(hidden, dynamic_dim)

    def forward(self, h: Features, mask: Steps) -> Posterior:
        """Return both posteriors."""
        out, last = run_recurrent(self.reader, h, mask)
        tracked, _ = run_recurrent(self.tracker, out, mask)
        return Posterior(self.static_head(last), self.dynamic_head(tracked))

    def static(self, h: Features, mask: Steps) -> Gaussian:
        """Return q(s | x) alone, without the work for d."""
        return self.static_head(run_recurrent(self.reader, h, mask)[1])


class FullPosterior(nn.Module):
    """DSVAE "full": d_t is read from the sequence and s together.

    Departure: d is conditioned on the mean of q(s | x), not on a draw, so that encoding has no
    randomness and the KL of d stays analytic.
    """

    def __init__(self, features: int, static_dim: int, dynamic_dim: int, hidden: int) -> None:
        super().__init__()
        self.reader = nn.LSTM(features, hidden, batch_first=True, bidirectional=True)
        self.static_head = GaussianHead(2 * hidden, static_dim)
        sizes = features + static_dim
        self.follower = nn.LSTM(sizes, hidden, batch_first=True, bidirectional=True)
        self.tracker = nn.RNN(2 * hidden, hidden, batch_first=True)
        self.dynamic_head = GaussianHead(hidden, dynamic_dim)

    def forward(self, h: Features, mask: Steps) -> Posterior:
        """Return both posteriors."""
        q_s = self.static_head(run_recurrent(self.reader, h, mask)[1])
        s: Float[Tensor, "B T S"] = q_s.mean[:, None].expand(-1, h.shape[1], -1)
        out, _ = run_recurrent(self.follower, torch.cat([h, s], -1), mask)
        tracked, _ = run_recurrent(self.tracker, out, mask)
        return Posterior(q_s, self.dynamic_head(tracked))


class FactorisedPosterior(nn.Module):
    """DSVAE "factorised": d_t is read from x_t alone."""

    def __init__(self, features: int, static_dim: int, dynamic_dim: int, hidden: int) -> None:
        super().__init__()
        self.reader = nn.LSTM(features, hidden, batch_first=True, bidirectional=True)
        self.static_head = GaussianHead(2 * hidden, static_dim)
        self.step = nn.Sequential(nn.Linear(features, hidden), nn.ReLU())
        self.dynamic_head = GaussianHead(hidden, dynamic_dim)

    def forward(self, h: Features, mask: Steps) -> Posterior:
        """Return both posteriors."""
        q_s = self.static_head(run_recurrent(self.reader, h, mask)[1])
        return Posterior(q_s, self.dynamic_head(self.step(h)))


class PooledPosterior(nn.Module):
    """s from the mean over time of per-step features, d_t from an LSTM over them.

    In no paper. Dynamic factors average out before s is read, so s holds little of them from the
    first training step on. The last state of an LSTM holds them first and has to unlearn them.

    A mean still tells how often something was where. With `static_steps`, training reads s from so
    many steps, drawn anew each time: what only the others show cannot be relied on. A method may
    set it while training.

    With `centred`, the LSTM of d reads features less their mean over the sequence: what is the same
    at every step never reaches d, in place of a KL term that would have to drive it out. Networks
    for converting voices normalise over time for the same reason (Chou, Yeh and Lee, Interspeech
    2019). What lasts for a whole sequence is then told by s alone.
    """

    def __init__(
        self,
        features: int,
        static_dim: int,
        dynamic_dim: int,
        hidden: int,
        *,
        static_steps: int = 0,
        centred: bool = False,
    ) -> None:
        super().__init__()
        self.static_steps, self.centred = static_steps, centred
        self.step = nn.Sequential(nn.Linear(features, hidden), nn.ReLU())
        self.static_head = GaussianHead(hidden, static_dim)
        self.tracker = nn.LSTM(features, hidden, batch_first=True)
        self.dynamic_head = GaussianHead(hidden, dynamic_dim)

    def forward(self, h: Features, mask: Steps) -> Posterior:
        """Return both posteriors."""
        moving = h - mean_features(h, mask)[:, None] if self.centred else h
        tracked, _ = run_recurrent(self.tracker, moving, mask)
        return Posterior(self.static(h, mask), self.dynamic_head(tracked))

    def static(self, h: Features, mask: Steps) -> Gaussian:
        """Return q(s | x) alone; the order of steps does not matter to it."""
        if self.static_steps and self.training:
            mask = some_steps(mask, self.static_steps)
        return self.static_head(mean_features(self.step(h), mask))


class PlacedPosterior(nn.Module):
    """Of one object: d_t from an LSTM over features of frames, s from features of what it shows."""

    def __init__(self, features: int, shown: int, static_dim: int, dynamic_dim: int) -> None:
        super().__init__()
        self.tracker = nn.LSTM(features, shown, batch_first=True)
        self.dynamic_head = GaussianHead(shown, dynamic_dim)
        self.static_head = GaussianHead(shown, static_dim)

    def forward(self, h: Features, mask: Steps) -> Gaussian:
        """Return q(d | x), which says where the object is; then `static_head` can read it."""
        return self.dynamic_head(run_recurrent(self.tracker, h, mask)[0])


POSTERIORS: dict[str, type[nn.Module]] = {
    "sequence": SequencePosterior,
    "pooled": PooledPosterior,
    "full": FullPosterior,
    "factorised": FactorisedPosterior,
}


def posterior_for(config: Any, spec: Spec, features: int) -> Any:
    """Return the posterior that a method's settings ask for."""
    name = posterior_name(config.posterior, spec)
    sizes = (features, config.static_dim, config.dynamic_dim, config.net.hidden)
    if name in ("pooled", "centred"):
        centred = name == "centred"
        return PooledPosterior(*sizes, static_steps=config.static_steps, centred=centred)
    return POSTERIORS[name](*sizes)


def posterior_name(name: str, spec: Spec) -> str:
    """Return the posterior that "auto" stands for, or the one that is named.

    What stays the same over a whole sequence is static, so d is centred. In a piece of a longer
    recording it need not be (an activity may last for all of it), so d is not.
    """
    if name != "auto":
        return name
    return "pooled" if spec.pieces else "centred"


class DynamicPrior(nn.Module):
    """An LSTM that says how d goes on."""

    def __init__(self, dynamic_dim: int, hidden: int, layers: int) -> None:
        super().__init__()
        self.size = dynamic_dim
        self.lstm = nn.LSTM(dynamic_dim, hidden, layers, batch_first=True)
        self.head = GaussianHead(hidden, dynamic_dim)

    def forward(self, d: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]) -> Gaussian:
        """Return p(d_t | d_<t) for every t, teacher-forced, in one call.

        The first step sees zeros. Padding at the end needs no care: nothing looks ahead.
        """
        earlier = torch.cat([torch.zeros_like(d[:, :1]), d[:, :-1]], 1)
        return self.head(self.lstm(earlier)[0])

    def rollout(self, n: int, length: int, *, means: bool = False) -> Float[Tensor, "n T D"]:
        """Draw n trajectories, step by step.

        Args:
            n: how many.
            length: number of steps.
            means: return the means along the drawn path instead of the draws themselves.
        """
        d = next(self.parameters()).new_zeros(n, 1, self.size)
        state, path = None, []
        for _ in range(length):
            out, state = self.lstm(d, state)
            p = self.head(out)
            d = p.sample()
            path.append(p.mean if means else d)
        return torch.cat(path, 1)


class StandardPrior(nn.Module):
    """p(d_t) = N(0, I), every step on its own."""

    like: Tensor

    def __init__(self, dynamic_dim: int) -> None:
        super().__init__()
        self.size = dynamic_dim
        self.register_buffer("like", torch.zeros(()), persistent=False)

    def forward(self, d: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]) -> Gaussian:
        """Return N(0, I) at every step."""
        return Gaussian(torch.zeros_like(d), torch.zeros_like(d))

    def rollout(self, n: int, length: int, *, means: bool = False) -> Float[Tensor, "n T D"]:
        """Draw n trajectories; with `means` they are zero."""
        d = self.like.new_empty(n, length, self.size)
        return d.zero_() if means else d.normal_()
