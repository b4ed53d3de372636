from dataclasses import replace

import torch
from torch import nn

from tests.conformance.toys import toy_batch, toy_method
from unbraid.records import Batch


def test_a_code_of_mean_one_and_variance_one_costs_half_a_nat_per_unit_and_window():
    method, batch = toy_method("vae", "series"), toy_batch("series")
    with torch.no_grad():
        head = method.posterior.head.linear
        head.weight.zero_()
        head.bias.copy_(torch.tensor([1.0] * 10 + [0.0] * 10))
    terms = method.loss(batch, 0)
    windows = batch.mask.sum().item() / len(batch)
    assert terms["kl_static"][1].item() == torch.tensor(0.5 * 6 * windows).item()
    assert terms["kl_dynamic"][1].item() == torch.tensor(0.5 * 4 * windows).item()


def test_s_is_the_mean_of_codes_of_single_steps():
    method, batch = toy_method("vae", "audio").eval(), toy_batch("audio", ragged=False)
    whole = method.encode(batch)
    parts = [method.encode(Batch.full(batch.x[:, [t]])) for t in range(5)]
    torch.testing.assert_close(whole.s, torch.stack([part.s for part in parts]).mean(0))
    torch.testing.assert_close(whole.d, torch.cat([part.d for part in parts], 1))


def test_training_does_not_know_of_the_split_into_s_and_d():
    """Steps in another order of sequences give the same loss: nothing ties the steps of one."""
    method, batch = toy_method("vae", "audio").eval(), toy_batch("audio", ragged=False)
    mixed = batch.x.flatten(0, 1)[torch.randperm(30)].unflatten(0, (6, 5))
    method.posterior.head.register_forward_hook(_certain)
    a, b = (method.loss(Batch.full(x), 0) for x in (batch.x, mixed))
    for term in a:
        torch.testing.assert_close(a[term][1], b[term][1])


def _certain(module: nn.Module, inputs: tuple, q):
    return replace(q, log_var=torch.full_like(q.mean, -30.0))
