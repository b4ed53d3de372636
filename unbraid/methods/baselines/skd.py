"""SKD: a latent path that is made linear, split by the eigenvalues of its operator.

Paper: Berman, Naiman, Azencot, "Multifactor Sequential Disentanglement via Structured Koopman
Autoencoders", ICLR 2023; values of the authors' code, since the body of the paper was not at hand.

Idea: an autoencoder whose codes obey z_{t+1} ≈ z_t C, with C the least-squares solution of the
batch. A loss on C's eigenvalues asks for some at 1: what they carry stays. The others move. Every
invariant subspace of C is a factor, so there can be more than two.

Equation, in its order: ‖x − x̂‖² -> reconstruction; ‖x̂ − x̂ᵖ‖², x̂ᵖ decoded from [z_1, z_<T C], ->
prediction; ‖z − ẑ‖² -> code_prediction; eigenvalues -> spectral_static, spectral_dynamic
(`objectives/spectral.py`).

Letters: Z -> z; k -> static_dim + dynamic_dim; C -> operator; (s, d_t) = z_t V, V from the
eigenvectors of C sorted by |λ − 1|; s = mean over valid t of its part.

Departures:
* Codes do not depend on the other sequences of a batch: V comes from running sums over training
  (decay 0.99), where the authors take the operator of the test batch. The loss uses the operator of
  its own batch, as theirs.
* The static eigenvalues are the `static_dim` nearest to 1; theirs counts real ones or pairs. A
  pair that the split cuts loses exact invariance.
* s is the mean over time; theirs keeps a static part of every step.
* The authors have no prior: they mix codes of other test sequences. Ours is a Gaussian of training
  codes for s and d_1, then d_{t+1} = d_t C with the noise of the residuals.
* Reconstruction is a sum with the weight 15 / (values of a sequence); series have a learned scale.
  Least squares is solved in double with a small ridge. Settings for MUG and TIMIT are not
  established.
"""

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from unbraid.latents.koopman import KoopmanState, batch_operator, eigenvalues, pairs
from unbraid.latents.recurrent import run_recurrent
from unbraid.latents.stepwise import varying
from unbraid.methods.base import Method, check_sizes, steps_to_decode
from unbraid.nets import Decoder, Encoder, NetConfig, decoder_for, encoder_for
from unbraid.objectives.elbo import reconstruction_error
from unbraid.objectives.spectral import (
    DynamicRule,
    StaticRule,
    dynamic_spectrum,
    split_values,
    static_spectrum,
)
from unbraid.parallel.gather import gather
from unbraid.records import (
    Batch,
    Codes,
    Prediction,
    Scalar,
    Sequences,
    Spec,
    Terms,
    back_in_place,
)
from unbraid.settings import share_below_one


@dataclass(frozen=True, slots=True, kw_only=True)
class SKDConfig:
    """Defaults are the authors' Sprites setting: k = 40, 8 of them static."""

    static_dim: int = 8
    dynamic_dim: int = 32
    static_rule: StaticRule = "ball"
    dynamic_rule: DynamicRule = "real"
    threshold: float = 0.5  # of Re λ, for dynamic_rule "real"
    dropout: float = 0.2  # of the codes, before decoding
    decoded_steps: int = 0  # video: steps of a sequence decoded per training step; 0 = all
    w_reconstruction: float = 15.0  # of the mean squared error
    w_prediction: float = 1.0
    w_code_prediction: float = 1.0
    w_spectral: float = 1.0
    net: NetConfig = field(default_factory=lambda: NetConfig(channels=(32, 64, 128, 256)))

    def __post_init__(self) -> None:
        check_sizes(self)
        share_below_one(self, "dropout")


class SKD(Method):
    """Koopman autoencoder with a spectral loss; codes in the basis of its operator."""

    label: ClassVar[str] = "SKD"
    paper: ClassVar[str] = (
        "Berman, Naiman, Azencot, Multifactor Sequential Disentanglement via Structured Koopman "
        "Autoencoders, ICLR 2023"
    )
    Config = SKDConfig

    def __init__(
        self,
        spec: Spec,
        config: SKDConfig,
        encoder: Encoder | None = None,
        decoder: Decoder | None = None,
    ) -> None:
        super().__init__()
        self.spec, self.config = spec, config
        size = config.static_dim + config.dynamic_dim
        self.encoder = encoder or encoder_for(spec, config.net)
        self.reader = nn.LSTM(self.encoder.features, size, batch_first=True)
        self.koopman = KoopmanState(size)
        self.writer = nn.LSTM(size, size, batch_first=True)
        self.decoder = decoder or decoder_for(spec, config.net, size)

    def encode(self, batch: Batch) -> Codes:
        static = self.config.static_dim
        w = self.koopman.coordinates(self._codes(batch)) * batch.mask[..., None]
        n = batch.mask.sum(1, keepdim=True).clamp(min=1)
        return Codes(w[..., :static].sum(1) / n, w[..., static:])

    def decode(self, codes: Codes) -> Sequences:
        w = torch.cat([codes.s[:, None].expand(-1, codes.d.shape[1], -1), codes.d], -1)
        return self._predict(self.koopman.back(w), None).mean

    def sample(self, n: int, length: int, *, means: bool = False) -> Codes:
        k, static = self.koopman, self.config.static_dim
        s = (k.draw(n, k.center) @ k.basis)[:, :static]
        path = [(k.draw(n, k.first) @ k.basis)[:, static:]]
        step = (k.inverse @ k.operator @ k.basis)[static:, static:]
        root = k.residual_root()
        for _ in range(length - 1):
            noise = torch.randn(n, len(root), device=root.device).double() @ root.T @ k.basis
            path.append(path[-1] @ step + (0.0 if means else noise[:, static:]))
        return Codes(s.float(), torch.stack(path, 1).float())

    def loss(self, batch: Batch, step: int) -> Terms:
        c, mask = self.config, batch.mask
        z = self._codes(batch)
        every, valid = gather((z, mask))
        operator = batch_operator(*pairs(every, valid))
        if self.training:
            self.koopman.update(every.detach(), valid)
        ahead = torch.cat([z[:, :1], (z[:, :-1].double() @ operator).to(z.dtype)], 1)
        steps, weight = steps_to_decode(self, mask)
        x_hat, x_ahead = (self._predict(self._dropped(part), steps) for part in (z, ahead))
        errors = reconstruction_error(x_hat, replace(batch, mask=steps)) * weight
        static, dynamic = split_values(eigenvalues(operator), c.static_dim)
        gap = (x_hat.mean - x_ahead.mean).square().flatten(1).mean(1)  # (N,)
        code_gap = (z - ahead).square().mean(-1)[:, 1:]
        return {
            "reconstruction": (c.w_reconstruction / self._values(), errors.sum(1).mean()),
            "prediction": (c.w_prediction, _mean(back_in_place(gap, steps), steps)),
            "code_prediction": (c.w_code_prediction, _mean(code_gap, mask[:, 1:])),
            "spectral_static": (c.w_spectral, static_spectrum(static, c.static_rule).float()),
            "spectral_dynamic": (
                c.w_spectral,
                dynamic_spectrum(dynamic, c.dynamic_rule, c.threshold).float(),
            ),
        }

    def _codes(self, batch: Batch) -> Float[Tensor, "B T K"]:
        return run_recurrent(self.reader, self.encoder(batch), batch.mask)[0].float()

    def _predict(self, z: Float[Tensor, "B T K"], mask: Bool[Tensor, "B T"] | None) -> Prediction:
        out = self.writer(z)[0]
        return self.decoder(varying(out[..., :0], out), mask)

    def _dropped(self, z: Float[Tensor, "B T K"]) -> Float[Tensor, "B T K"]:
        """Return codes some of whose numbers are zero, the others larger, while training."""
        p = self.config.dropout
        return z * (torch.rand_like(z) >= p) / (1 - p) if self.training and p else z

    def _values(self) -> int:
        """Return how many values a sequence has."""
        return self.spec.length * math.prod(self.spec.frame)


def _mean(values: Float[Tensor, "B T"], mask: Bool[Tensor, "B T"]) -> Scalar:
    """Return the mean over valid steps of a sequence, then over the batch."""
    return ((values * mask).sum(1) / mask.sum(1).clamp(min=1)).mean()
