"""SKD's loss on the eigenvalues of a Koopman operator: some at 1, the others away from it."""

from typing import Literal

from jaxtyping import Complex128, Float64
from torch import Tensor

StaticRule = Literal["ball", "norm"]
DynamicRule = Literal["real", "ball", "strict"]
NEAR = 0.6  # distance from 1 within which the dynamic rule "ball" counts
MODULUS = 0.25  # squared modulus that the dynamic rule "strict" asks for


def split_values(
    values: Complex128[Tensor, " K"], static: int
) -> tuple[Complex128[Tensor, " S"], Complex128[Tensor, " D"]]:
    """Return the `static` eigenvalues nearest to 1, and the others."""
    order = (values - 1).abs().argsort(stable=True)
    return values[order[:static]], values[order[static:]]


def static_spectrum(values: Complex128[Tensor, " S"], rule: StaticRule) -> Float64[Tensor, ""]:
    """Return how far the static eigenvalues are from 1, mean over them.

    "ball": |λ − 1|²; "norm": (|λ|² − 1)².
    """
    if rule == "norm":
        return (_squared(values) - 1).square().mean()
    return _squared(values - 1).mean()


def dynamic_spectrum(
    values: Complex128[Tensor, " D"], rule: DynamicRule, threshold: float
) -> Float64[Tensor, ""]:
    """Return how near to 1 the dynamic eigenvalues are, mean over them.

    "real": Re λ where Re λ > threshold, else 0 (a jump, as in the authors' code, not a hinge);
    "ball": 2 − |λ − 1| where |λ − 1| < 0.6, else 0; "strict": (|λ|² − 0.25)².
    """
    if rule == "real":
        return values.real.where(values.real > threshold, 0.0).mean()
    if rule == "strict":
        return (_squared(values) - MODULUS).square().mean()
    distance = (_squared(values - 1) + 1e-12).sqrt()
    return (2 - distance).where(distance < NEAR, 0.0).mean()


def _squared(values: Tensor) -> Tensor:
    """Return |λ|², which has a gradient at zero."""
    return values.real.square() + values.imag.square()
