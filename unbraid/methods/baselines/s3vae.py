"""S3VAE: DSVAE with self-supervision of both codes.

Paper: Zhu, Min, Kadav, Graf, "S3VAE: Self-Supervised Sequential VAE for Representation
Disentanglement and Data Generation", CVPR 2020. Its body was not at hand: abstract, slides and
captions were read, and what two re-implementations by others agree on.

Idea: s must not change when frames are shuffled, and must differ from that of other sequences. d_t
must predict a signal of motion at step t, computed from the data. s and d must be independent.

Equation: L_VAE -> reconstruction, kl_static, kl_dynamic; λ1 L_SCC -> triplet, max(0, ‖s − s⁺‖ −
‖s − s⁻‖ + m); λ2 L_DFP -> motion, the cross-entropy of a linear head on d_t; λ3 L_MI ->
mi_static_dynamic, I(s; d) by minibatch weighted sampling.

Letters: z_f -> s; z_t -> d_t; λ1, λ2, λ3 -> w_triplet, w_motion, w_mi; m -> margin.

Departures:
* The signal comes from the data alone (`views/motion.py`): cells that change, quiet columns,
  channels that rise. The paper takes optical flow of a trained net, landmarks of faces, and for
  audio whether there is silence.
* I(s; d) is that of the whole trajectory, and what one sequence adds is never below 0; the
  re-implementations average over steps.
* λ, margin, code sizes and rates are not established: (1000, 100, 1) and m = 1 are those of one
  re-implementation, sizes those of C-DSVAE, whose networks are said to be the same.
* Per-frame features do not depend on the order of frames, so the shuffled view reuses them.
"""

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits

from unbraid.latents.recurrent import DynamicPrior, SequencePosterior
from unbraid.methods.base import VariationalMethod, check_sizes
from unbraid.nets import Decoder, Encoder, NetConfig, decoder_for, encoder_for
from unbraid.objectives.elbo import negative_elbo
from unbraid.objectives.mutual import densities, static_dynamic
from unbraid.objectives.triplet import triplet
from unbraid.records import Batch, Codes, Scalar, Spec, Terms
from unbraid.views.motion import motion_signal, signal_size
from unbraid.views.time import static_order


@dataclass(frozen=True, slots=True, kw_only=True)
class S3VAEConfig:
    """Weights and margin are not established: those of a re-implementation by others."""

    static_dim: int = 256
    dynamic_dim: int = 32
    signal: Literal["auto", "none"] = "auto"  # what d_t must predict; none: the term is left out
    margin: float = 1.0
    decoded_steps: int = 0  # video: steps of a sequence decoded per training step; 0 = all
    w_reconstruction: float = 1.0
    w_kl_static: float = 1.0
    w_kl_dynamic: float = 1.0
    w_triplet: float = 1000.0
    w_motion: float = 100.0
    w_mi: float = 1.0
    net: NetConfig = field(default_factory=NetConfig)

    def __post_init__(self) -> None:
        check_sizes(self)
        if self.margin < 0:
            raise ValueError(f"margin must not be negative, got {self.margin}.")


class S3VAE(VariationalMethod):
    """DSVAE with a triplet term, a signal of motion and I(s; d)."""

    label: ClassVar[str] = "S3VAE"
    paper: ClassVar[str] = (
        "Zhu, Min, Kadav, Graf, S3VAE: Self-Supervised Sequential VAE for Representation "
        "Disentanglement and Data Generation, CVPR 2020"
    )
    Config = S3VAEConfig
    posterior: SequencePosterior

    def __init__(
        self,
        spec: Spec,
        config: S3VAEConfig,
        encoder: Encoder | None = None,
        decoder: Decoder | None = None,
    ) -> None:
        super().__init__()
        self.spec, self.config = spec, config
        c, net = config, config.net
        sizes = (c.static_dim, c.dynamic_dim)
        self.encoder = encoder or encoder_for(spec, net)
        self.posterior = SequencePosterior(self.encoder.features, *sizes, net.hidden)
        self.prior = DynamicPrior(c.dynamic_dim, net.hidden, net.prior_layers)
        self.decoder = decoder or decoder_for(spec, net, sum(sizes))
        if c.signal == "auto":
            self.motion_head = nn.Linear(c.dynamic_dim, signal_size(spec.kind, spec.frame))

    def loss(self, batch: Batch, step: int) -> Terms:
        c, mask = self.config, batch.mask
        h, q = self.infer(batch)
        z = q.sample()
        weights = (c.w_reconstruction, c.w_kl_static, c.w_kl_dynamic)
        errors = self.errors(z, batch)
        terms = negative_elbo(errors, q, self.prior(z.d, mask), mask, weights=weights)
        view = self.posterior.static(static_order("shuffle", h, mask), mask).mean
        terms["triplet"] = (c.w_triplet, triplet(q.s.mean, view, margin=c.margin))
        if c.signal == "auto":
            terms["motion"] = (c.w_motion, self._motion(z, batch))
        mi = static_dynamic(densities(z, q, mask), self.spec.size)
        return terms | {"mi_static_dynamic": (c.w_mi, mi)}

    def _motion(self, z: Codes, batch: Batch) -> Scalar:
        """Return the cross-entropy of the signal given d_t, mean over known answers."""
        labels, known = motion_signal(self.spec.kind, batch)
        logits = self.motion_head(z.d).float()
        values = binary_cross_entropy_with_logits(logits, labels, reduction="none")
        sums = values.where(known, 0.0).sum((1, 2))
        return (sums / known.sum((1, 2)).clamp(min=1)).mean()
