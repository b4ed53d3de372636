from copy import deepcopy

import pytest
import torch

from unbraid.training.muon import POLYNOMIAL, ROUNDS, Muon, orthogonal


def _by_singular_values(x: torch.Tensor) -> torch.Tensor:
    """The same step written out: the polynomial acts on every singular value by itself."""
    u, values, v = torch.linalg.svd(x.double(), full_matrices=False)
    values = values / values.square().sum().sqrt()
    a, b, c = POLYNOMIAL
    for _ in range(ROUNDS):
        values = a * values + b * values**3 + c * values**5
    return u @ torch.diag(values) @ v * max(1.0, x.shape[0] / x.shape[1]) ** 0.5


@pytest.mark.parametrize("shape", [(6, 40), (24, 24), (40, 6), (1, 9)])
def test_a_step_has_the_directions_of_the_momentum_and_evened_sizes(shape):
    torch.manual_seed(0)
    x = torch.randn(shape) * torch.logspace(0, -3, shape[1])
    wanted = _by_singular_values(x)
    assert float((orthogonal(x) - wanted).norm() / wanted.norm()) < 1e-3


def test_a_zero_gradient_moves_nothing():
    assert torch.equal(orthogonal(torch.zeros(3, 5)), torch.zeros(3, 5))


def test_vectors_move_as_with_adam():
    torch.manual_seed(1)
    one = torch.nn.Parameter(torch.randn(7))
    other = torch.nn.Parameter(one.detach().clone())
    ours, adam = Muon([one], lr=0.1, matrix_lr=1.0), torch.optim.Adam([other], lr=0.1)
    for _ in range(5):
        for p, optimizer in ((one, ours), (other, adam)):
            optimizer.zero_grad()
            (p - 3).pow(4).sum().backward()
            optimizer.step()
    assert torch.allclose(one, other, atol=1e-6)


def test_its_state_goes_through_a_state_dict():
    torch.manual_seed(0)
    weights = [torch.nn.Parameter(torch.randn(4, 3)), torch.nn.Parameter(torch.randn(4))]

    def steps(optimizer: Muon, some: list[torch.nn.Parameter], count: int) -> None:
        for _ in range(count):
            optimizer.zero_grad()
            sum(p.square().sum() for p in some).backward()
            optimizer.step()

    first = Muon(weights, lr=0.01, matrix_lr=0.01)
    steps(first, weights, 3)
    copies = [torch.nn.Parameter(p.detach().clone()) for p in weights]
    second = Muon(copies, lr=0.01, matrix_lr=0.01)
    second.load_state_dict(deepcopy(first.state_dict()))
    steps(first, weights, 2)
    steps(second, copies, 2)
    assert all(torch.equal(a, b) for a, b in zip(weights, copies, strict=True))
