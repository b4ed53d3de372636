from copy import deepcopy

import pytest
import torch
from torch.nn import Parameter

from unbraid.runs.checkpoint import pack, unpack
from unbraid.training.muon import CONSTANT, LARGE, TERMS, TURNS, Muon, orthogonal_factors


def step_of(gradient: torch.Tensor) -> torch.Tensor:
    """How far a matrix of zeros moves at its first step, of size one."""
    p = Parameter(torch.zeros_like(gradient))
    p.grad = gradient
    Muon([p], lr=1.0, matrix_lr=1.0).step()
    return -p.detach()


def _by_singular_values(x: torch.Tensor) -> torch.Tensor:
    """The same step written out: the rational function acts on every singular value by itself."""
    u, values, v = torch.linalg.svd(x.double(), full_matrices=False)
    values = values / values.square().sum().sqrt()
    values = values * (CONSTANT + sum(w / (values.square() + shift) for w, shift in TERMS))
    return u @ torch.diag(values) @ v * max(1.0, x.shape[0] / x.shape[1]) ** 0.5


@pytest.mark.parametrize("shape", [(6, 40), (24, 24), (40, 6), (1, 9)])
def test_a_step_has_the_directions_of_the_momentum_and_evened_sizes(shape):
    torch.manual_seed(0)
    x = torch.randn(shape) * torch.logspace(0, -1, shape[1])
    wanted = _by_singular_values(x)
    assert float((step_of(x) - wanted).norm() / wanted.norm()) < 1e-3


def test_singular_values_of_a_step_lie_near_one():
    torch.manual_seed(0)
    u, _, v = torch.linalg.svd(torch.randn(20, 30), full_matrices=False)
    step = step_of(u @ torch.diag(torch.logspace(0, -2.3, 20)) @ v)
    values = torch.linalg.svdvals(step)
    assert values.min() > 0.8 and values.max() < 1.2


def test_matrices_of_one_size_are_treated_together_as_one_by_one():
    torch.manual_seed(0)
    matrices = [torch.randn(shape) for shape in ((5, 9), (3, 7), (5, 12), (5, 6))]
    grams = [x @ x.mT for x in matrices]
    alone = [orthogonal_factors([one.clone()])[0] for one in grams]
    for ours, wanted in zip(orthogonal_factors(grams), alone, strict=True):
        torch.testing.assert_close(ours, wanted)


def test_a_convolution_in_channels_last_moves_as_a_contiguous_one():
    torch.manual_seed(0)
    x = torch.randn(6, 5, 4, 4)
    other = step_of(x.contiguous(memory_format=torch.channels_last))
    torch.testing.assert_close(other, step_of(x), rtol=1e-4, atol=1e-5)


def test_large_matrices_take_turns_and_step_as_often_as_they_are_far():
    torch.manual_seed(0)
    large, small = Parameter(torch.zeros(LARGE, LARGE)), Parameter(torch.zeros(4, 4))
    optimizer = Muon([large, small], lr=1.0, matrix_lr=1.0)
    moved = []
    for _ in range(2 * TURNS):
        before = large.detach().clone(), small.detach().clone()
        large.grad, small.grad = torch.randn(LARGE, LARGE), torch.randn(4, 4)
        optimizer.step()
        moved.append(
            [
                float((p.detach() - old).norm())
                for p, old in zip((large, small), before, strict=True)
            ]
        )
    steps = [far for far, _ in moved if far]
    assert len(steps) == 2
    assert all(TURNS * 0.8 * LARGE**0.5 < far < TURNS * 1.2 * LARGE**0.5 for far in steps)
    assert all(near for _, near in moved)


def test_the_step_of_a_large_matrix_depends_on_all_gradients_since_its_last_one():
    torch.manual_seed(0)
    gradients = torch.randn(TURNS + 1, LARGE, LARGE)

    def after_two_steps(order: list[int]) -> torch.Tensor:
        p = Parameter(torch.zeros(LARGE, LARGE))
        optimizer = Muon([p], lr=1.0, matrix_lr=1.0)
        for place in order:
            p.grad = gradients[place].clone()
            optimizer.step()
        return p.detach()

    moved = after_two_steps(list(range(TURNS + 1)))
    swapped = after_two_steps([0, *range(TURNS, 0, -1)])
    torch.testing.assert_close(moved, swapped, rtol=1e-3, atol=1e-3)
    assert not torch.allclose(moved, after_two_steps([0, *[1] * TURNS]), atol=1e-2)


def test_a_zero_gradient_moves_nothing():
    assert torch.equal(step_of(torch.zeros(3, 5)), torch.zeros(3, 5))


def test_vectors_move_as_with_adam():
    torch.manual_seed(1)
    one = Parameter(torch.randn(7))
    other = Parameter(one.detach().clone())
    ours, adam = Muon([one], lr=0.1, matrix_lr=1.0), torch.optim.Adam([other], lr=0.1)
    for _ in range(5):
        for p, optimizer in ((one, ours), (other, adam)):
            optimizer.zero_grad()
            (p - 3).pow(4).sum().backward()
            optimizer.step()
    assert torch.allclose(one, other, atol=1e-6)


def test_it_goes_on_from_a_checkpoint_bit_by_bit():
    torch.manual_seed(0)
    weights = [Parameter(torch.randn(LARGE, LARGE)), Parameter(torch.randn(4))]
    kernel = torch.randn(LARGE, 40, 2, 2).contiguous(memory_format=torch.channels_last)
    weights.append(Parameter(kernel))

    def steps(optimizer: Muon, some: list[Parameter], count: int) -> None:
        for _ in range(count):
            optimizer.zero_grad()
            sum(p.square().sum() for p in some).backward()
            optimizer.step()

    first = Muon(weights, lr=0.01, matrix_lr=0.01)
    steps(first, weights, TURNS + 1)
    copies = [Parameter(p.detach().clone()) for p in weights]
    second = Muon(copies, lr=0.01, matrix_lr=0.01)
    tensors: dict[str, torch.Tensor] = {}
    tree = pack(deepcopy(first.state_dict()), tensors)
    second.load_state_dict(unpack(tree, tensors))
    steps(first, weights, TURNS)
    steps(second, copies, TURNS)
    assert all(torch.equal(a, b) for a, b in zip(weights, copies, strict=True))
