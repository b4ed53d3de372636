"""Thirds by posterior KL on Gaussians made by hand."""

import numpy as np
import pytest
import torch

from unbraid.data.corpus import Split
from unbraid.evaluation.protocols.thirds import batch_thirds, distances, measure_thirds, thirds_of
from unbraid.methods import METHODS
from unbraid.methods.spyl import pools
from unbraid.nets import NetConfig
from unbraid.records import Gaussian, Posterior, Spec

T = 4
FULL = torch.ones(6, T, dtype=torch.bool)


def _unit(mean: torch.Tensor) -> Gaussian:
    return Gaussian(mean, torch.zeros_like(mean))


def _circle() -> Posterior:
    """s: three pairs of equal codes at 0, 60 and 180 degrees; d: six directions of its own."""
    angle = torch.tensor([0.0, 0.0, 60.0, 60.0, 180.0, 180.0]).deg2rad()
    s = torch.stack([angle.cos(), angle.sin()], 1)
    d = torch.eye(6)[:, None].expand(6, T, 6).contiguous()
    return Posterior(_unit(s), _unit(d))


def test_thirds_of_three_pairs_are_the_twin_the_middle_and_the_rest():
    thirds = batch_thirds(_circle(), FULL)["s"]
    # From 0 degrees: twin 1, then 60 degrees, last 180. From 60: twin, 0, 180. From 180: twin,
    # 60 (120 apart), 0 (180 apart).
    np.testing.assert_allclose(thirds.first, [1] * 6, atol=1e-6)
    wanted = sorted([0.5] * 4 + [0.5] * 4 + [-0.5] * 4)
    np.testing.assert_allclose(sorted(thirds.middle), wanted, atol=1e-6)
    wanted = sorted([-1.0] * 4 + [-0.5] * 4 + [-1.0] * 4)
    np.testing.assert_allclose(sorted(thirds.last), wanted, atol=1e-6)


def test_the_divergence_of_d_is_per_shared_element_and_padding_does_not_count():
    q, mask = _circle(), FULL.clone()
    mask[0, 2:] = False
    full, part = distances(q, FULL)["d"], distances(q, mask)["d"]
    # Two elements differ by 1 in each of the T steps: ½ · 2 · T, over 6 T elements.
    np.testing.assert_allclose(full[0, 1], 1 / 6, rtol=1e-5)
    np.testing.assert_allclose(part, full, atol=1e-5)
    spoiled = Posterior(q.s, _unit(torch.where(mask[..., None], q.d.mean, 1e3)))
    thirds, wild = batch_thirds(q, mask)["d"], batch_thirds(spoiled, mask)["d"]
    np.testing.assert_allclose(wild.last, thirds.last, atol=1e-6)


def test_thirds_are_the_pools_of_spyl_without_the_anchor():
    distance = torch.rand(11, 11).fill_diagonal_(0.0)
    near, far = pools(distance, "farthest")
    first, middle, last = thirds_of(distance)
    eye = torch.eye(11, dtype=torch.bool)
    assert torch.equal(first, near & ~eye)
    assert torch.equal(last, far)
    assert torch.equal(first | middle | last, ~eye)
    assert not (first & middle | middle & last).any()


def test_an_anchor_is_left_out_even_if_another_is_equal():
    first, _, _ = thirds_of(torch.zeros(9, 9))
    assert (first.sum(1) == 2).all()
    assert not first.diagonal().any()


def test_too_small_a_batch_is_refused():
    with pytest.raises(ValueError, match="6 sequences in a batch at least, got 5"):
        thirds_of(torch.zeros(5, 5))


def test_a_split_is_measured_in_whole_batches_drawn_by_the_seed():
    spec = Spec(name="made", kind="audio", frame=(5,), length=T)
    x = np.random.default_rng(0).normal(size=(30, T, 5)).astype(np.float32)
    split = Split(spec=spec, x=x, rows=np.arange(30))
    torch.manual_seed(0)
    entry = METHODS["dsvae"]
    config = entry.Config(static_dim=3, dynamic_dim=2, net=NetConfig(hidden=8))
    method = entry(spec, config).eval()
    codes = measure_thirds(method, split, limit=25, batch_size=12)
    for thirds in codes.values():  # two batches of 12: 3, 4 and 4 others per anchor
        assert [len(part) for part in (thirds.first, thirds.middle, thirds.last)] == [72, 96, 96]
    other = measure_thirds(method, split, limit=25, batch_size=12, seed=1)
    assert not np.array_equal(codes["s"].last, other["s"].last)
