"""A Koopman operator of codes z_t: one matrix C with z_{t+1} ≈ z_t C, and its invariant subspaces.

Sums over training are buffers; solving and eigenvalues are in double precision.
"""

import torch
from jaxtyping import Bool, Complex128, Float, Float64
from torch import Tensor, nn

from unbraid.latents.recurrent import mean_features

RIDGE = 1e-6  # share of the mean eigenvalue of XᵀX, added to its diagonal
DECAY = 0.99  # of the running sums, per step
WORST = 1e5  # condition number of a basis that is still taken
Matrix = Float64[Tensor, "K K"]


def pairs(
    z: Float[Tensor, "B T K"], mask: Bool[Tensor, "B T"]
) -> tuple[Float64[Tensor, "N K"], Float64[Tensor, "N K"]]:
    """Return z_t and z_{t+1} of all sequences, where both steps are valid."""
    both = mask[:, :-1] & mask[:, 1:]
    return z[:, :-1][both].double(), z[:, 1:][both].double()


def solve_operator(gram: Matrix, cross: Matrix) -> Matrix:
    """Return argmin_C ‖X C − Y‖² with a small ridge, from XᵀX and XᵀY.

    Normal equations, not `torch.linalg.lstsq`: that takes matrices of full rank only on CUDA.
    """
    eye = torch.eye(len(gram), dtype=gram.dtype, device=gram.device)
    ridge = RIDGE * gram.diagonal().mean() + torch.finfo(torch.float32).tiny
    return torch.linalg.solve(gram + ridge * eye, cross)


def batch_operator(x: Float64[Tensor, "N K"], y: Float64[Tensor, "N K"]) -> Matrix:
    """Return the operator of the pairs of a batch, with a gradient."""
    with torch.autocast(x.device.type, enabled=False):
        n = max(1, len(x))
        return solve_operator(x.T @ x / n, x.T @ y / n)


def eigenvalues(operator: Matrix) -> Complex128[Tensor, " K"]:
    """Return the eigenvalues, NaN for an operator that is not finite.

    Where eigenvalues coincide they have no finite gradient; that step then has none at all.
    """
    if not torch.isfinite(operator).all():
        return torch.complex(operator.sum(1), operator.sum(1))
    guarded = operator.clone()
    if guarded.requires_grad:
        guarded.register_hook(_only_finite)
    return torch.linalg.eigvals(guarded)


def _only_finite(gradient: Tensor) -> Tensor:
    return gradient if torch.isfinite(gradient).all() else torch.zeros_like(gradient)


def real_basis(operator: Matrix) -> tuple[Matrix, Complex128[Tensor, " K"]]:
    """Return a real basis of invariant subspaces, those of eigenvalues near 1 first.

    Columns are eigenvectors v of C (z_{t+1} v = λ z_t v): v for a real λ, Re v and Im v for a
    conjugate pair; of length 1, the largest entry of v positive.

    Returns:
        the columns, and the eigenvalue each belongs to.
    """
    values, vectors = torch.linalg.eig(operator)
    values, vectors = values[values.imag >= 0], vectors[:, values.imag >= 0]
    order = (values - 1).abs().argsort(stable=True)
    values, vectors = values[order], vectors[:, order]
    largest = vectors.gather(0, vectors.abs().argmax(0, keepdim=True))
    vectors = vectors * largest.conj() / largest.abs()
    columns = torch.stack([vectors.real, vectors.imag], -1).flatten(1)  # (K, 2M)
    exists = torch.stack([values.imag >= 0, values.imag > 0], -1).flatten()
    of_column = torch.stack([values, values.conj()], -1).flatten()
    columns = columns[:, exists]
    return columns / columns.norm(dim=0).clamp(min=1e-300), of_column[exists]


class KoopmanState(nn.Module):
    """What training has seen of z: the operator, its basis, and moments to draw from.

    Coordinates are w_t = z_t V with the columns of V sorted by |λ − 1|: static ones first.
    """

    gram: Tensor
    cross: Tensor
    after: Tensor
    center: Tensor
    first: Tensor
    operator: Tensor
    basis: Tensor
    inverse: Tensor
    values: Tensor

    def __init__(self, size: int) -> None:
        super().__init__()
        eye = torch.eye(size, dtype=torch.float64)
        for name in ("gram", "cross", "after"):  # means over pairs of zᵀz, zᵀz⁺, z⁺ᵀz⁺
            self.register_buffer(name, torch.zeros_like(eye))
        # Moments of [z, 1]: of the mean over time, and of the first step.
        for name in ("center", "first"):
            self.register_buffer(name, torch.zeros(size + 1, size + 1, dtype=torch.float64))
        self.register_buffer("operator", torch.zeros_like(eye))
        self.register_buffer("basis", eye)
        self.register_buffer("inverse", eye.clone())
        self.register_buffer("values", torch.zeros(size, 2, dtype=torch.float64))  # Re, Im

    @torch.no_grad()
    def update(self, z: Float[Tensor, "B T K"], mask: Bool[Tensor, "B T"]) -> None:
        """Add a batch to the sums, and find operator and basis again."""
        x, y = pairs(z, mask)
        if not len(x) or not torch.isfinite(z[mask]).all():
            return
        center = mean_features(z.double(), mask)
        with torch.autocast(z.device.type, enabled=False):
            batch = (x.T @ x, x.T @ y, y.T @ y)
            for name, sums in zip(("gram", "cross", "after"), batch, strict=True):
                getattr(self, name).mul_(DECAY).add_(sums / len(x))
            for name, rows in (("center", center), ("first", z[:, 0].double())):
                rows = torch.cat([rows, torch.ones_like(rows[:, :1])], 1)
                getattr(self, name).mul_(DECAY).add_(rows.T @ rows / len(rows))
            self.operator.copy_(solve_operator(self.gram, self.cross))
            basis, values = real_basis(self.operator)
            if torch.linalg.cond(basis) < WORST:  # else two subspaces nearly coincide: the old one
                self.basis.copy_(basis)
                self.inverse.copy_(torch.linalg.inv(basis))
                self.values.copy_(torch.view_as_real(values))

    def coordinates(self, z: Float[Tensor, "... K"]) -> Float[Tensor, "... K"]:
        """Return w = z V."""
        with torch.autocast(z.device.type, enabled=False):
            return z @ self.basis.to(z.dtype)

    def back(self, w: Float[Tensor, "... K"]) -> Float[Tensor, "... K"]:
        """Return z = w V⁻¹."""
        with torch.autocast(w.device.type, enabled=False):
            return (w.double() @ self.inverse).to(w.dtype)

    def draw(self, n: int, moments: Tensor) -> Float64[Tensor, "n K"]:
        """Draw z from a Gaussian with the moments `center` or `first`; untrained: N(0, I)."""
        noise = torch.randn(n, len(self.basis), device=moments.device).double()
        weight = moments[-1, -1]
        if weight == 0:
            return noise
        mean = moments[-1, :-1] / weight
        return mean + noise @ _root(moments[:-1, :-1] / weight - torch.outer(mean, mean)).T

    def residual_root(self) -> Matrix:
        """Return the root of the covariance of z_{t+1} − z_t C; untrained: the identity."""
        weight = self.center[-1, -1]
        if weight == 0:
            return torch.eye(len(self.basis), dtype=torch.float64, device=weight.device)
        c, cross = self.operator, self.cross
        residual = self.after - c.T @ cross - cross.T @ c + c.T @ self.gram @ c
        return _root(residual / weight)


def _root(covariance: Matrix) -> Matrix:
    """Return a matrix R with R Rᵀ = covariance; rounding below zero is cut."""
    values, vectors = torch.linalg.eigh((covariance + covariance.T) / 2)
    return vectors * values.clamp(min=0).sqrt()
