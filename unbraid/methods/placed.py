"""Placed DSVAE: image patches from s, their positions from d_t; for video.

Paper: none, it is our own; the objective is that of DSVAE (Li and Mandt, ICML 2018), the decoder a
relative of AIR (Eslami et al., NeurIPS 2016) and DDPAE (Hsieh et al., NeurIPS 2018).

Idea: objects that move as wholes before a dark background, such as digits, cells or vehicles seen
from above. The decoder places `patches` images given by s at positions given by d_t
(`nets/patches.py`). s is read from crops at these positions, so that they are aligned.

Letters: as `methods/dsvae.py`.

Departures: none, there is no paper. Until version 0.1 it was `dsvae` with `posterior="placed"`.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

from unbraid.latents.recurrent import DynamicPrior, PlacedPosterior
from unbraid.methods.base import VariationalMethod, check_sizes
from unbraid.nets import Encoder, NetConfig, encoder_for
from unbraid.nets.patches import PatchDecoder
from unbraid.objectives.elbo import negative_elbo
from unbraid.records import Batch, Features, Kind, Posterior, Spec, Terms
from unbraid.settings import at_least


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedConfig:
    """Defaults are those of DSVAE; `sm-mnist/placed` has values that were measured."""

    static_dim: int = 256
    dynamic_dim: int = 32
    patches: int = 2  # objects that move, each an image of its own
    patch_side: int = 0  # of these images, in pixels; 0 = half of the frame
    decoded_steps: int = 0  # steps of a sequence decoded per training step; 0 = all
    kl_warmup_steps: int = 0  # over which w_kl_dynamic rises from a fifth; 0 = at once
    kl_static_rise: float = 1.0  # factor by which w_kl_static rises after that, in twice the time
    w_reconstruction: float = 1.0
    w_kl_static: float = 1.0
    w_kl_dynamic: float = 1.0
    net: NetConfig = field(default_factory=NetConfig)

    def __post_init__(self) -> None:
        check_sizes(self)
        at_least(self, 1, "patches")
        at_least(self, 0, "patch_side")


class Placed(VariationalMethod):
    """DSVAE whose decoder places patches given by s at positions given by d_t."""

    label: ClassVar[str] = "Placed DSVAE"
    paper: ClassVar[str] = "none; DSVAE with a decoder of our own"
    kinds: ClassVar[tuple[Kind, ...]] = ("video",)
    Config = PlacedConfig
    decoder: PatchDecoder

    def __init__(
        self,
        spec: Spec,
        config: PlacedConfig,
        encoder: Encoder | None = None,
        decoder: PatchDecoder | None = None,
    ) -> None:
        super().__init__()
        self.spec, self.config = spec, config
        if spec.kind not in self.kinds:
            raise ValueError(
                f"placed puts image patches into frames, and {spec.name} is {spec.kind}. Use "
                "another method, e.g. dsvae."
            )
        c, net = config, config.net
        sizes = (c.static_dim, c.dynamic_dim)
        self.encoder = encoder or encoder_for(spec, net)
        decoder = decoder or PatchDecoder(
            spec.frame, sizes, net.hidden, patches=c.patches, side=c.patch_side
        )
        self.posterior = PlacedPosterior(
            self.encoder.features, decoder.patch_values, *sizes, net.hidden
        )
        self.prior = DynamicPrior(c.dynamic_dim, net.hidden, net.prior_layers)
        self.decoder = decoder

    def infer(self, batch: Batch) -> tuple[Features, Posterior]:
        h = self.encoder(batch)
        return h, self.posterior(h, batch.mask, partial(self.decoder.crop, batch))

    def loss(self, batch: Batch, step: int) -> Terms:
        _, q = self.infer(batch)
        z = q.sample()
        errors = self.errors(z, batch)
        w = self.config.w_reconstruction
        weights = (w, self.kl_static_weight(step), self.kl_dynamic_weight(step))
        return negative_elbo(errors, q, self.prior(z.d, batch.mask), batch.mask, weights=weights)
