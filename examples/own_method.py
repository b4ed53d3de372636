"""A method of your own: four parts and a loss; then `unbraid` treats it as one of its own."""

import sys
from dataclasses import dataclass, field
from typing import ClassVar

import unbraid
from unbraid.latents.recurrent import POSTERIORS, DynamicPrior
from unbraid.methods.base import check_sizes
from unbraid.nets import Decoder, Encoder, NetConfig, decoder_for, encoder_for
from unbraid.objectives.elbo import negative_elbo
from unbraid.records import Batch, Spec, Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowConfig:
    """Settings, all with defaults; those called `w_` weigh a term."""

    static_dim: int = 8
    dynamic_dim: int = 8
    decoded_steps: int = 0
    kl_warmup_steps: int = 0
    w_reconstruction: float = 1.0
    w_kl_static: float = 1.0
    w_kl_dynamic: float = 1.0
    w_slow: float = 0.1  # of the squared change of d from step to step
    net: NetConfig = field(default_factory=lambda: NetConfig(hidden=32))

    def __post_init__(self) -> None:
        check_sizes(self)


class SlowVAE(unbraid.VariationalMethod):
    """DSVAE whose d prefers to move slowly."""

    paper: ClassVar[str] = "an example; no paper"
    Config = SlowConfig

    def __init__(
        self,
        spec: Spec,
        config: SlowConfig,
        encoder: Encoder | None = None,
        decoder: Decoder | None = None,
    ) -> None:
        super().__init__()
        self.spec, self.config = spec, config
        c, net = config, config.net
        self.encoder = encoder or encoder_for(spec, net)
        sizes = (self.encoder.features, c.static_dim, c.dynamic_dim, net.hidden)
        self.posterior = POSTERIORS["sequence"](*sizes)
        self.prior = DynamicPrior(c.dynamic_dim, net.hidden, net.prior_layers)
        self.decoder = decoder or decoder_for(spec, net, c.static_dim + c.dynamic_dim)

    def loss(self, batch: Batch, step: int) -> Terms:
        c, (_, q) = self.config, self.infer(batch)
        z = q.sample()
        weights = (c.w_reconstruction, c.w_kl_static, self.kl_dynamic_weight(step))
        p_d, errors = self.prior(z.d, batch.mask), self.errors(z, batch)
        terms = negative_elbo(errors, q, p_d, batch.mask, weights=weights)
        both = (batch.mask[:, 1:] & batch.mask[:, :-1])[..., None]
        change = ((z.d[:, 1:] - z.d[:, :-1]).square() * both).sum((1, 2)).mean()
        return terms | {"slow": (c.w_slow, change)}


unbraid.register_method("slowvae", SlowVAE)  # or an entry point `unbraid.methods` of your package

if __name__ == "__main__":
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 300  # fewer for a first try
    out = sys.argv[2] if len(sys.argv) > 2 else "runs"
    corpus = unbraid.load_data("toy-series", {"train": 600, "validation": 60, "test": 120})
    run = unbraid.fit(corpus, "slowvae", settings={"training": {"steps": steps}}, out=out)
    for row in unbraid.probe(unbraid.embed(run.model(), corpus.test), corpus.test, seeds=3):
        print(f"{row.code} tells {row.factor}: {row.mean:.2f}, chance {row.chance:.2f}")
