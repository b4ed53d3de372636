"""Placed DSVAE: image patches from s, their positions from d_t; for video.

Paper: none, it is our own; the objective is that of DSVAE (Li and Mandt, ICML 2018), the decoder a
relative of AIR (Eslami et al., NeurIPS 2016) and DDPAE (Hsieh et al., NeurIPS 2018).

Idea: objects that move as wholes before a dark background, such as digits, cells or vehicles seen
from above. The decoder places `patches` images given by s at positions given by d_t
(`nets/patches.py`). Objects are found one after the other, each in what those before it leave of
the frames; s is read from crops at the positions found, so that they are aligned.

Letters: as `methods/dsvae.py`.

Departures: none, there is no paper. Until version 0.1 it was `dsvae` with `posterior="placed"`; its
networks are others now, so that models of that time have to be trained again.
"""

from dataclasses import dataclass, field
from typing import ClassVar

import torch

from unbraid.latents.recurrent import DynamicPrior, PlacedPosterior
from unbraid.methods.base import VariationalMethod, check_sizes
from unbraid.nets import Encoder, NetConfig
from unbraid.nets.frames import fitting_shrink, inner_size
from unbraid.nets.patches import PatchDecoder, PatchReader, cropped_at, placed_at
from unbraid.nets.places import PlaceEncoder
from unbraid.records import (
    Batch,
    Features,
    Gaussian,
    Kind,
    Posterior,
    Spec,
    Terms,
    back_in_place,
    chosen_steps,
)
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
    posterior: PlacedPosterior
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
        inner_size(spec.frame, len(net.channels))  # frames that other methods refuse, it refuses
        shrink = net.shrink or fitting_shrink(spec.frame, 1)
        self.encoder = encoder or PlaceEncoder(spec.frame, net.channels[0], shrink=shrink)
        decoder = decoder or PatchDecoder(spec.frame, sizes, patches=c.patches, side=c.patch_side)
        self.reader = PatchReader(spec.frame[0], decoder.side, net.hidden)
        shares = (size // c.patches for size in sizes)
        self.posterior = PlacedPosterior(self.encoder.features, net.hidden, *shares)
        self.prior = DynamicPrior(c.dynamic_dim, net.hidden, net.prior_layers)
        self.decoder = decoder

    def infer(self, batch: Batch) -> tuple[Features, Posterior]:
        """Find an object, read it, take it out of the frames, find the next in what is left.

        AIR (Eslami et al., NeurIPS 2016) explains a scene in that order, too. All objects share the
        networks. No gradient goes through what was taken out.
        """
        first = self.encoder(batch)
        objects = [self._read(first, batch)]
        while len(objects) < self.config.patches:
            batch = self._without(objects[-1], batch)
            objects.append(self._read(self.encoder(batch), batch))
        return first, Posterior(_joined([q.s for q in objects]), _joined([q.d for q in objects]))

    def _read(self, h: Features, batch: Batch) -> Posterior:
        """Return the codes of the object that the features point at."""
        mask = batch.mask
        q_d = self.posterior(h, mask)
        at = self.decoder.placement(chosen_steps(q_d.mean, mask))
        with torch.autocast(h.device.type, enabled=False):
            crops = cropped_at(chosen_steps(batch.x_filled, mask), at)
        shown = self.reader(back_in_place(crops, mask), mask)
        return Posterior(self.posterior.static_head(shown), q_d)

    @torch.no_grad()
    def _without(self, q: Posterior, batch: Batch) -> Batch:
        """Return the frames less an object."""
        mask = batch.mask
        sequence, _ = mask.nonzero(as_tuple=True)
        patch = self.decoder.paint(q.s.mean)[sequence]
        placed = placed_at(patch, self.decoder.placement(chosen_steps(q.d.mean, mask)))
        left = (chosen_steps(batch.x_filled, mask) - placed).clamp(min=0)
        return batch.with_x(back_in_place(left, mask))

    def loss(self, batch: Batch, step: int) -> Terms:
        _, q = self.infer(batch)
        return self.elbo(q, q.sample(), batch, step)


def _joined(parts: list[Gaussian]) -> Gaussian:
    """Return the shares of all objects side by side."""
    means, log_vars = zip(*((part.mean, part.log_var) for part in parts), strict=True)
    return Gaussian(torch.cat(means, -1), torch.cat(log_vars, -1))
