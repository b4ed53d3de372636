"""R-WAE: DSVAE's model, with the aggregated posteriors pulled to the prior instead of each one.

Paper: Han, Min, Han, Li, Zhang, "Disentangled Recurrent Wasserstein Autoencoder", ICLR 2021. Its
body and code were not at hand: abstract, captions and a reader's notes of the talk were read;
kernel, critic and scale are those of Tolstikhin, Bousquet, Gelly, Schölkopf, "Wasserstein
Auto-Encoders", ICLR 2018, and its code.

Idea: a KL of each posterior to the prior costs information about x. Here only the distribution of
codes over all sequences must match the prior, measured by MMD or by a critic.

Equation: Σ_t E c(x_t, G(s, d_t)) -> reconstruction; β1 𝒟(Q_s, P_s) -> penalty_static;
β2 Σ_t 𝒟(Q(d_t | d_<t), P(d_t | d_<t)) -> penalty_dynamic: at each step the codes are compared with
draws of the prior given the same earlier codes. With a critic, its own loss -> critic_static,
critic_dynamic.

Letters: z^c -> s; z^m_t -> d_t; β1, β2 -> w_static, w_dynamic.

Departures:
* β1, β2, code sizes, kernel, rates and which variant the published rows show are not established.
  WAE weighs its squared error by 0.05 and 𝒟 by 10 to 100, i.e. β of 200 to 2000 beside our sum.
* A critic of d_t is told of d_{t−1}; both encoder and prior are moved by it. Generator and
  critic make their steps at the same time.
* Posterior log-variances are bounded below: without a KL they fall without end.
* The weakly supervised variant is not offered. Series have a likelihood with a learned scale.
"""

from dataclasses import dataclass, field
from typing import ClassVar, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from unbraid.latents.recurrent import DynamicPrior, SequencePosterior
from unbraid.methods.base import VariationalMethod, check_sizes
from unbraid.nets import Decoder, Encoder, NetConfig, decoder_for, encoder_for
from unbraid.nets.critic import CodeCritic
from unbraid.objectives.adversarial import critic_loss, frozen, generator_loss
from unbraid.objectives.mmd import mmd
from unbraid.parallel.gather import gather
from unbraid.records import Batch, Codes, Features, Gaussian, Posterior, Spec, Terms
from unbraid.settings import at_least

Penalty = Literal["mmd", "gan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RWAEConfig:
    """The paper's settings are not established: sizes of DSVAE, the smaller weight of WAE."""

    static_dim: int = 256
    dynamic_dim: int = 32
    static_penalty: Penalty = "mmd"
    dynamic_penalty: Penalty = "mmd"
    critic_width: int = 512  # of the layers of critics
    smallest_log_var: float = -6.0  # of posteriors
    decoded_steps: int = 0  # video: steps of a sequence decoded per training step; 0 = all
    w_reconstruction: float = 1.0
    w_static: float = 200.0
    w_dynamic: float = 200.0
    w_critic: float = 1.0
    net: NetConfig = field(default_factory=NetConfig)

    def __post_init__(self) -> None:
        check_sizes(self)
        at_least(self, 1, "critic_width")


class RWAE(VariationalMethod):
    """DSVAE's parts with penalties on aggregated posteriors."""

    label: ClassVar[str] = "R-WAE"
    paper: ClassVar[str] = (
        "Han, Min, Han, Li, Zhang, Disentangled Recurrent Wasserstein Autoencoder, ICLR 2021"
    )
    critics: ClassVar[tuple[str, ...]] = ("static_critic", "dynamic_critic")
    kl_static_is_standard: ClassVar[bool] = False
    Config = RWAEConfig

    def __init__(
        self,
        spec: Spec,
        config: RWAEConfig,
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
        if c.static_penalty == "gan":
            self.static_critic = CodeCritic(c.static_dim, c.critic_width)
        if c.dynamic_penalty == "gan":
            self.dynamic_critic = CodeCritic(2 * c.dynamic_dim, c.critic_width)

    def infer(self, batch: Batch) -> tuple[Features, Posterior]:
        h, q = super().infer(batch)
        return h, Posterior(self._bounded(q.s), self._bounded(q.d))

    def loss(self, batch: Batch, step: int) -> Terms:
        c = self.config
        z = self.infer(batch)[1].sample()
        drawn = Codes(torch.randn_like(z.s), self.prior(z.d, batch.mask).sample())
        errors = self.errors(z, batch)
        terms: Terms = {"reconstruction": (c.w_reconstruction, errors.sum(1).mean())}
        # From here on the batch is that of all processes, if several share one.
        z, drawn, mask = gather((z, drawn, batch.mask))
        return terms | self._static(z.s, drawn.s) | self._dynamic(z.d, drawn.d, mask)

    def _static(self, s: Float[Tensor, "B S"], prior: Float[Tensor, "B S"]) -> Terms:
        c = self.config
        if c.static_penalty == "mmd":
            every = torch.ones(len(s), dtype=torch.bool, device=s.device)
            return {"penalty_static": (c.w_static, mmd(s, prior, every))}
        critic = self.static_critic
        return {
            "penalty_static": (c.w_static, generator_loss(frozen(critic)(s))),
            "critic_static": (c.w_critic, critic_loss(critic(prior), critic(s.detach()))),
        }

    def _dynamic(
        self, d: Float[Tensor, "B T D"], prior: Float[Tensor, "B T D"], mask: Tensor
    ) -> Terms:
        c = self.config
        if c.dynamic_penalty == "mmd":
            value = mmd(d.transpose(0, 1), prior.transpose(0, 1), mask.T).sum()
            return {"penalty_dynamic": (c.w_dynamic, value)}
        critic, steps = self.dynamic_critic, mask.shape[1]
        before = torch.cat([torch.zeros_like(d[:, :1]), d[:, :-1]], 1).detach()
        code, draw = (torch.cat([before, part], -1) for part in (d, prior))
        judge = frozen(critic)
        fooling = generator_loss(judge(code), mask) + generator_loss(-judge(draw), mask)
        loss = critic_loss(critic(draw.detach()), critic(code.detach()), mask)
        return {
            "penalty_dynamic": (c.w_dynamic, steps * fooling),
            "critic_dynamic": (c.w_critic, loss),
        }

    def _bounded(self, q: Gaussian) -> Gaussian:
        return Gaussian(q.mean, q.log_var.clamp(min=self.config.smallest_log_var))
