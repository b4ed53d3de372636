"""DBSE: s is read from a single element and subtracted from the features of d.

Paper: Berman, Naiman, Arbiv, Fadlon, Azencot, "Sequential Disentanglement by Extracting Static
Information From A Single Sequence Element", ICML 2024 (preprint: "Mitigating Mode Collapse in
Sequential Disentanglement via an Architecture Bias"), Eq. (4) to (8); the poster's sign.

Idea: one element, the anchor, holds all that is static. s is read from it alone, its d is zero,
and its summary is subtracted from the state that gives the other d_t, so that d need not be
small and no mutual-information term is needed.

Letters: s~ -> s_tilde; h_t -> features after the LSTM less s_tilde; alpha -> w_static
(reconstruction of the anchor from s alone); beta -> w_kl_static = w_kl_dynamic.

Departures:
* The anchor's reconstruction is one of the frames decoded anyway: no second pass.
* `anchor_code="inferred"` follows the authors' code: d at the anchor is what a bi-directional LSTM
  makes of the other elements (zeros at the anchor where they draw noise), the reconstruction
  covers all elements, and the static term is an extra decoding of the anchor with d = 0.
* The last convolution is 4x4 over the whole 4x4 map (128 features), not strided to 2x2.
* `subtract="before"` is what the authors' video code does: the anchor's features leave all
  features before the LSTM. "off" is the ablation "no sub"; `static_loss=False` is "no loss".
"""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import torch

from unbraid.latents.anchored import (
    Anchor,
    AnchorCode,
    AnchoredPosterior,
    AnchoredPrior,
    Steps,
    Subtract,
    moving_steps,
)
from unbraid.latents.recurrent import DynamicPrior
from unbraid.methods.base import VariationalMethod, check_sizes
from unbraid.nets import Decoder, Encoder, NetConfig, decoder_for, encoder_for
from unbraid.objectives.elbo import kl_dynamic, kl_static, reconstruction_error
from unbraid.records import Batch, Codes, Spec, Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class DBSEConfig:
    """Defaults are the paper's Sprites setting, Table 5."""

    static_dim: int = 256
    dynamic_dim: int = 256
    anchor: Anchor = "first"
    subtract: Subtract = "after"
    anchor_code: AnchorCode = "zero"  # d at the anchor
    static_loss: bool = True
    decoded_steps: int = 0  # video: steps of a sequence decoded per training step; 0 = all
    kl_warmup_steps: int = 0  # over which w_kl_dynamic rises from a fifth; 0 = at once
    w_reconstruction: float = 1.0
    w_static: float = 0.2
    w_kl_static: float = 0.2
    w_kl_dynamic: float = 0.2
    net: NetConfig = field(default_factory=lambda: NetConfig(channels=(32, 64, 128, 256)))

    def __post_init__(self) -> None:
        check_sizes(self)
        if self.anchor_code == "inferred" and self.net.hidden % 2:
            raise ValueError(
                "anchor_code 'inferred' reads in two directions of half the hidden size each: "
                f"net.hidden must be even, got {self.net.hidden}."
            )


class DBSE(VariationalMethod):
    """Static from one element, dynamics from the rest less the static."""

    label: ClassVar[str] = "DBSE"
    paper: ClassVar[str] = (
        "Berman, Naiman, Arbiv, Fadlon, Azencot, Sequential Disentanglement by Extracting Static "
        "Information From A Single Sequence Element, ICML 2024"
    )
    Config = DBSEConfig

    def __init__(
        self,
        spec: Spec,
        config: DBSEConfig,
        encoder: Encoder | None = None,
        decoder: Decoder | None = None,
    ) -> None:
        super().__init__()
        self.spec, self.config = spec, config
        c, net = config, config.net
        self.encoder = encoder or encoder_for(spec, net)
        self.posterior = AnchoredPosterior(
            self.encoder.features,
            (c.static_dim, c.dynamic_dim),
            net.hidden,
            anchor=c.anchor,
            subtract=c.subtract,
            anchor_code=c.anchor_code,
        )
        self.prior: AnchoredPrior | DynamicPrior
        if c.anchor_code == "zero":
            self.prior = AnchoredPrior(c.dynamic_dim, net.hidden, net.prior_layers, anchor=c.anchor)
        else:
            self.prior = DynamicPrior(c.dynamic_dim, net.hidden, net.prior_layers)
        self.decoder = decoder or decoder_for(spec, net, c.static_dim + c.dynamic_dim)

    @property
    def likelihood_terms(self) -> tuple[str, ...]:
        # With an inferred d at the anchor, the static term decodes the anchor once more.
        other = () if self.config.anchor_code == "inferred" else ("static_reconstruction",)
        return ("reconstruction", *other)

    def loss(self, batch: Batch, step: int) -> Terms:
        c = self.config
        moving = moving_steps(batch.mask, c.anchor)
        _, q = self.infer(batch)
        z = q.sample()
        if c.anchor_code == "inferred":
            dynamic = batch.mask
            terms = self._two_decodings(z, batch, moving)
        else:
            dynamic = moving
            z = Codes(z.s, z.d * moving[..., None])  # d is zero at the anchor
            terms = self._one_decoding(z, batch, moving)
        p_d = self.prior(z.d, batch.mask)
        return terms | {
            "kl_static": (c.w_kl_static, kl_static(q)),
            "kl_dynamic": (self.kl_dynamic_weight(step), kl_dynamic(q, p_d, dynamic)),
        }

    def _one_decoding(self, z: Codes, batch: Batch, moving: Steps) -> Terms:
        """Return the errors of the other elements, and of the anchor, whose d is zero."""
        c = self.config
        shown = batch if c.static_loss else replace(batch, mask=moving)
        errors = self.errors(z, shown, always=~moving)
        terms: Terms = {"reconstruction": (c.w_reconstruction, (errors * moving).sum(1).mean())}
        if c.static_loss:
            terms["static_reconstruction"] = (c.w_static, (errors * ~moving).sum(1).mean())
        return terms

    def _two_decodings(self, z: Codes, batch: Batch, moving: Steps) -> Terms:
        """Return the errors of all elements, and of the anchor decoded once more with d = 0."""
        c = self.config
        errors = self.errors(z, batch)
        terms: Terms = {"reconstruction": (c.w_reconstruction, errors.sum(1).mean())}
        if c.static_loss:
            anchor = replace(batch, mask=batch.mask & ~moving)
            static = self.decoder(Codes(z.s, torch.zeros_like(z.d)), anchor.mask)
            error = reconstruction_error(static, anchor).sum(1).mean()
            terms["static_reconstruction"] = (c.w_static, error)
        return terms
