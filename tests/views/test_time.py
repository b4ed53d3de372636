import torch

from unbraid.views.time import reorder, reverse_steps, shuffle_steps, shuffled_order


def _unequal() -> tuple[torch.Tensor, torch.Tensor]:
    lengths = torch.tensor([5, 1, 3, 4, 2, 5])
    mask = torch.arange(5) < lengths[:, None]
    return torch.randn(6, 5, 2, 3), mask


def test_shuffling_permutes_the_valid_steps_and_leaves_padding():
    h, mask = _unequal()
    shuffled = shuffle_steps(h, mask)
    for before, after, valid in zip(h, shuffled, mask, strict=True):
        n = int(valid.sum())
        assert sorted(before[:n].flatten(1).tolist()) == sorted(after[:n].flatten(1).tolist())
        assert torch.equal(before[n:], after[n:])


def test_every_sequence_has_an_order_of_its_own():
    torch.manual_seed(0)
    order = shuffled_order(torch.ones(50, 8, dtype=torch.bool))
    assert len({tuple(row) for row in order.tolist()}) > 40
    assert torch.equal(order.sort(1).values, torch.arange(8).expand(50, 8))


def test_all_orders_of_three_steps_are_equally_likely():
    torch.manual_seed(0)
    order = shuffled_order(torch.ones(6000, 3, dtype=torch.bool))
    _, counts = torch.unique(order, dim=0, return_counts=True)
    assert len(counts) == 6
    assert (counts - 1000).abs().max() < 150  # five standard deviations


def test_reversing_twice_is_the_identity_for_unequal_lengths():
    h, mask = _unequal()
    assert torch.equal(reverse_steps(reverse_steps(h, mask), mask), h)


def test_reversing_starts_at_the_last_valid_step():
    h = torch.arange(8.0).reshape(2, 4, 1)
    mask = torch.tensor([[True, True, True, False], [True, True, True, True]])
    expected = torch.tensor([[2.0, 1, 0, 3], [7, 6, 5, 4]])[..., None]
    assert torch.equal(reverse_steps(h, mask), expected)


def test_one_order_serves_frames_and_features():
    h, mask = _unequal()
    order = shuffled_order(mask)
    assert torch.equal(reorder(h, order).sum((2, 3)), reorder(h.sum((2, 3)), order))


def test_the_gradient_follows_the_steps():
    h = torch.randn(2, 3, 4, requires_grad=True)
    reverse_steps(h, torch.ones(2, 3, dtype=torch.bool))[:, 0].sum().backward()
    assert h.grad is not None
    assert torch.equal(h.grad[:, 2], torch.ones(2, 4))
    assert torch.equal(h.grad[:, :2], torch.zeros(2, 2, 4))
