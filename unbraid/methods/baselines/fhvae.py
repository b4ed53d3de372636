"""FHVAE: codes of segments around one centre per sequence, which must name their sequence.

Paper: Hsu, Zhang, Glass, "Unsupervised Learning of Disentangled and Interpretable Representations
from Sequential Data", NeurIPS 2017; hierarchical sampling of Hsu, Glass, arXiv 1804.03201; values
of the authors' code.

Idea: every segment has z2, whose prior mean μ2 all segments of a sequence share, and z1 with one
prior for all. A discriminative term makes z2 tell which sequence it is of, so what is constant goes
there.

Equation, for each step: −log p(x | z1, z2) -> reconstruction; KL(q(z2) || N(μ2, 0.5² I)), and
−log N(μ2; 0, I) once per sequence (without its constant) -> kl_static; KL(q(z1) || N(0, I)) ->
kl_dynamic; −log softmax_j(−‖E z2 − μ2_j‖² / (2 · 0.5²)) of its own sequence -> discriminative.

Letters: μ2 -> s, its most likely value Σ_t E z2_t / (n + 0.25); z1 -> d_t; α -> w_discriminative.

Departures:
* A segment is one step here (frame, column, window); the authors' has 20 frames and one z1. This is
  not the model of the published error rates.
* There is no table of μ2: s is computed by the formula of their test time, with a gradient, and the
  softmax runs over the sequences of the batch, which is hierarchical sampling with as many
  sequences as the batch has. New sequences are encoded in the same way.
* Training decodes (z2_t, z1_t); in use s takes the place of z2_t.
* Which α and sizes gave the published TIMIT rows is not established: α was 0 or 10, sizes 16 or 32.
"""

from dataclasses import dataclass, field
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from unbraid.latents.hierarchical import HierarchicalPosterior
from unbraid.latents.recurrent import StandardPrior
from unbraid.latents.stepwise import varying
from unbraid.methods.base import VariationalMethod, check_sizes
from unbraid.nets import Decoder, Encoder, NetConfig, decoder_for, encoder_for
from unbraid.objectives.elbo import kl, kl_standard
from unbraid.parallel.gather import gather
from unbraid.records import Batch, Gaussian, Scalar, Spec, Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class FHVAEConfig:
    """Defaults are the authors' TIMIT setting; which α gave their rows is not established."""

    static_dim: int = 32
    dynamic_dim: int = 32
    spread: float = 0.5  # standard deviation of z2 around s
    decoded_steps: int = 0  # video: steps of a sequence decoded per training step; 0 = all
    w_reconstruction: float = 1.0
    w_kl_static: float = 1.0
    w_kl_dynamic: float = 1.0
    w_discriminative: float = 10.0
    net: NetConfig = field(default_factory=NetConfig)

    def __post_init__(self) -> None:
        check_sizes(self)
        if self.spread <= 0:
            raise ValueError(f"spread must be positive, got {self.spread}.")


class FHVAE(VariationalMethod):
    """Hierarchical codes of every step, a centre per sequence, a discriminative term."""

    label: ClassVar[str] = "FHVAE"
    paper: ClassVar[str] = (
        "Hsu, Zhang, Glass, Unsupervised Learning of Disentangled and Interpretable "
        "Representations from Sequential Data, NeurIPS 2017"
    )
    kl_static_is_standard: ClassVar[bool] = False
    Config = FHVAEConfig
    posterior: HierarchicalPosterior

    def __init__(
        self,
        spec: Spec,
        config: FHVAEConfig,
        encoder: Encoder | None = None,
        decoder: Decoder | None = None,
    ) -> None:
        super().__init__()
        self.spec, self.config = spec, config
        c, net = config, config.net
        sizes = (c.static_dim, c.dynamic_dim)
        self.encoder = encoder or encoder_for(spec, net)
        self.posterior = HierarchicalPosterior(
            self.encoder.features, *sizes, net.hidden, spread=c.spread
        )
        self.prior = StandardPrior(c.dynamic_dim)
        self.decoder = decoder or decoder_for(spec, net, sum(sizes))

    def loss(self, batch: Batch, step: int) -> Terms:
        c, mask = self.config, batch.mask
        h = self.encoder(batch)
        q_2 = self.posterior.steps(h)
        s, z_2 = self.posterior.center(q_2, mask).mean, q_2.sample()
        q_1 = self.posterior.dynamic(h, z_2)
        errors = self.errors(varying(z_2, q_1.sample()), batch)
        log_var = torch.full_like(q_2.mean, self.posterior.ratio).log()
        around = Gaussian(s[:, None].expand_as(q_2.mean), log_var)
        static = (kl(q_2, around) * mask).sum(1) + 0.5 * s.square().sum(1)
        naming = discriminative(*gather((q_2.mean, s, mask)), variance=self.posterior.ratio)
        return {
            "reconstruction": (c.w_reconstruction, errors.sum(1).mean()),
            "kl_static": (c.w_kl_static, static.mean()),
            "kl_dynamic": (c.w_kl_dynamic, (kl_standard(q_1) * mask).sum(1).mean()),
            "discriminative": (c.w_discriminative, naming),
        }


def discriminative(
    z: Float[Tensor, "B T S"], s: Float[Tensor, "B S"], mask: Tensor, *, variance: float
) -> Scalar:
    """Return −log p(own sequence | z_t), summed over valid steps, mean over the batch, in nats.

    p is the softmax over the sequences j of the batch of −‖z_t − s_j‖² / (2 · variance).
    """
    with torch.autocast(z.device.type, enabled=False):
        squared = z.square().sum(-1, keepdim=True) - 2 * z @ s.T + s.square().sum(-1)  # (B, T, B)
    surprise = -(-squared / (2 * variance)).log_softmax(-1)
    own = surprise.diagonal(dim1=0, dim2=2).T  # (B, T)
    return (own * mask).sum(1).mean()
