"""DBSE's latents: s from one element, the anchor; d from the others."""

from typing import Literal

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn

from unbraid.latents.recurrent import DynamicPrior, GaussianHead, run_recurrent
from unbraid.records import Features, Gaussian, Posterior

Anchor = Literal["first", "middle", "last"]
Subtract = Literal["after", "before", "off"]
AnchorCode = Literal["zero", "inferred"]
Steps = Bool[Tensor, "B T"]


def anchor_index(mask: Steps, anchor: Anchor) -> Int[Tensor, " B"]:
    """Return the position of every sequence's anchor; middle and last follow its own length."""
    lengths = mask.sum(1)
    return {
        "first": torch.zeros_like(lengths),
        "middle": lengths // 2,
        "last": (lengths - 1).clamp(min=0),
    }[anchor]


def moving_steps(mask: Steps, anchor: Anchor) -> Steps:
    """Return a mask of the steps that exist and are not the anchor."""
    steps = torch.arange(mask.shape[1], device=mask.device)
    return mask & (steps != anchor_index(mask, anchor)[:, None])


def drop(h: Shaped[Tensor, "B T H"], a: Int[Tensor, " B"]) -> Shaped[Tensor, "B R H"]:
    """Return the sequences without their anchors: one step shorter."""
    steps = torch.arange(h.shape[1] - 1, device=h.device)
    source = steps + (steps >= a[:, None])  # (B, T-1)
    return h.gather(1, source[..., None].expand(-1, -1, h.shape[2]))


def insert(h: Float[Tensor, "B R H"], a: Int[Tensor, " B"]) -> Float[Tensor, "B T H"]:
    """Undo `drop`, with zeros at the anchor."""
    steps = torch.arange(h.shape[1] + 1, device=h.device)
    source = (steps - (steps > a[:, None]).long()).clamp(max=h.shape[1] - 1)
    spread = h.gather(1, source[..., None].expand(-1, -1, h.shape[2]))
    return spread * (steps != a[:, None])[..., None]


class AnchoredPosterior(nn.Module):
    """s̃ = tanh(W g_a) gives s; LSTM(g)_t − s̃ over the other elements gives d_t; d_a = 0.

    With `anchor_code="inferred"` a bi-directional LSTM reads all elements, zeros at the anchor, so
    that d_a is what the other elements tell of the anchor.
    """

    def __init__(
        self,
        features: int,
        sizes: tuple[int, int],
        hidden: int,
        *,
        anchor: Anchor,
        subtract: Subtract,
        anchor_code: AnchorCode = "zero",
    ) -> None:
        super().__init__()
        self.anchor, self.subtract, self.anchor_code = anchor, subtract, anchor_code
        self.summary = nn.Sequential(nn.Linear(features, hidden), nn.Tanh())
        self.static_head = GaussianHead(hidden, sizes[0])
        if anchor_code == "zero":
            self.tracker = nn.LSTM(features, hidden, batch_first=True)
        else:
            half = hidden // 2
            self.tracker = nn.LSTM(features, half, batch_first=True, bidirectional=True)
        self.dynamic_head = GaussianHead(hidden, sizes[1])

    def forward(self, h: Features, mask: Steps) -> Posterior:
        """Return both posteriors; at an anchor of zeros q(d) has mean zero and does not count."""
        if h.shape[1] < 2:
            raise ValueError("DBSE needs two elements at least: one stays, the others move.")
        a = anchor_index(mask, self.anchor)
        g_a = h[torch.arange(h.shape[0], device=h.device), a]  # (B, H)
        s_tilde = self.summary(g_a)
        others, valid = h, mask
        if self.anchor_code == "zero":
            others, valid = drop(h, a), drop(mask[..., None], a)[..., 0]
        if self.subtract == "before":
            others = others - g_a[:, None]
        if self.anchor_code == "inferred":
            others = others * moving_steps(mask, self.anchor)[..., None]
        h_tilde, _ = run_recurrent(self.tracker, others, valid)
        if self.subtract == "after":
            h_tilde = h_tilde - s_tilde[:, None]
        q_d = self.dynamic_head(h_tilde)
        if self.anchor_code == "zero":
            q_d = Gaussian(insert(q_d.mean, a), insert(q_d.log_var, a))
        return Posterior(self.static_head(s_tilde), q_d)


class AnchoredPrior(nn.Module):
    """p(d_t | d_<t) over the elements that move; the anchor's d is zero."""

    def __init__(self, dynamic_dim: int, hidden: int, layers: int, *, anchor: Anchor) -> None:
        super().__init__()
        self.anchor = anchor
        self.others = DynamicPrior(dynamic_dim, hidden, layers)

    def forward(self, d: Float[Tensor, "B T D"], mask: Steps) -> Gaussian:
        """Return the prior at every step, teacher-forced; at the anchor it does not count."""
        a = anchor_index(mask, self.anchor)
        p = self.others(drop(d, a), drop(mask[..., None], a)[..., 0])
        return Gaussian(insert(p.mean, a), insert(p.log_var, a))

    def rollout(self, n: int, length: int, *, means: bool = False) -> Float[Tensor, "n T D"]:
        """Draw n trajectories with a zero at the anchor."""
        if length == 1:
            return next(self.parameters()).new_zeros(n, 1, self.others.size)
        d = self.others.rollout(n, length - 1, means=means)
        mask = torch.ones(n, length, dtype=torch.bool, device=d.device)
        return insert(d, anchor_index(mask, self.anchor))
