import math

import torch
from torch.distributions import Normal

from unbraid.objectives.elbo import reconstruction_error
from unbraid.records import Batch, Prediction

MASK = torch.tensor([[True, True, True], [True, False, False]])


def test_without_a_variance_the_error_is_the_sum_of_squared_errors():
    x, x_hat = torch.rand(2, 3, 3, 4, 4), torch.rand(2, 3, 3, 4, 4)
    error = reconstruction_error(Prediction(x_hat.flatten(0, 1)), Batch.full(x))
    for i in range(2):
        for t in range(3):
            wanted = ((x[i, t] - x_hat[i, t]) ** 2).sum()
            torch.testing.assert_close(error[i, t], wanted)


def test_with_a_variance_the_error_is_the_negative_log_likelihood():
    x, mean, log_var = torch.randn(2, 3, 4, 5), torch.randn(2, 3, 4, 5), torch.randn(2, 3, 4, 5)
    likelihood = Normal(mean, (0.5 * log_var).exp()).log_prob(x)
    error = reconstruction_error(
        Prediction(mean.flatten(0, 1), log_var.flatten(0, 1)), Batch.full(x)
    )
    torch.testing.assert_close(error, -likelihood.sum((-2, -1)))


def test_a_hit_with_unit_variance_costs_half_log_two_pi_per_element():
    zeros = torch.zeros(1, 1, 2, 3)
    error = reconstruction_error(Prediction(zeros[0], zeros[0]), Batch.full(zeros))
    assert math.isclose(error.item(), 3 * math.log(2 * math.pi), rel_tol=1e-6)


def test_padded_steps_have_no_error():
    x, zeros = torch.ones(2, 3, 5), torch.zeros(4, 5)
    error = reconstruction_error(Prediction(zeros), Batch(x, MASK))
    assert error.tolist() == [[5.0, 5.0, 5.0], [5.0, 0.0, 0.0]]
    likely = reconstruction_error(Prediction(zeros, zeros), Batch(x, MASK))
    assert (likely[~MASK] == 0).all()
    assert (likely[MASK] > 0).all()


def test_unobserved_elements_have_no_error_and_no_gradient():
    x = torch.full((2, 3, 2, 2), 3.0)
    observed = MASK[..., None, None].expand(2, 3, 2, 2).clone()
    observed[0, 0, 1] = False
    x[~observed] = math.nan
    mean = torch.zeros(4, 2, 2, requires_grad=True)
    log_var = torch.zeros(4, 2, 2, requires_grad=True)
    assert reconstruction_error(Prediction(mean), Batch(x, MASK, observed)).tolist() == [
        [18.0, 36.0, 36.0],
        [36.0, 0.0, 0.0],
    ]
    reconstruction_error(Prediction(mean, log_var), Batch(x, MASK, observed)).sum().backward()
    seen = observed[MASK]
    assert (mean.grad[~seen] == 0).all()
    assert (log_var.grad[~seen] == 0).all()
    torch.testing.assert_close(mean.grad[seen], torch.full_like(mean.grad[seen], -3.0))


def test_what_is_observed_costs_its_negative_log_probability():
    mask = torch.tensor([[True, False]])
    observed = torch.tensor([[[True, False], [False, False]]])
    zeros = torch.zeros(1, 2)  # one step exists
    logits = torch.tensor([[2.0, 2.0]])
    batch = Batch(torch.zeros(1, 2, 2), mask, observed)
    added = reconstruction_error(Prediction(zeros, zeros, logits), batch) - reconstruction_error(
        Prediction(zeros, zeros), batch
    )
    p = 1 / (1 + math.exp(-2.0))
    torch.testing.assert_close(added, torch.tensor([[-math.log(p) - math.log(1 - p), 0.0]]))
