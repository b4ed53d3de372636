import torch

from tests.conformance.toys import toy_batch
from unbraid.records import Batch
from unbraid.views.motion import motion_signal


def test_the_cells_that_change_most_are_the_moving_ones():
    x = torch.zeros(1, 3, 1, 9, 9)
    x[0, 1, 0, :3, :] = 1.0  # the upper row of cells lights up, and stays
    labels, known = motion_signal("video", Batch.full(x))
    assert labels[0, 1].tolist() == [1, 1, 1, 0, 0, 0, 0, 0, 0]
    assert known[0, :, 0].tolist() == [False, True, True]


def test_half_of_the_columns_are_quiet():
    x = torch.tensor([[1.0, 5.0, 2.0, 9.0, 99.0]])[..., None].expand(1, 5, 4).clone()
    batch = Batch(x, torch.tensor([[True, True, True, True, False]]))
    labels, known = motion_signal("audio", batch)
    assert labels[0, :4, 0].tolist() == [1, 0, 0, 0]  # the median of four is the lower middle, 2
    assert known[0, :, 0].tolist() == [True] * 4 + [False]


def test_channels_that_rise_are_known_where_both_windows_are_observed():
    x = torch.tensor([0.0, 1.0, 0.5])[None, :, None, None].expand(1, 3, 2, 2).clone()
    observed = torch.ones_like(x, dtype=torch.bool)
    observed[0, 1, :, 1] = False
    labels, known = motion_signal("series", Batch(x, torch.ones(1, 3, dtype=torch.bool), observed))
    assert labels[0, :, 0].tolist() == [0, 1, 0]
    assert known[0].tolist() == [[False, False], [True, False], [True, False]]


def test_steps_without_one_before_them_have_no_signal():
    for kind in ("video", "series"):
        batch = toy_batch(kind)
        known = motion_signal(kind, batch)[1]
        assert not known[:, 0].any()
        assert not known[~batch.mask].any()
