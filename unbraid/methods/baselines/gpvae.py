"""GP-VAE: a code per step whose path in time is smooth by a Gaussian-process prior.

Paper: Fortuin, Baranchuk, Rätsch, Mandt, "GP-VAE: Deep Probabilistic Time Series Imputation",
AISTATS 2020; as the series baseline of Tonekaboni et al., AISTATS 2022, in their code.

Idea: every dimension of the code is a Gaussian process in time with a heavy-tailed kernel, long
length scales in some dimensions and short ones in others. The likelihood counts observed values
only; what is missing is filled in by what is smooth.

Equation: z_k(·) ~ GP(0, k), k(t, u) = σ / (1 + (t − u)²/ℓ²), q(z_t | x_t) diagonal; −E log p(x | z)
-> reconstruction; KL(q(z) || GP) -> kl_static for the first `static_dim` dimensions, kl_dynamic for
the others. The KL is the sum over t of KL(q(z_t) || p(z_t | z_<t)) at a draw of z.

Letters: z_t -> (s_t, d_t); σ -> amplitude; ℓ -> length_scale; β -> w_kl_static = w_kl_dynamic.

Departures:
* The paper has no static code. As for `vae`, s is the mean over valid steps of the first
  `static_dim` numbers of z_t; a sample is the mean of a path drawn from the prior. With
  `slow_static` (our own) the longest length scales are theirs.
* The posterior is diagonal in time, one option of the authors' code; the banded one (precision
  B Bᵀ with a bidiagonal B) is not offered. It reads windows one by one, as in the GLR code.
* K is factorised in double precision; the authors replace NaN gradients by zero instead.
* The GLR code averages the likelihood over values and divides the KL by T·D: on our scale the
  weight of the KL is W·F / D, 5 for PhysioNet (4 · 10 / 8), 30 for Air Quality (24 · 10 / 8). It
  also scales the KL by the observed share; we do not, since the prior knows nothing of gaps.
* With that weight (5) all codes collapse on PhysioNet; the preset has 0.5, chosen on validation.
  White noise in the kernel (`noise`, our own) made no clear difference at 0.5, one seed.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from unbraid.latents.gaussian_process import GPPrior, Kernel
from unbraid.latents.stepwise import StepPosterior, varying
from unbraid.methods.base import VariationalMethod, check_sizes
from unbraid.nets import Decoder, Encoder, NetConfig, decoder_for, encoder_for
from unbraid.objectives.elbo import kl_steps
from unbraid.records import Batch, Codes, Spec, Terms
from unbraid.settings import at_least


@dataclass(frozen=True, slots=True, kw_only=True)
class GPVAEConfig:
    """Defaults are the PhysioNet setting of the GLR code: 8 numbers, in two halves here."""

    static_dim: int = 4
    dynamic_dim: int = 4
    kernel: Kernel = "cauchy"
    length_scale: float = 2.0  # in steps (windows)
    scales: int = 4  # length scales ℓ, ℓ/2, ℓ/4, ... over groups of dimensions
    amplitude: float = 1.0
    noise: float = 0.0  # variance of white noise added to the kernel, beside the authors' 0.001
    slow_static: bool = False  # s has the longest length scale alone
    decoded_steps: int = 0  # video: steps of a sequence decoded per training step; 0 = all
    w_reconstruction: float = 1.0
    w_kl_static: float = 5.0  # printed 1, times W·F / D
    w_kl_dynamic: float = 5.0
    net: NetConfig = field(default_factory=lambda: NetConfig(hidden=32))

    def __post_init__(self) -> None:
        check_sizes(self)
        at_least(self, 1, "scales")
        at_least(self, 0, "noise")
        if min(self.length_scale, self.amplitude) <= 0:
            raise ValueError("length_scale and amplitude must be positive.")


class GPVAE(VariationalMethod):
    """Gaussian-process codes of every step; s is read off afterwards."""

    label: ClassVar[str] = "GP-VAE"
    paper: ClassVar[str] = (
        "Fortuin, Baranchuk, Rätsch, Mandt, GP-VAE: Deep Probabilistic Time Series Imputation, "
        "AISTATS 2020"
    )
    kl_static_is_standard: ClassVar[bool] = False
    Config = GPVAEConfig
    posterior: StepPosterior
    prior: GPPrior

    def __init__(
        self,
        spec: Spec,
        config: GPVAEConfig,
        encoder: Encoder | None = None,
        decoder: Decoder | None = None,
    ) -> None:
        super().__init__()
        self.spec, self.config = spec, config
        c, net = config, config.net
        sizes = (c.static_dim, c.dynamic_dim)
        self.encoder = encoder or encoder_for(spec, net)
        self.posterior = StepPosterior(self.encoder.features, *sizes, net.hidden)
        self.static_prior, self.prior = (
            GPPrior(
                size,
                {c.kernel: c.amplitude},
                length_scale=c.length_scale,
                scales=scales,
                noise=c.noise,
            )
            for size, scales in zip(
                sizes, (1 if c.slow_static else c.scales, c.scales), strict=True
            )
        )
        self.decoder = decoder or decoder_for(spec, net, sum(sizes))

    def sample(self, n: int, length: int, *, means: bool = False) -> Codes:
        s = self.static_prior.rollout(n, length).mean(1)
        return Codes(s, self.prior.rollout(n, length, means=means))

    def loss(self, batch: Batch, step: int) -> Terms:
        c, mask = self.config, batch.mask
        q = self.posterior.steps(self.encoder(batch))
        s, d = q.s.sample(), q.d.sample()
        errors = self.errors(varying(s, d), batch)
        return {
            "reconstruction": (c.w_reconstruction, errors.sum(1).mean()),
            "kl_static": (c.w_kl_static, kl_steps(q.s, self.static_prior(s, mask), mask)),
            "kl_dynamic": (c.w_kl_dynamic, kl_steps(q.d, self.prior(d, mask), mask)),
        }
