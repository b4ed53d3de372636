import torch
from torch import nn

from unbraid.nets.folding import folded


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
