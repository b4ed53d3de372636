"""MoCoGAN: a generator of one content vector and a path of motion, and two critics.

Paper: Tulyakov, Liu, Yang, Kautz, "MoCoGAN: Decomposing Motion and Content for Video Generation",
CVPR 2018; values of the authors' code.

Idea: a GAN whose generator gets one s for a whole sequence and d_t from a GRU driven by noise. One
critic looks at single steps, the other at whole sequences, so that both looks and motion must be
right. There is no encoder.

Equation: BCE of the generator against the critic of steps -> adversarial_step, against that of
sequences -> adversarial_sequence; L_I, the cross-entropy of the category of samples, of the
generator -> category and of the critic -> critic_category; BCE of the critics -> critic_step,
critic_sequence; the slope of both critics at real sequences -> gradient_penalty.

Letters: z_C -> s; z_M(t) -> the first numbers of d_t, the state of the GRU; z_A -> its last
`categories` numbers, one of them 1; D_I -> step_critic; D_V -> sequence_critic; Q -> its category.

Departures:
* The paper encodes nothing. Here an inference net is trained on the model's own samples: row
  inference, ‖ŝ − s‖² + Σ_t ‖d̂_t − d_t‖² with the generated x detached, so it cannot touch the
  GAN. Codes of real sequences are its guesses: **not in the paper**, and wrong where samples do not
  look real. How the published accuracies were measured without an encoder is not established.
* Row reconstruction is the error of decoding these guesses, for reports alone: its weight is 0.
* Critics are our encoders with a head, of any kind of data and length; the authors' 3-D
  convolutions need 13 to 16 frames. Pixels are in [0, 1].
* Categories are found without labels, by the paper's L_I; the authors' code can also teach them
  with labels of actions.
* Generator and critics make their steps at the same time; the authors' take turns.
* `w_gradient_penalty` is not in the paper: a penalty on the slope of critics at real sequences
  (R1, Mescheder et al., ICML 2018), without which the critics win on Sprites. Critics have
  BatchNorm, so the slope is that of a whole batch.
* With `net.shrink` the encoder and the critic of sequences look at shrunk frames, the critic of
  steps at whole ones.
* Generated sequences get lengths and gaps of the real ones, or critics would look at these.
"""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, one_hot

from unbraid.latents.recurrent import PooledPosterior, some_steps
from unbraid.methods.base import Method, check_sizes, frozen_statistics
from unbraid.nets import Decoder, Encoder, NetConfig, decoder_for, encoder_for
from unbraid.nets.critic import SequenceCritic, StepCritic
from unbraid.objectives.adversarial import critic_loss, frozen, generator_loss, gradient_penalty
from unbraid.objectives.elbo import reconstruction_error
from unbraid.records import (
    Batch,
    Codes,
    Sequences,
    Spec,
    Steps,
    Terms,
    back_in_place,
    chosen_steps,
)
from unbraid.settings import at_least

Categories = Float[Tensor, "B K"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MoCoGANConfig:
    """Defaults are the authors'; sizes are those of all their data sets."""

    static_dim: int = 50
    dynamic_dim: int = 10  # the path and the categories
    categories: int = 0  # motions to be told apart; 0 = none, as for data without actions
    critic_steps: int = 1  # steps of a sequence that the critic of steps sees, drawn anew; 0 = all
    instance_noise: float = 0.0  # standard deviation of noise on what critics see
    w_step: float = 1.0
    w_sequence: float = 1.0
    w_critic: float = 1.0
    w_category: float = 1.0  # of the generator and of the critic
    w_gradient_penalty: float = 0.0  # of critics on real sequences (R1); 0 as in the paper
    w_inference: float = 1.0
    w_reconstruction: float = 0.0  # a report only: the generator is not trained by it
    net: NetConfig = field(default_factory=NetConfig)

    def __post_init__(self) -> None:
        check_sizes(self)
        at_least(self, 0, "critic_steps", "instance_noise", "categories")
        if self.categories >= self.dynamic_dim:
            raise ValueError(
                f"categories are a part of d, so there must be fewer than dynamic_dim = "
                f"{self.dynamic_dim}, got {self.categories}. Raise dynamic_dim by as many."
            )


class MoCoGAN(Method):
    """Generator, critics of steps and of sequences, and an inference net of our own."""

    label: ClassVar[str] = "MoCoGAN"
    paper: ClassVar[str] = (
        "Tulyakov, Liu, Yang, Kautz, MoCoGAN: Decomposing Motion and Content for Video Generation, "
        "CVPR 2018"
    )
    critics: ClassVar[tuple[str, ...]] = ("step_critic", "sequence_critic")
    Config = MoCoGANConfig

    def __init__(
        self,
        spec: Spec,
        config: MoCoGANConfig,
        encoder: Encoder | None = None,
        decoder: Decoder | None = None,
    ) -> None:
        super().__init__()
        self.spec, self.config = spec, config
        c, net = config, config.net
        sizes = (c.static_dim, c.dynamic_dim)
        self.encoder = encoder or encoder_for(spec, net)
        self.posterior = PooledPosterior(self.encoder.features, *sizes, net.hidden)
        path = c.dynamic_dim - c.categories
        self.motion = nn.GRU(path, path, batch_first=True)
        self.decoder = decoder or decoder_for(spec, net, sum(sizes))
        # The critic of steps sees every pixel: nothing would take a pattern that shrinking hides
        # out of the samples.
        self.step_critic = StepCritic(encoder_for(spec, replace(net, shrink=1)), net.hidden)
        self.sequence_critic = SequenceCritic(encoder_for(spec, net), net.hidden, c.categories)

    def encode(self, batch: Batch) -> Codes:
        return self.posterior(self.encoder(batch), batch.mask).mean

    def decode(self, codes: Codes) -> Sequences:
        return self.decoder(codes).mean

    def sample(self, n: int, length: int, *, means: bool = False) -> Codes:
        c, device = self.config, next(self.parameters()).device
        start = torch.randn(n, self.motion.hidden_size, device=device)
        noise = torch.randn(n, length, self.motion.hidden_size, device=device)
        d = self.motion(torch.zeros_like(noise) if means else noise, start[None])[0].float()
        if c.categories:
            category = one_hot(torch.randint(c.categories, (n,), device=device), c.categories)
            d = torch.cat([d, category[:, None].expand(-1, length, -1).to(d.dtype)], -1)
        return Codes(torch.randn(n, c.static_dim, device=device), d)

    def loss(self, batch: Batch, step: int) -> Terms:
        c, mask = self.config, batch.mask
        z = self.sample(*mask.shape)
        fake = Batch(back_in_place(self._generate(z, batch), mask), mask, batch.observed)
        codes = Codes(z.s, z.d.detach())
        real, generated = self._noised(batch), self._noised(fake)
        shown = some_steps(mask, c.critic_steps) if c.critic_steps else mask
        with frozen_statistics(self.step_critic, self.sequence_critic):
            step_logits = frozen(self.step_critic)(replace(generated, mask=shown))
            sequence_logits, category_logits = frozen(self.sequence_critic)(generated)
        category = z.d[:, 0, c.dynamic_dim - c.categories :]
        detached = generated.with_x(generated.x.detach())
        critics = self._critic_terms(real, detached, shown, category)
        inference = self._inference(codes, fake.with_x(fake.x.detach()))
        with torch.no_grad(), frozen_statistics(self.encoder, self.decoder):
            errors = reconstruction_error(self.decoder(self.encode(batch), mask), batch)
        return {
            "adversarial_step": (c.w_step, generator_loss(step_logits, shown)),
            "adversarial_sequence": (c.w_sequence, generator_loss(sequence_logits)),
            **self._category_terms("category", category_logits, category),
            **critics,
            "inference": (c.w_inference, inference),
            "reconstruction": (c.w_reconstruction, errors.sum(1).mean()),
        }

    def _critic_terms(self, real: Batch, fake: Batch, shown: Steps, category: Categories) -> Terms:
        """Return the rows of both critics; `shown` are the steps that the critic of steps sees."""
        c = self.config
        real.x.requires_grad_(c.w_gradient_penalty > 0 and torch.is_grad_enabled())
        steps, (sequences, _) = (
            self.step_critic(replace(real, mask=shown)),
            self.sequence_critic(real),
        )
        fake_steps = self.step_critic(replace(fake, mask=shown))
        fake_sequences, category_logits = self.sequence_critic(fake)
        terms: Terms = {
            "critic_step": (c.w_critic, critic_loss(steps, fake_steps, shown)),
            "critic_sequence": (c.w_critic, critic_loss(sequences, fake_sequences)),
            **self._category_terms("critic_category", category_logits, category),
        }
        if c.w_gradient_penalty:
            of_steps = gradient_penalty(steps, real.x, shown)
            penalty = of_steps + gradient_penalty(sequences, real.x)
            terms["gradient_penalty"] = (c.w_gradient_penalty, penalty)
        return terms

    def _category_terms(self, name: str, logits: Categories, category: Categories) -> Terms:
        """Return the cross-entropy of the categories of samples; nothing if there are none."""
        c = self.config
        return {name: (c.w_category, cross_entropy(logits, category))} if c.categories else {}

    def _generate(self, z: Codes, batch: Batch) -> Tensor:
        """Return the valid steps, drawn where the decoder has a variance, so that it is trained."""
        x = self.decoder(z, batch.mask)
        if x.log_var is None:
            return x.mean
        noise = chosen_steps(torch.randn_like(batch.x), batch.mask)  # rows of the batch are drawn
        return x.mean + (0.5 * x.log_var).exp() * noise

    def _inference(self, z: Codes, fake: Batch) -> Float[Tensor, ""]:
        guess, mask = self.encode(fake), fake.mask[..., None]
        static = (guess.s - z.s).square().sum(1)
        return (static + ((guess.d - z.d) * mask).square().sum((1, 2))).mean()

    def _noised(self, batch: Batch) -> Batch:
        """Return what critics see: noise on it, zeros where nothing counts."""
        x, sigma = batch.x, self.config.instance_noise
        x = x + sigma * torch.randn_like(x) if sigma and self.training else x
        return batch.with_x(x.where(batch.valid, 0.0))
