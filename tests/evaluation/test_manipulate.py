"""Swap, sample, interpolate and cross against a model whose codes can be read off."""

import numpy as np
import torch

from unbraid.data.corpus import Split
from unbraid.evaluation.manipulate import cross, embed, interpolate, sample, swap
from unbraid.methods.base import Method
from unbraid.records import Batch, Codes, Spec


class Glass(Method):
    """x = (s, d): the first feature never changes, the second is the dynamic code."""

    def __init__(self) -> None:
        super().__init__()
        self.spec = Spec(name="glass", kind="audio", frame=(2,), length=3)
        self.anything = torch.nn.Parameter(torch.zeros(1))

    def encode(self, batch: Batch) -> Codes:
        return Codes(batch.x[:, 0, :1], batch.x[..., 1:])

    def decode(self, codes: Codes) -> torch.Tensor:
        return torch.cat([codes.s[:, None].expand(-1, codes.d.shape[1], -1), codes.d], -1)

    def sample(self, n: int, length: int, *, means: bool = False) -> Codes:
        return Codes(torch.full((n, 1), 50.0), torch.full((n, length, 1), 60.0))

    def loss(self, batch: Batch, step: int) -> dict[str, tuple[float, torch.Tensor]]:
        return {}


def _batch(who: float, doing: list[float]) -> Batch:
    return Batch.full(torch.tensor([[[who, step] for step in doing]]))


A, B = _batch(1.0, [0.1, 0.2, 0.3]), _batch(2.0, [0.7, 0.8, 0.9])


def test_swap_gives_a_doing_b_and_b_doing_a():
    ab, ba = swap(Glass(), A, B)
    assert torch.equal(ab, _batch(1.0, [0.7, 0.8, 0.9]).x)
    assert torch.equal(ba, _batch(2.0, [0.1, 0.2, 0.3]).x)


def test_one_factor_is_drawn_and_the_other_kept():
    keep = Glass().encode(A)
    static = sample(Glass(), 1, 9, keep=keep, factor="static")
    assert torch.equal(static, _batch(50.0, [0.1, 0.2, 0.3]).x)
    dynamic = sample(Glass(), 1, 2, keep=keep, factor="dynamic")
    assert torch.equal(dynamic, _batch(1.0, [60.0, 60.0]).x)


def test_interpolating_s_leaves_the_dynamics_of_a():
    way = interpolate(Glass(), A, B, steps=3)[:, 0]
    assert way[:, 0, 0].tolist() == [1.0, 1.5, 2.0]
    assert torch.equal(way[:, :, 1], A.x[..., 1].expand(3, -1))


def test_cross_has_who_in_rows_and_doing_what_in_columns():
    both = Batch.full(torch.cat([A.x, B.x]))
    grid = cross(Glass(), both, both)
    assert grid.shape == (2, 2, 3, 2)
    assert grid[0, 1, 0].tolist() == [1.0, B.x[0, 0, 1].item()]
    assert grid[1, 0, 0].tolist() == [2.0, A.x[0, 0, 1].item()]


def test_embed_keeps_the_order_of_the_split():
    x = np.arange(5 * 3 * 2, dtype=np.float32).reshape(5, 3, 2)
    split = Split(spec=Glass().spec, x=x, rows=np.array([4, 0, 2]))
    assert embed(Glass(), split, batch_size=2).s[:, 0].tolist() == [24.0, 0.0, 12.0]
