"""VAE: one code per step, nothing that separates static from dynamic factors.

Paper: the row "VAE" of the series tables in Tonekaboni, Li, Arık, Goldenberg, Pfister, "Decoupling
Local and Global Representations of Time Series", AISTATS 2022, and their code; the model is Kingma
and Welling, "Auto-Encoding Variational Bayes", ICLR 2014.

Idea: a plain VAE for each window of a series. Windows are independent, in posterior and prior. It
is the reference below which a method that separates codes should not fall.

Equation: p(x, z) = Π_t N(z_t; 0, I) p(x_t | z_t), q(z_t | x_t) = N(μ, diag σ²);
−E log p(x | z) -> reconstruction; KL(q(z_t) || N(0, I)) summed over t -> kl_static for the first
`static_dim` numbers of z_t, kl_dynamic for the others.

Letters: z_t -> (s_t, d_t); β -> w_kl_static = w_kl_dynamic.

Departures:
* The paper has no static code. Ours is the mean over valid steps of the first `static_dim` numbers
  of z_t; training knows nothing of it. The published figures for a whole sequence (unit, month) are
  those of the sampled code of one random window.
* Networks are those of all methods here (window -> linear layers -> LSTM, and back). The authors
  feed random noise to the decoder's LSTM, at test time too; we do not. Their codes are samples,
  ours means. They repeat each sequence 10 to 15 times in a batch; we do not.
* The authors average the likelihood over all values and the KL over windows, divided by the number
  of channels F: on our scale, where the likelihood is a sum, the weight of the KL is W, the rows of
  a window: 4 for PhysioNet, 24 for Air Quality.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from unbraid.latents.recurrent import StandardPrior
from unbraid.latents.stepwise import StepPosterior, varying
from unbraid.methods.base import VariationalMethod, check_sizes
from unbraid.nets import Decoder, Encoder, NetConfig, decoder_for, encoder_for
from unbraid.objectives.elbo import kl_standard
from unbraid.records import Batch, Spec, Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class VAEConfig:
    """Defaults are the authors' PhysioNet setting: a code of 8 numbers, in two halves here."""

    static_dim: int = 4
    dynamic_dim: int = 4
    decoded_steps: int = 0  # video: steps of a sequence decoded per training step; 0 = all
    w_reconstruction: float = 1.0
    w_kl_static: float = 4.0  # printed 1, times the rows of a window
    w_kl_dynamic: float = 4.0
    net: NetConfig = field(default_factory=lambda: NetConfig(hidden=32))

    def __post_init__(self) -> None:
        check_sizes(self)


class VAE(VariationalMethod):
    """Independent Gaussian codes of every step; s is read off afterwards."""

    label: ClassVar[str] = "VAE"
    paper: ClassVar[str] = (
        "Kingma and Welling, Auto-Encoding Variational Bayes, ICLR 2014, as the series baseline of "
        "Tonekaboni et al., AISTATS 2022"
    )
    kl_static_is_standard: ClassVar[bool] = False
    Config = VAEConfig
    posterior: StepPosterior

    def __init__(
        self,
        spec: Spec,
        config: VAEConfig,
        encoder: Encoder | None = None,
        decoder: Decoder | None = None,
    ) -> None:
        super().__init__()
        self.spec, self.config = spec, config
        c, net = config, config.net
        sizes = (c.static_dim, c.dynamic_dim)
        self.encoder = encoder or encoder_for(spec, net)
        self.posterior = StepPosterior(self.encoder.features, *sizes, net.hidden)
        self.prior = StandardPrior(c.dynamic_dim)
        self.decoder = decoder or decoder_for(spec, net, sum(sizes))

    def loss(self, batch: Batch, step: int) -> Terms:
        c = self.config
        q = self.posterior.steps(self.encoder(batch))
        errors = self.errors(varying(q.s.sample(), q.d.sample()), batch)
        static, dynamic = ((kl_standard(part) * batch.mask).sum(1).mean() for part in (q.s, q.d))
        return {
            "reconstruction": (c.w_reconstruction, errors.sum(1).mean()),
            "kl_static": (c.w_kl_static, static),
            "kl_dynamic": (c.w_kl_dynamic, dynamic),
        }
