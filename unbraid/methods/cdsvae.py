"""C-DSVAE: contrastive estimates of mutual information with augmented views.

Paper: Bai, Wang, Gomes, "Contrastively Disentangled Sequential Variational Autoencoder",
NeurIPS 2021, Eq. (6) to (8) and appendix A.3.

Idea: s must be recognisable after the frames were shuffled, d after the looks were changed, and
the two must not tell of each other. The first two are InfoNCE terms, the third is minibatch
weighted sampling (MWS). With `mi="mws"` all three are MWS (Table 7 and 8 of the paper).

Letters: s -> s; z_t -> d_t; alpha -> w_kl_static = w_kl_dynamic; beta -> w_nce; gamma -> w_mi;
tau -> temperature; content augmentation -> static_view; motion augmentation -> dynamic_view.

Departures:
* Per-frame features do not depend on the order of frames, so the shuffled view reuses them and
  costs no convolution; views pass no decoder. Both give the same estimate as the plain way.
* Series have no accepted view that keeps the dynamics: `dynamic_view="auto"` drops I(d; x) for
  them; "scale" (one random factor per channel) is offered as an option. For video, "auto" is
  batched tensor code that does what kornia does, four times faster; "kornia" takes kornia.
* `posterior="pooled"` (our own) reads s from the mean of features over time: the shuffled view then
  has the very same s, and I(s; x) only tells sequences apart.
* Augmented views do not move the running statistics of BatchNorm: real sequences are normalised by
  those of real sequences (with both mixed, held-out errors are half as large again).
* MWS takes the variance where the authors' code takes it for a standard deviation.
* What one sequence adds to I(s; d) by MWS is never below 0 (`objectives/mutual.py`).
"""

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from torch import Tensor

from unbraid.latents.recurrent import (
    DynamicPrior,
    PooledPosterior,
    SequencePosterior,
    posterior_for,
)
from unbraid.methods.base import VariationalMethod, check_sizes, frozen_statistics
from unbraid.nets import Decoder, Encoder, NetConfig, decoder_for, encoder_for
from unbraid.objectives.mutual import code_input, densities, info_nce, static_dynamic
from unbraid.records import Batch, Features, Posterior, Spec, Terms
from unbraid.views import ViewName, dynamic_view_for
from unbraid.views.time import static_order


@dataclass(frozen=True, slots=True, kw_only=True)
class CDSVAEConfig:
    """Defaults are the authors' Sprites setting."""

    static_dim: int = 256
    dynamic_dim: int = 32
    posterior: Literal["sequence", "pooled", "centred", "auto"] = "sequence"
    mi: Literal["contrastive", "mws"] = "contrastive"
    static_view: Literal["shuffle", "reverse", "none"] = "shuffle"
    dynamic_view: ViewName = "auto"
    temperature: float = 0.5
    static_steps: int = 0  # pooled: steps s is read from once d is warm, drawn anew; 0 = all
    decoded_steps: int = 0  # video: steps of a sequence decoded per training step; 0 = all
    kl_warmup_steps: int = 0  # over which w_kl_dynamic rises from a fifth; 0 = at once
    kl_static_rise: float = 1.0  # factor by which w_kl_static rises after that, in twice the time
    kl_static_safe: float = 0.0  # beyond it, rises only while KL(d) does not grow; 0 = no limit
    w_reconstruction: float = 1.0
    w_kl_static: float = 1.0
    w_kl_dynamic: float = 1.0
    w_nce: float = 1.0
    w_mi: float = 1.0
    net: NetConfig = field(default_factory=NetConfig)

    def __post_init__(self) -> None:
        check_sizes(self)
        if self.temperature <= 0:
            raise ValueError(f"temperature must be positive, got {self.temperature}.")


class CDSVAE(VariationalMethod):
    """DSVAE with two contrastive terms and I(s; d)."""

    label: ClassVar[str] = "C-DSVAE"
    paper: ClassVar[str] = (
        "Bai, Wang, Gomes, Contrastively Disentangled Sequential Variational Autoencoder, "
        "NeurIPS 2021"
    )
    Config = CDSVAEConfig
    posterior: SequencePosterior | PooledPosterior

    def __init__(
        self,
        spec: Spec,
        config: CDSVAEConfig,
        encoder: Encoder | None = None,
        decoder: Decoder | None = None,
    ) -> None:
        super().__init__(config.kl_static_safe)
        self.spec, self.config = spec, config
        c, net = config, config.net
        self.encoder = encoder or encoder_for(spec, net)
        self.posterior = posterior_for(c, spec, self.encoder.features)
        self.prior = DynamicPrior(c.dynamic_dim, net.hidden, net.prior_layers)
        self.decoder = decoder or decoder_for(spec, net, c.static_dim + c.dynamic_dim)
        self.dynamic_view = dynamic_view_for(spec, c.dynamic_view)

    def loss(self, batch: Batch, step: int) -> Terms:
        c = self.config
        self.read_static(step)
        h, q = self.infer(batch)
        z = q.sample()
        terms = self.elbo(q, z, batch, step)
        table = densities(z, q, batch.mask)
        if c.mi == "mws":
            terms["mi_static"] = (-c.w_nce, code_input(table.static, self.spec.size))
            terms["mi_dynamic"] = (-c.w_nce, code_input(table.dynamic, self.spec.size))
        else:
            terms |= self._contrast(batch, h, q)
        terms["mi_static_dynamic"] = (c.w_mi, static_dynamic(table, self.spec.size))
        return terms

    def _contrast(self, batch: Batch, h: Features, q: Posterior) -> Terms:
        """Return the InfoNCE rows of the views that are switched on."""
        c, terms = self.config, Terms()
        if c.static_view != "none":
            q_s = self.posterior.static(static_order(c.static_view, h, batch.mask), batch.mask)
            estimate = info_nce(q.s.mean, q_s.mean, temperature=c.temperature)
            terms["mi_static"] = (-c.w_nce, estimate)
        if self.dynamic_view is not None:
            with frozen_statistics(self.encoder):  # changed looks are not what is encoded later
                other = self.infer(self.dynamic_view(batch))[1]
            anchor, view = (_trajectory(d, batch.mask) for d in (q.d.mean, other.d.mean))
            terms["mi_dynamic"] = (-c.w_nce, info_nce(anchor, view, temperature=c.temperature))
        return terms


def _trajectory(d: Tensor, mask: Tensor) -> Tensor:
    """Return d as one flat vector per sequence, padding zeroed."""
    return (d * mask[..., None]).flatten(1)
