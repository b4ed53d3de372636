import pytest
import torch
from torch import nn

from unbraid.methods.base import frozen_statistics


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
