import pytest
import torch

from unbraid.latents.koopman import (
    KoopmanState,
    batch_operator,
    eigenvalues,
    pairs,
    real_basis,
)


def rotation(angle: float) -> torch.Tensor:
    a = torch.tensor(angle, dtype=torch.float64)
    return torch.stack([torch.stack([a.cos(), a.sin()]), torch.stack([-a.sin(), a.cos()])])


def mixed_operator() -> torch.Tensor:
    """Eigenvalues 1 (real), 0.3 (real) and a pair of modulus 0.9, in a skewed basis."""
    torch.manual_seed(0)
    block = torch.block_diag(torch.ones(1, 1), 0.3 * torch.ones(1, 1), 0.9 * rotation(1.0)).double()
    skew = torch.randn(4, 4, dtype=torch.float64)
    return skew @ block @ torch.linalg.inv(skew)


def test_pairs_are_those_of_valid_neighbours():
    z = torch.arange(8.0).reshape(2, 4, 1)
    mask = torch.tensor([[True, True, True, False], [True, False, False, False]])
    x, y = pairs(z, mask)
    assert (x.flatten().tolist(), y.flatten().tolist()) == ([0.0, 1.0], [1.0, 2.0])


def test_the_operator_of_a_linear_path_is_found():
    true = mixed_operator()
    path = [torch.randn(7, 4, dtype=torch.float64)]
    for _ in range(3):
        path.append(path[-1] @ true)
    z = torch.stack(path, 1)
    operator = batch_operator(*pairs(z, torch.ones(7, 4, dtype=torch.bool)))
    torch.testing.assert_close(operator, true, rtol=0, atol=1e-3)


def test_the_basis_is_real_sorted_and_invariant():
    operator = mixed_operator()
    basis, values = real_basis(operator)
    assert values.real.tolist()[0] == pytest.approx(1.0)
    assert (values - 1).abs().diff().min() >= -1e-9
    block = torch.linalg.inv(basis) @ operator @ basis
    blocks = torch.zeros(4, 4, dtype=torch.bool)
    for i in range(4):  # each eigenvalue mixes with itself and its conjugate alone
        for j in range(4):
            blocks[i, j] = min(abs(values[i] - values[j]), abs(values[i] - values[j].conj())) < 1e-6
    assert block[~blocks].abs().max() < 1e-8


def test_eigenvalues_that_coincide_give_no_gradient_instead_of_nan():
    operator = torch.eye(3, dtype=torch.float64).requires_grad_()
    (eigenvalues(operator).abs().square().sum() + operator.sum()).backward()
    assert torch.isfinite(operator.grad).all()


def test_running_sums_converge_to_the_operator_and_its_codes_come_back():
    true, state = mixed_operator(), KoopmanState(4)
    for seed in range(5):
        torch.manual_seed(seed)
        path = [torch.randn(9, 4, dtype=torch.float64)]
        for _ in range(3):
            path.append(path[-1] @ true)
        state.update(torch.stack(path, 1).float(), torch.ones(9, 4, dtype=torch.bool))
    torch.testing.assert_close(state.operator, true, rtol=0, atol=1e-3)
    assert state.values[0].tolist() == pytest.approx([1.0, 0.0], abs=1e-3)
    z = torch.randn(2, 3, 4)
    torch.testing.assert_close(state.back(state.coordinates(z)), z, rtol=1e-3, atol=1e-3)


def test_draws_have_the_moments_of_what_was_seen():
    torch.manual_seed(0)
    state = KoopmanState(2)
    z = torch.tensor([3.0, -1.0]) + torch.randn(5000, 2, 2) * torch.tensor([0.5, 2.0])
    state.update(z, torch.ones(5000, 2, dtype=torch.bool))
    drawn = state.draw(20000, state.first)
    torch.testing.assert_close(drawn.mean(0).float(), torch.tensor([3.0, -1.0]), atol=0.1, rtol=0)
    torch.testing.assert_close(drawn.std(0).float(), torch.tensor([0.5, 2.0]), atol=0.1, rtol=0)
