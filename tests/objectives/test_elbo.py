import torch
from torch.distributions import Normal, kl_divergence

from unbraid.objectives.elbo import kl_dynamic, kl_static, negative_elbo
from unbraid.records import Gaussian, Posterior

MASK = torch.tensor([[True, True, True], [True, False, False]])


def random_gaussian(*shape: int) -> Gaussian:
    return Gaussian(torch.randn(shape), torch.randn(shape))


def normal(q: Gaussian) -> Normal:
    return Normal(q.mean, (0.5 * q.log_var).exp())


def unit_shift() -> Posterior:
    ones, zeros = torch.ones(2, 4), torch.zeros(2, 4)
    return Posterior(Gaussian(ones, zeros), Gaussian(torch.ones(2, 3, 2), torch.zeros(2, 3, 2)))


def test_kl_static_is_summed_over_dimensions_and_averaged_over_the_batch():
    q = Posterior(random_gaussian(6, 4), random_gaussian(6, 5, 3))
    wanted = kl_divergence(normal(q.s), Normal(torch.zeros(6, 4), torch.ones(6, 4)))
    torch.testing.assert_close(kl_static(q), wanted.sum(-1).mean())


def test_kl_dynamic_is_summed_over_existing_steps_and_averaged_over_the_batch():
    q, p = Posterior(random_gaussian(2, 4), random_gaussian(2, 3, 3)), random_gaussian(2, 3, 3)
    table = kl_divergence(normal(q.d), normal(p)).sum(-1)
    wanted = (table[0].sum() + table[1, 0]) / 2
    torch.testing.assert_close(kl_dynamic(q, p, MASK), wanted)


def test_the_bound_of_a_unit_shift_worked_out_by_hand():
    standard = Gaussian(torch.zeros(2, 3, 2), torch.zeros(2, 3, 2))
    errors = torch.tensor([[1.0, 2.0, 3.0], [4.0, 0.0, 0.0]])
    terms = negative_elbo(errors, unit_shift(), standard, MASK, weights=(3.0, 0.5, 0.25))
    assert {name: (w, v.item()) for name, (w, v) in terms.items()} == {
        "reconstruction": (3.0, 5.0),  # (6 + 4) / 2
        "kl_static": (0.5, 2.0),  # 4 dimensions at 1/2
        "kl_dynamic": (0.25, 2.0),  # (3 + 1) steps of 2 dimensions at 1/2, over 2 sequences
    }
    assert list(terms) == ["reconstruction", "kl_static", "kl_dynamic"]
