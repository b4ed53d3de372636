"""GLR's counterfactual term: a static code that was put in must be found again, not the old one."""

from jaxtyping import Float
from torch import Tensor

from unbraid.records import Gaussian, Scalar

LINEAR = 2.0  # exponent from which on the term grows linearly


def counterfactual(q: Gaussian, old: Float[Tensor, "B S"], new: Float[Tensor, "B S"]) -> Scalar:
    """Return E exp(log q(old | x*) − log q(new | x*)), mean over dimensions and the batch.

    x* was decoded from `new`, q is read from x*; less is better. From an exponent r of 2 on, exp(r)
    goes on as its tangent, e² (r − 1): with a variance of 1 and `new` from N(0, 1) the expectation
    of exp(r) is infinite as long as nothing is found again.
    """
    distance = (new - q.mean).square() - (old - q.mean).square()
    exponent = 0.5 * distance * (-q.log_var).exp()
    beyond = (exponent - LINEAR).clamp(min=0.0)
    return (exponent.clamp(max=LINEAR).exp() * (1 + beyond)).mean()
