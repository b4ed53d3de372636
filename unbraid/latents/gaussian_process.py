"""Gaussian-process priors over the steps of a sequence, one process per dimension.

K is the covariance of T steps, K = L Lᵀ. With e = L⁻¹ d, p(d_t | d_<t) has mean Σ_{u<t} L_tu e_u
and variance L_tt²: one triangular solve gives the teacher-forced conditionals, and L ε is a draw.
The leading block of L is the factor of the shorter sequence, so padding at the end needs no care.
Everything is computed in double precision: K is badly conditioned.

White noise may be added to K. A posterior that is independent from step to step may need it: its
draws are rough, and under an RBF kernel rough paths are next to impossible. With ℓ = 2, T = 12
a standard normal draw costs thousands of nats without noise.
"""

from typing import Literal

import torch
from jaxtyping import Bool, Float, Float64
from torch import Tensor, nn

from unbraid.records import Gaussian

Kernel = Literal["cauchy", "rbf"]
JITTER: dict[Kernel, float] = {"cauchy": 1e-3, "rbf": 1e-5}  # added to the diagonal


def covariance(
    kernel: Kernel, length: int, scale: Float64[Tensor, " G"]
) -> Float64[Tensor, "G T T"]:
    """Return the covariance of steps 0 ... T − 1 for several length scales ℓ, amplitude 1.

    Cauchy: 1 / (1 + Δ²/ℓ²); RBF: exp(−Δ²/2ℓ²).
    """
    steps = torch.arange(length, dtype=scale.dtype, device=scale.device)
    squared = (steps[:, None] - steps).square() / scale[:, None, None].square()  # (G, T, T)
    return 1 / (1 + squared) if kernel == "cauchy" else (-0.5 * squared).exp()


class GPPrior(nn.Module):
    """Independent Gaussian processes with kernels and length scales spread over the dimensions.

    Args:
        dims: how many processes.
        kernels: name -> amplitude σ (the variance of a step); an equal share of dimensions each.
        length_scale: the longest ℓ, in steps.
        scales: how many length scales each kernel has: ℓ, ℓ/2, ℓ/4, ...
        noise: variance of the white noise added to every process.
    """

    scale: Tensor

    def __init__(
        self,
        dims: int,
        kernels: dict[Kernel, float],
        *,
        length_scale: float,
        scales: int,
        noise: float = 0.0,
    ) -> None:
        super().__init__()
        self.size, self.kernels, self.noise = dims, kernels, noise
        halvings = torch.arange(scales, dtype=torch.float64)
        self.register_buffer("scale", length_scale / 2**halvings, persistent=False)

    def factor(self, length: int) -> Float64[Tensor, "D T T"]:
        """Return the Cholesky factor L of every dimension's covariance."""
        eye = torch.eye(length, dtype=self.scale.dtype, device=self.scale.device)
        with torch.autocast(eye.device.type, enabled=False):
            factors = torch.cat(
                [
                    torch.linalg.cholesky(
                        amplitude * covariance(kernel, length, self.scale)
                        + (self.noise + JITTER[kernel]) * eye
                    )
                    for kernel, amplitude in self.kernels.items()
                ]
            )  # (groups, T, T)
        group = torch.arange(self.size, device=eye.device) * len(factors) // self.size
        return factors[group]

    def forward(self, d: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]) -> Gaussian:
        """Return p(d_t | d_<t) for every t, teacher-forced."""
        factor = self.factor(d.shape[1])
        with torch.autocast(d.device.type, enabled=False):
            e = torch.linalg.solve_triangular(factor, d.permute(2, 1, 0).double(), upper=False)
            mean = (factor.tril(-1) @ e).permute(2, 1, 0)
        log_var = 2 * factor.diagonal(dim1=1, dim2=2).log().T  # (T, D)
        return Gaussian(mean.to(d.dtype), log_var.to(d.dtype).expand_as(d))

    def rollout(self, n: int, length: int, *, means: bool = False) -> Float[Tensor, "n T D"]:
        """Draw n trajectories, or the conditional means along drawn ones."""
        factor = self.factor(length)
        e = torch.randn(n, length, self.size, device=factor.device)
        with torch.autocast(factor.device.type, enabled=False):
            paths = (factor.tril(-1) if means else factor) @ e.permute(2, 1, 0).double()
        return paths.permute(2, 1, 0).to(e.dtype)
