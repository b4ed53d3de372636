import torch
from torch import nn

from unbraid.records import per_step

MASK = torch.tensor([[True, True, True], [True, False, False]])


def test_padded_steps_never_reach_the_net_and_become_zeros():
    seen = []

    def net(x: torch.Tensor) -> torch.Tensor:
        seen.append(x)
        return x[:, :1] + 10.0

    x = torch.arange(12.0).reshape(2, 3, 2)
    out = per_step(net, x, MASK)
    assert seen[0].tolist() == x[MASK].tolist()
    assert out[..., 0].tolist() == [[10.0, 12.0, 14.0], [16.0, 0.0, 0.0]]


def test_a_full_mask_gives_what_a_mask_would():
    net, x = nn.Linear(4, 3), torch.randn(2, 3, 4)
    full = per_step(net, x, torch.ones(2, 3, dtype=torch.bool))
    torch.testing.assert_close(full, net(x))
    torch.testing.assert_close(per_step(net, x, MASK)[MASK], full[MASK])


def test_batch_statistics_are_those_of_existing_steps():
    norm, x = nn.BatchNorm1d(4, momentum=1.0), torch.randn(2, 3, 4)
    x[~MASK] = 1e6
    per_step(norm, x, MASK)
    torch.testing.assert_close(norm.running_mean, x[MASK].mean(0))
