"""DSVAE: the sequential VAE all methods here start from.

Paper: Li and Mandt, "Disentangled Sequential Autoencoder", ICML 2018; as the common base of the
C-DSVAE, SPYL and DBSE papers (Eq. 1-3 there).

Idea: one Gaussian code for the whole sequence and one per step, tied by an LSTM prior. A small d
and a large s make it easy to keep static factors in s. Nothing else separates the two.

Letters: f, s -> s; z_t -> d_t; alpha (weight of the KLs) -> w_kl_static, w_kl_dynamic.

Departures: `posterior="sequence"` (bi-LSTM, then a forward RNN) is the network of the later
papers' re-runs and the default; "full" and "factorised" are the two of the original paper, the
former conditioned on the mean of q(s | x); "pooled" and "centred" are our own. Both KLs have a
weight, 1 in the paper.
"""

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from unbraid.latents.recurrent import DynamicPrior, posterior_for
from unbraid.methods.base import VariationalMethod, check_sizes
from unbraid.nets import Decoder, Encoder, NetConfig, decoder_for, encoder_for
from unbraid.records import Batch, Spec, Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class DSVAEConfig:
    """Defaults are the Sprites setting of the later papers' re-runs."""

    static_dim: int = 256
    dynamic_dim: int = 32
    posterior: Literal["sequence", "pooled", "centred", "auto", "full", "factorised"] = "sequence"
    static_steps: int = 0  # pooled: steps s is read from once d is warm, drawn anew; 0 = all
    decoded_steps: int = 0  # video: steps of a sequence decoded per training step; 0 = all
    kl_warmup_steps: int = 0  # over which w_kl_dynamic rises from a fifth; 0 = at once
    kl_static_rise: float = 1.0  # factor by which w_kl_static rises after that, in twice the time
    kl_static_safe: float = 0.0  # beyond it, rises only while KL(d) does not grow; 0 = no limit
    w_reconstruction: float = 1.0
    w_kl_static: float = 1.0
    w_kl_dynamic: float = 1.0
    net: NetConfig = field(default_factory=NetConfig)

    def __post_init__(self) -> None:
        check_sizes(self)


class DSVAE(VariationalMethod):
    """One static code, one dynamic code per step, an LSTM prior, and the evidence bound."""

    label: ClassVar[str] = "DSVAE"
    paper: ClassVar[str] = "Li and Mandt, Disentangled Sequential Autoencoder, ICML 2018"
    Config = DSVAEConfig

    def __init__(
        self,
        spec: Spec,
        config: DSVAEConfig,
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

    def loss(self, batch: Batch, step: int) -> Terms:
        self.read_static(step)
        _, q = self.infer(batch)
        return self.elbo(q, q.sample(), batch, step)
