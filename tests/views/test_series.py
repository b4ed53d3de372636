import pytest
import torch

from unbraid.views.series import scale_channels


def test_one_factor_per_sequence_and_channel():
    torch.manual_seed(0)
    factor = scale_channels(torch.ones(6, 5, 4, 3))
    assert torch.equal(factor, factor[:, :1, :1].expand_as(factor))
    assert len(factor[:, 0, 0].unique()) == 18
    assert (factor > 0).all()


def test_factors_have_the_spread_asked_for():
    torch.manual_seed(0)
    logs = scale_channels(torch.ones(2000, 1, 1, 5), spread=0.3).log()
    assert logs.mean().abs() < 0.01
    assert abs(logs.std() - 0.3) < 0.01


def test_no_spread_changes_nothing_and_a_negative_one_is_refused():
    x = torch.randn(2, 5, 4, 3)
    assert torch.equal(scale_channels(x, spread=0.0), x)
    with pytest.raises(ValueError, match=r"spread must not be negative, got -0\.1"):
        scale_channels(x, spread=-0.1)
