import pytest
import torch
from torch import nn

from unbraid.nets.steps import folded, frozen_statistics, per_step

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


def test_frozen_statistics_normalise_by_the_batch_and_remember_nothing():
    net, x = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)), torch.randn(8, 4)
    net(torch.randn(8, 4))
    before = {name: value.clone() for name, value in net.named_buffers()}
    with frozen_statistics(net):
        frozen = net(x)
    for name, value in net.named_buffers():
        assert torch.equal(value, before[name]), name
    torch.testing.assert_close(frozen, net(x))
    assert net[1].num_batches_tracked.item() == 2


def test_statistics_thaw_after_an_error():
    norm = nn.BatchNorm1d(4, momentum=0.3)
    with pytest.raises(RuntimeError, match="stop"), frozen_statistics(norm):
        assert norm.momentum == 0.0
        raise RuntimeError("stop")
    assert norm.momentum == 0.3
    norm(torch.randn(8, 4))
    assert norm.num_batches_tracked.item() == 1


def test_a_folded_net_computes_the_same_without_batchnorm_and_leaves_the_model_alone():
    net = nn.Sequential(nn.Conv2d(2, 3, 3, bias=False), nn.BatchNorm2d(3), nn.LeakyReLU())
    x = torch.randn(4, 2, 6, 6)
    net(x)  # moves the running statistics
    net.eval()
    short = folded(net)
    torch.testing.assert_close(short(x), net(x))
    assert not any(isinstance(part, nn.BatchNorm2d) for part in short.modules())
    assert isinstance(net[1], nn.BatchNorm2d)
    assert folded(net.train()) is net
