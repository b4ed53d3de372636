"""The three terms every variational method here starts from."""

from jaxtyping import Bool, Float
from torch import Tensor

from unbraid.objectives.divergence import kl, kl_standard
from unbraid.records import Gaussian, Posterior, Scalar, Terms


def kl_static(q: Posterior) -> Scalar:
    """KL(q(s | x) || N(0, I)), mean over the batch, in nats."""
    return kl_standard(q.s).mean()


def kl_dynamic(q: Posterior, p_d: Gaussian, mask: Bool[Tensor, "B T"]) -> Scalar:
    """KL(q(d | x) || p(d)), summed over existing steps, mean over the batch, in nats."""
    return kl_steps(q.d, p_d, mask)


def kl_steps(q: Gaussian, p: Gaussian, mask: Bool[Tensor, "B T"]) -> Scalar:
    """KL(q || p) of a Gaussian per step, summed over existing steps, mean over the batch."""
    return (kl(q, p) * mask).sum(1).mean()


def negative_elbo(
    errors: Float[Tensor, "B T"],
    q: Posterior,
    p_d: Gaussian,
    mask: Bool[Tensor, "B T"],
    *,
    weights: tuple[float, float, float],
) -> Terms:
    """Return the rows reconstruction, kl_static, kl_dynamic with their weights.

    The reconstruction is `errors` summed over time, mean over the batch.
    """
    return {
        "reconstruction": (weights[0], errors.sum(1).mean()),
        "kl_static": (weights[1], kl_static(q)),
        "kl_dynamic": (weights[2], kl_dynamic(q, p_d, mask)),
    }
