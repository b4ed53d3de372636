"""SPYL: contrastive learning whose views come from the model itself.

Paper: Naiman, Berman, Azencot, "Sample and Predict Your Latent", ICML 2023, Eq. (6) to (9) and
Algorithm 1.

Idea: the batch's own posteriors say who is near and who is far (pairwise KL). A code drawn from a
near (far) posterior is decoded together with a draw of the other factor from the prior and
encoded again: a positive (negative) view, without any augmentation, for any modality.

Letters: s -> s; d_1:T -> d; lambda_1 .. lambda_3 -> w_reconstruction, w_kl_static, w_kl_dynamic;
lambda_4 -> w_nce; lambda_5 -> w_mi; tau -> temperature.

Departures:
* 2n negatives for each of n anchors would be 2n² decoded sequences. One bank of 2n is generated
  per batch, n for s (s̃_j from every posterior j, d̃ from the prior) and n for d (the reverse);
  each anchor draws its positive and takes its negatives from it by the rank of their sources.
  Counted at the sizes of `sprites/authors`, batch 100: the bank is 676 of 1299 GFLOP per step,
  where the authors' code takes 5742. A bank for each anchor, 2n² views, is no better where it was
  tried (docs/results/physionet.md).
* With `partner="batch"` the other factor comes from another sequence's posterior instead of the
  prior, and all 2n members serve both factors.
* `positives="self"` takes the anchor's own regenerated code, as the authors' code does.
* `posterior="pooled"` and `"centred"` are our own; see `latents/recurrent.py`.
* No gradient passes through the bank unless `bank_gradient` (1896 GFLOP per step); generated
  sequences do not move BatchNorm's running statistics.
* I(s; d) by MWS as in C-DSVAE: what one sequence adds is never below 0.
"""

from dataclasses import dataclass, field
from typing import ClassVar, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from unbraid.latents.recurrent import DynamicPrior, posterior_for
from unbraid.methods.base import VariationalMethod, check_sizes, frozen_statistics
from unbraid.nets import Decoder, Encoder, NetConfig, decoder_for, encoder_for
from unbraid.objectives.elbo import flatten_steps, pairwise_kl
from unbraid.objectives.mutual import densities, info_nce_against, static_dynamic
from unbraid.parallel.gather import gather, local_rows, same_draws
from unbraid.records import Batch, Codes, Posterior, Scalar, Spec, Terms, back_in_place

Pool = Literal["farthest", "middle", "middle+farthest", "random"]
Sources = Int[Tensor, " M"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SPYLConfig:
    """Defaults are the paper's Sprites setting, Table 6."""

    static_dim: int = 256
    dynamic_dim: int = 32
    posterior: Literal["sequence", "pooled", "centred", "auto"] = "sequence"
    negatives: Pool = "farthest"
    positives: Literal["pool", "self"] = "pool"
    views: Literal["predictive", "reparametrised"] = "predictive"
    partner: Literal["prior", "batch"] = "prior"
    bank_gradient: bool = False
    temperature: float = 0.5
    warmup_steps: int = 0  # steps before the contrastive terms count
    static_steps: int = 0  # pooled: steps s is read from once d is warm, drawn anew; 0 = all
    decoded_steps: int = 0  # video: steps of a sequence decoded per training step; 0 = all
    kl_warmup_steps: int = 0  # over which w_kl_dynamic rises from a fifth; 0 = at once
    kl_static_rise: float = 1.0  # factor by which w_kl_static rises after that, in twice the time
    kl_static_safe: float = 0.0  # beyond it, rises only while KL(d) does not grow; 0 = no limit
    w_reconstruction: float = 10.0
    w_kl_static: float = 5.0
    w_kl_dynamic: float = 1.0
    w_nce: float = 5.0
    w_mi: float = 1.0
    net: NetConfig = field(default_factory=lambda: NetConfig(channels=(32, 64, 128, 256)))

    def __post_init__(self) -> None:
        check_sizes(self)
        if self.temperature <= 0:
            raise ValueError(f"temperature must be positive, got {self.temperature}.")


@dataclass(frozen=True, slots=True)
class Bank:
    """Codes of M generated sequences and, for each, whose posterior its code was drawn from."""

    codes: Float[Tensor, "M K"]
    sources: Sources


class SPYL(VariationalMethod):
    """C-DSVAE's model and objective with views sampled and predicted by the model."""

    label: ClassVar[str] = "SPYL"
    paper: ClassVar[str] = "Naiman, Berman, Azencot, Sample and Predict Your Latent, ICML 2023"
    Config = SPYLConfig

    def __init__(
        self,
        spec: Spec,
        config: SPYLConfig,
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
        c = self.config
        self.read_static(step)
        _, q = self.infer(batch)
        z = q.sample()
        terms = self.elbo(q, z, batch, step)
        if step >= c.warmup_steps:
            terms |= self._contrast(batch, q, z)
        mi = static_dynamic(densities(z, q, batch.mask), self.spec.size)
        return terms | {"mi_static_dynamic": (c.w_mi, mi)}

    def _contrast(self, batch: Batch, q: Posterior, z: Codes) -> Terms:
        """Return the InfoNCE rows of s and d."""
        with torch.set_grad_enabled(self.config.bank_gradient and torch.is_grad_enabled()):
            static, dynamic = self._banks(batch, q)
        # From here on the batch is that of all processes, if several share one.
        q_s, q_d, z, mask = gather((q.s.detach(), q.d.detach(), z, batch.mask))
        far_s = pairwise_kl(q_s)
        flat, counts = flatten_steps(q_d, mask)
        # Per shared element, or short sequences would be near to everybody.
        far_d = pairwise_kl(flat, counts) / (counts @ counts.T)
        d = (z.d * mask[..., None]).flatten(1)
        weight = -self.config.w_nce
        with same_draws():
            return {
                "mi_static": (weight, self._estimate(z.s, static, far_s)),
                "mi_dynamic": (weight, self._estimate(d, dynamic, far_d)),
            }

    def _banks(self, batch: Batch, q: Posterior) -> tuple[Bank, Bank]:
        """Generate the bank of this batch: one view for s, one for d."""
        c = self.config
        if c.views == "reparametrised":
            z, mask = gather((q.sample(), batch.mask))
            every = torch.arange(len(z), device=mask.device)
            return Bank(z.s, every), Bank((z.d * mask[..., None]).flatten(1), every)
        samples = self.sample(*batch.mask.shape)
        z, again = q.sample(), q.sample()
        again, mask = gather((again, batch.mask))
        every = others = torch.arange(len(again), device=mask.device)
        first, second = Codes(z.s, samples.d), Codes(samples.s, z.d)
        if c.partner == "batch":
            others = torch.randperm(len(again), device=mask.device)
            first, second = (
                Codes(z.s, again.d[local_rows(others)]),
                Codes(again.s[local_rows(others)], z.d),
            )
        predictions = self._predict(
            first, second, torch.cat([mask[local_rows(others)], batch.mask])
        )
        s, d = gather((predictions.s.chunk(2), predictions.d.flatten(1).chunk(2)))
        if c.partner == "prior":
            return Bank(s[0], every), Bank(d[1], every)
        members = torch.cat([every, others]), torch.cat([others, every])
        return Bank(torch.cat(s), members[0]), Bank(torch.cat(d), members[1])

    def _predict(self, first: Codes, second: Codes, mask: Tensor) -> Codes:
        """Decode two sets of codes, encode the result, draw from its posterior."""
        codes = Codes(torch.cat([first.s, second.s]), torch.cat([first.d, second.d]))
        with frozen_statistics(self.encoder, self.decoder):
            x = back_in_place(self.decoder(codes, mask).mean, mask)
            z = self.infer(Batch(x, mask))[1].sample()
        return Codes(z.s, z.d * mask[..., None])

    def _estimate(self, anchor: Tensor, bank: Bank, distance: Tensor) -> Scalar:
        """Return InfoNCE with this anchor's positive and negatives out of the bank."""
        c = self.config
        near, far = pools(distance, c.negatives)
        if c.positives == "self":
            near = torch.eye(len(anchor), dtype=torch.bool, device=near.device)
        member = near[:, bank.sources].float().multinomial(1)[:, 0]
        return info_nce_against(
            anchor,
            bank.codes[member],
            bank.codes,
            negatives=far[:, bank.sources],
            temperature=c.temperature,
        )


def pools(
    distance: Float[Tensor, "B B"], negatives: Pool
) -> tuple[Bool[Tensor, "B B"], Bool[Tensor, "B B"]]:
    """Say for every anchor which sources are near (first third) and which serve as negatives.

    Sources are ranked by distance from the anchor, nearest (itself) first; Table 4 of the paper
    lists the rules for negatives. "random" draws a third of all others anew.
    """
    n = len(distance)
    third, two_thirds = max(1, n // 3), min(2 * n // 3, n - 1)
    rank = distance.argsort(1).argsort(1)  # (B, B): 0 for the nearest
    near = rank < third
    if negatives == "random":
        keys = torch.rand_like(distance).fill_diagonal_(2.0)  # never the anchor itself
        return near, keys.argsort(1).argsort(1) < third
    low = two_thirds if negatives == "farthest" else third
    high = two_thirds if negatives == "middle" else n
    return near, (rank >= low) & (rank < high)
