"""GLR: a global code from a piece of the series, local codes under a Gaussian process.

Paper: Tonekaboni, Li, Arık, Goldenberg, Pfister, "Decoupling Local and Global Representations of
Time Series", AISTATS 2022, and the authors' code.

Idea: s is read from a random piece of the series, so it can only hold what every piece shows. d_t
follows Gaussian processes of several length scales. A counterfactual term makes s matter: s is
replaced by a random one, the result is decoded and encoded again, and the new code must be found,
not the old one.

Equation, in its order: −E log p(x | s, d) -> reconstruction; KL(q(s | piece) || N(0, I)) ->
kl_static; KL(q(d) || GP) -> kl_dynamic; E exp(log q(s | x*) − log q(s* | x*)), s* ~ N(0, I),
x* ~ p(x | s*, d) -> counterfactual.

Letters: z_g -> s; z_t -> d_t; β -> w_kl_static, w_kl_dynamic; λ -> w_counterfactual.

Departures:
* The piece consists of whole windows and starts elsewhere in every sequence (authors: rows, one
  start for a batch). Encoding reads all windows; theirs reads a random piece.
* q(d) is diagonal in time, theirs banded, so white noise of variance `noise` is added to the
  kernels. Without it KL_d starts at 43,000 nats (RBF, ℓ = 2), its gradient in the shared encoder is
  47,000 times that of the likelihood, and s and d collapse together within 300 steps, both with
  the weights below and with w_kl_static 0.5, w_counterfactual 10 (PhysioNet).
* Both posteriors share the encoder of windows.
* From an exponent of 2 on, the counterfactual term grows linearly: with variance 1 its expectation
  is infinite at the start of training. Where the likelihood has no variance (video, audio), x* is
  its mean.
* The authors average the likelihood over all T·W·F values, divide KL_d by T·D and neither KL_s nor
  the counterfactual term: on our scale w_kl_dynamic = β·W·F/D, w_kl_static = β·T·W·F,
  w_counterfactual = λ·T·W·F. β = 0.1; λ = 1 is the default of their script, the paper's value per
  data set is not established.
"""

from dataclasses import dataclass, field
from typing import ClassVar

import torch

from unbraid.latents.gaussian_process import GPPrior
from unbraid.latents.local_global import LocalGlobalPosterior, Window
from unbraid.methods.base import VariationalMethod, check_sizes, frozen_statistics
from unbraid.nets import Decoder, Encoder, NetConfig, decoder_for, encoder_for
from unbraid.objectives.counterfactual import counterfactual
from unbraid.objectives.elbo import negative_elbo
from unbraid.records import (
    Batch,
    Codes,
    Posterior,
    Scalar,
    Spec,
    Terms,
    back_in_place,
    chosen_steps,
)
from unbraid.settings import at_least


@dataclass(frozen=True, slots=True, kw_only=True)
class GLRConfig:
    """Defaults are the authors' PhysioNet setting on our scale, with our 12 windows of 4 · 10."""

    static_dim: int = 8
    dynamic_dim: int = 8
    share: float = 0.6  # of the steps: the piece that s is read from
    fixed_variance: bool = True  # q(s | piece) has variance 1
    length_scale: float = 2.0  # the longest, in steps
    scales: int = 4  # ℓ, ℓ/2, ... of both kernels
    cauchy_amplitude: float = 0.5  # of half of the dimensions; the other half is RBF, amplitude 1
    noise: float = 0.1  # variance of white noise added to both kernels; authors 1e-5
    decoded_steps: int = 0  # video: steps of a sequence decoded per training step; 0 = all
    w_reconstruction: float = 1.0
    w_kl_static: float = 48.0  # 0.1 · T·W·F
    w_kl_dynamic: float = 0.5  # 0.1 · W·F / D
    w_counterfactual: float = 480.0  # 1 · T·W·F
    net: NetConfig = field(default_factory=lambda: NetConfig(hidden=32))

    def __post_init__(self) -> None:
        check_sizes(self)
        at_least(self, 1, "scales")
        at_least(self, 0, "noise")
        if not 0 < self.share <= 1:
            raise ValueError(f"share must be above 0 and at most 1, got {self.share}.")
        if min(self.length_scale, self.cauchy_amplitude) <= 0:
            raise ValueError("length_scale and cauchy_amplitude must be positive.")


class GLR(VariationalMethod):
    """Global code of a piece, local codes by Gaussian processes, counterfactual term."""

    label: ClassVar[str] = "GLR"
    paper: ClassVar[str] = (
        "Tonekaboni, Li, Arık, Goldenberg, Pfister, Decoupling Local and Global Representations of "
        "Time Series, AISTATS 2022"
    )
    Config = GLRConfig
    posterior: LocalGlobalPosterior

    def __init__(
        self,
        spec: Spec,
        config: GLRConfig,
        encoder: Encoder | None = None,
        decoder: Decoder | None = None,
    ) -> None:
        super().__init__()
        self.spec, self.config = spec, config
        c, net = config, config.net
        sizes = (c.static_dim, c.dynamic_dim)
        self.encoder = encoder or encoder_for(spec, net)
        self.posterior = LocalGlobalPosterior(
            self.encoder.features, *sizes, net.hidden, fixed_variance=c.fixed_variance
        )
        self.prior = GPPrior(
            c.dynamic_dim,
            {"cauchy": c.cauchy_amplitude, "rbf": 1.0},
            length_scale=c.length_scale,
            scales=c.scales,
            noise=c.noise,
        )
        self.decoder = decoder or decoder_for(spec, net, sum(sizes))

    def loss(self, batch: Batch, step: int) -> Terms:
        c, mask = self.config, batch.mask
        h, piece = self.encoder(batch), Window(mask, c.share)
        q = Posterior(self.posterior.static(piece.of(h), piece.mask), self.posterior.dynamic(h))
        z = q.sample()
        weights = (c.w_reconstruction, c.w_kl_static, c.w_kl_dynamic)
        errors = self.errors(z, batch)
        terms = negative_elbo(errors, q, self.prior(z.d, mask), mask, weights=weights)
        return terms | {"counterfactual": (c.w_counterfactual, self._counterfactual(z, batch))}

    def _counterfactual(self, z: Codes, batch: Batch) -> Scalar:
        """Decode a piece with another s, encode it, and see which s is found."""
        piece, new = Window(batch.mask, self.config.share), torch.randn_like(z.s)
        observed = None if batch.observed is None else piece.of(batch.observed)
        with frozen_statistics(self.encoder, self.decoder):
            x_hat = self.decoder(Codes(new, piece.of(z.d)), piece.mask)
            x = x_hat.mean
            if x_hat.log_var is not None:
                # Of all T steps: a draw by the longest piece would depend on what rows are here.
                noise = piece.of(torch.randn(*batch.mask.shape, *self.spec.frame, device=x.device))
                x = x + (0.5 * x_hat.log_var).exp() * chosen_steps(noise, piece.mask)
            h = self.encoder(Batch(back_in_place(x, piece.mask), piece.mask, observed))
        return counterfactual(self.posterior.static(h, piece.mask), z.s, new)
