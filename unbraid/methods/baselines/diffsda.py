"""DiffSDA: a diffusion autoencoder with one s and small d_t, trained by denoising alone.

Paper: Zisling, Naiman, Berman, Suwajanakorn, Azencot, "DiffSDA: Unsupervised Diffusion Sequential
Disentanglement Across Modalities", ICLR 2026 (arXiv 2510.05717), section 3.2 and appendix.

Idea: a deterministic encoder gives one s and small d_t; a denoiser told of (s, d_t) learns to take
noise off each element. There is no KL and no term between codes. Separation comes from s being
shared by all steps and d_t being small.

Equation: E_σ,ε λ(σ) ‖D(x_t + σε; σ, s, d_t) − x_t‖², ln σ ~ N(P_mean, P_std²) for each element,
λ(σ) = (σ² + σ_d²) / (σ σ_d)² -> reconstruction, λ included: summed over a sequence, mean over the
batch.

Letters: s_0 -> s; d_0 -> d; σ_data -> sigma_data; P_mean, P_std -> noise_mean, noise_std.

Departures:
* Decoding starts from zeros, so that it has no randomness. By default it is one evaluation,
  D(0; σ₁, s, d_t) ≈ E[x_t | s, d_t], at σ₁ = exp(P_mean + 2 P_std), the largest noise that training
  visits; `decode_steps` > 1 follows the paper's path by Heun's method (there 32 steps).
* The paper fits a diffusion of fixed length over codes afterwards. Ours is a Gaussian for s and an
  LSTM for d, fitted by likelihood on detached codes while training: rows prior_static and
  prior_dynamic, which change nothing else.
* The denoiser is an MLP with skip connections for audio and series, as the paper's; it takes frames
  of video as flat vectors, too, where the paper has a U-Net: for small frames only.
* Unobserved values are zero in the noised input and do not count. No weight decay, no average of
  weights. Elements of a series are windows.
"""

import math
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from unbraid.latents.recurrent import DynamicPrior, SequencePosterior
from unbraid.methods.base import Method, check_sizes
from unbraid.nets import Encoder, NetConfig, encoder_for
from unbraid.nets.denoiser import Denoiser
from unbraid.nets.frames import join
from unbraid.objectives.denoising import heun, noise_weight
from unbraid.records import (
    Batch,
    Codes,
    Gaussian,
    Sequences,
    Spec,
    Terms,
    back_in_place,
    chosen_steps,
)
from unbraid.settings import at_least


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffSDAConfig:
    """Defaults are the paper's TIMIT setting.

    There data have the deviation 0.5. Ours have 1: `sigma_data` 1 and a `noise_mean` larger by ln 2
    are the same. For its series the paper takes 0.5 for data of deviation 1.
    """

    static_dim: int = 32
    dynamic_dim: int = 4
    width: int = 512  # of the denoiser's layers
    sigma_data: float = 1.0  # printed 0.5
    noise_mean: float = 0.29  # P_mean: printed −0.4, plus ln 2
    noise_std: float = 1.0  # P_std
    decode_steps: int = 1  # noise levels of decoding; the paper: 32
    w_reconstruction: float = 1.0
    w_prior: float = 1.0  # of the rows that fit the prior to detached codes
    net: NetConfig = field(default_factory=lambda: NetConfig(hidden=128))

    def __post_init__(self) -> None:
        check_sizes(self)
        at_least(self, 1, "width", "decode_steps")
        if min(self.sigma_data, self.noise_std) <= 0:
            raise ValueError("sigma_data and noise_std must be positive.")


class DiffSDA(Method):
    """Deterministic codes and a denoiser that is told of them."""

    label: ClassVar[str] = "DiffSDA"
    paper: ClassVar[str] = (
        "Zisling, Naiman, Berman, Suwajanakorn, Azencot, DiffSDA: Unsupervised Diffusion "
        "Sequential Disentanglement Across Modalities, ICLR 2026"
    )
    Config = DiffSDAConfig

    def __init__(
        self,
        spec: Spec,
        config: DiffSDAConfig,
        encoder: Encoder | None = None,
        decoder: Denoiser | None = None,
    ) -> None:
        super().__init__()
        self.spec, self.config = spec, config
        c, net = config, config.net
        sizes = (c.static_dim, c.dynamic_dim)
        self.encoder = encoder or encoder_for(spec, net)
        self.posterior = SequencePosterior(self.encoder.features, *sizes, net.hidden)
        self.decoder = decoder or Denoiser(spec.frame, sum(sizes), c.width, sigma_data=c.sigma_data)
        self.static_prior = nn.Parameter(torch.zeros(2, c.static_dim))  # mean, log-variance
        self.prior = DynamicPrior(c.dynamic_dim, net.hidden, net.prior_layers)

    def encode(self, batch: Batch) -> Codes:
        return self.posterior(self.encoder(batch), batch.mask).mean

    def decode(self, codes: Codes) -> Sequences:
        z = join(codes)  # (B, T, K)
        flat = z.flatten(0, 1)
        # Sizes from `shape`, not `len`: an export to ONNX keeps them open.
        zeros = flat.new_zeros(flat.shape[0], *self.spec.frame)

        def denoise(x: Tensor, sigma: float) -> Tensor:
            return self.decoder(x, x.new_full((x.shape[0],), sigma), flat)

        c = self.config
        largest = math.exp(c.noise_mean + 2 * c.noise_std)
        one = c.decode_steps == 1
        x = denoise(zeros, largest) if one else heun(denoise, zeros, c.decode_steps)
        return x.unflatten(0, z.shape[:2])

    def sample(self, n: int, length: int, *, means: bool = False) -> Codes:
        mean, log_var = self.static_prior.unbind()
        s = Gaussian(mean.expand(n, -1), log_var.expand(n, -1)).sample()
        return Codes(s, self.prior.rollout(n, length, means=means))

    def loss(self, batch: Batch, step: int) -> Terms:
        c, mask = self.config, batch.mask
        z = self.encode(batch)
        s, d = z.s.detach(), z.d.detach()
        static = Gaussian(*(part.expand_as(s) for part in self.static_prior.unbind()))
        dynamic = _surprise(d, self.prior(d * mask[..., None], mask)) * mask
        return {
            "reconstruction": (c.w_reconstruction, self._errors(z, batch).sum(1).mean()),
            "prior_static": (c.w_prior, _surprise(s, static).mean()),
            "prior_dynamic": (c.w_prior, dynamic.sum(1).mean()),
        }

    def _errors(self, z: Codes, batch: Batch) -> Float[Tensor, "B T"]:
        """Return λ(σ) ‖D(x_t + σε) − x_t‖² of every step, summed over the values that count."""
        c, mask = self.config, batch.mask
        level = (c.noise_mean + c.noise_std * torch.randn(mask.shape, device=mask.device)).exp()
        x = batch.x.where(batch.valid, 0.0)
        noised = x + level.reshape(*mask.shape, *[1] * (x.ndim - 2)) * torch.randn_like(x)
        noised = noised.where(batch.valid, 0.0)
        codes, sigma = chosen_steps(join(z), mask), chosen_steps(level, mask)
        x_hat = self.decoder(chosen_steps(noised, mask), sigma, codes)
        counts = chosen_steps(batch.valid.expand_as(x), mask)
        squared = (x_hat - chosen_steps(x, mask)).where(counts, 0.0).square().flatten(1).sum(1)
        return back_in_place(noise_weight(sigma, c.sigma_data) * squared, mask)


def _surprise(z: Float[Tensor, "*N"], p: Gaussian) -> Float[Tensor, "*M"]:
    """Return −log p(z) of diagonal Gaussians, summed over the last axis, in nats."""
    distance = (z - p.mean).square() * (-p.log_var).exp()
    return 0.5 * (math.log(2 * math.pi) + p.log_var + distance).sum(-1)
