from typing import Any

import pytest
import torch
from torch import Tensor

from tests.conformance.toys import toy_batch, toy_method
from unbraid.methods import spyl
from unbraid.methods.spyl import SPYL, pools
from unbraid.objectives.elbo import flatten_steps, pairwise_kl
from unbraid.records import Codes, Gaussian, Posterior

# Row 0 ranks 0 1 2 3 4 5, row 1 ranks 5 4 3 2 1 0 after itself is moved in front, and so on.
DISTANCE = torch.tensor(
    [
        [0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
        [5.0, 0.0, 4.0, 3.0, 2.0, 1.0],
        [3.0, 5.0, 0.0, 1.0, 4.0, 2.0],
        [1.0, 2.0, 3.0, 0.0, 5.0, 4.0],
        [2.0, 4.0, 1.0, 5.0, 0.0, 3.0],
        [4.0, 3.0, 5.0, 2.0, 1.0, 0.0],
    ]
)
NEAR = [{0, 1}, {1, 5}, {2, 3}, {3, 0}, {4, 2}, {5, 4}]
MIDDLE = [{2, 3}, {4, 3}, {5, 0}, {1, 2}, {0, 5}, {3, 1}]
FAR = [{4, 5}, {2, 0}, {4, 1}, {5, 4}, {1, 3}, {0, 2}]


def members(pool: Tensor) -> list[set[int]]:
    return [set(row.nonzero()[:, 0].tolist()) for row in pool]


def count_decoder_calls(method: SPYL, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    calls, forward = [], method.decoder.forward

    def counted(codes: Codes, mask: Tensor | None = None) -> Any:
        calls.append(len(codes))
        return forward(codes, mask)

    monkeypatch.setattr(method.decoder, "forward", counted)
    return calls


def contrasts(method: SPYL, kind: str, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Run one loss and return what the two contrasts were given: first of s, then of d."""
    seen, plain = [], spyl.info_nce_against

    def recorded(anchor: Tensor, positive: Tensor, bank: Tensor, **rest: Any) -> Tensor:
        seen.append({"anchor": anchor, "positive": positive, "bank": bank, **rest})
        return plain(anchor, positive, bank, **rest)

    monkeypatch.setattr(spyl, "info_nce_against", recorded)
    method.loss(toy_batch(kind), 0)
    return seen


def test_pools_of_six_worked_out_by_hand():
    assert members(pools(DISTANCE, "farthest")[0]) == NEAR
    assert members(pools(DISTANCE, "farthest")[1]) == FAR
    assert members(pools(DISTANCE, "middle")[1]) == MIDDLE
    both = [a | b for a, b in zip(MIDDLE, FAR, strict=True)]
    assert members(pools(DISTANCE, "middle+farthest")[1]) == both


def test_random_negatives_are_a_third_of_the_others_and_differ():
    torch.manual_seed(0)
    drawn = [members(pools(DISTANCE, "random")[1]) for _ in range(20)]
    assert all(len(pool) == 2 and i not in pool for draw in drawn for i, pool in enumerate(draw))
    assert set().union(*(draw[0] for draw in drawn)) == {1, 2, 3, 4, 5}
    assert members(pools(DISTANCE, "random")[0]) == NEAR


@pytest.mark.parametrize("n", [2, 3, 4, 5, 7])
def test_small_batches_have_pools_that_do_not_meet(n: int):
    near, far = pools(torch.rand(n, n).fill_diagonal_(-1.0), "farthest")
    assert near.any(1).all()
    assert far.any(1).all()
    assert not (near & far).any()


def test_negatives_come_from_the_far_pool_and_positives_from_the_near(
    monkeypatch: pytest.MonkeyPatch,
):
    method, batch = toy_method("spyl", "audio"), toy_batch("audio")
    q = method.infer(batch)[1]
    shared = (batch.mask[:, None] & batch.mask).sum(-1)  # steps both sequences have
    distances = (pairwise_kl(q.s), pairwise_kl(*flatten_steps(q.d, batch.mask)) / shared)
    for seen, distance in zip(contrasts(method, "audio", monkeypatch), distances, strict=True):
        ranked = distance.argsort(1)
        wanted = [set(row[4:].tolist()) for row in ranked]
        assert members(seen["negatives"]) == wanted
        for i, positive in enumerate(seen["positive"]):
            source = (seen["bank"] == positive).all(-1).nonzero()[0, 0].item()
            assert source in set(ranked[i, :2].tolist())


def test_a_positive_can_be_the_anchor_s_own(monkeypatch: pytest.MonkeyPatch):
    for seen in contrasts(toy_method("spyl", "audio", positives="self"), "audio", monkeypatch):
        assert torch.equal(seen["positive"], seen["bank"])


@pytest.mark.parametrize("through", [True, False])
def test_gradient_passes_through_the_bank_only_when_asked(
    through: bool, monkeypatch: pytest.MonkeyPatch
):
    method = toy_method("spyl", "series", bank_gradient=through)
    for seen in contrasts(method, "series", monkeypatch):
        assert seen["anchor"].requires_grad
        assert seen["bank"].requires_grad == through


def test_generated_frames_do_not_move_batch_statistics():
    batch = toy_batch("video")
    with_bank, without = (toy_method("spyl", "video", warmup_steps=w) for w in (0, 1))
    start = {name: value.clone() for name, value in without.named_buffers()}
    for method in (with_bank, without):
        torch.manual_seed(0)
        method.loss(batch, 0)
    moved = dict(with_bank.named_buffers())
    for name, value in without.named_buffers():
        assert torch.equal(value, moved[name]), name
        assert not torch.equal(value, start[name]), name


def test_predictive_views_cost_one_decoding_of_two_n(monkeypatch: pytest.MonkeyPatch):
    method = toy_method("spyl", "audio")
    calls = count_decoder_calls(method, monkeypatch)
    method.loss(toy_batch("audio"), 0)
    assert calls == [6, 12]


def test_reparametrised_views_need_no_decoder(monkeypatch: pytest.MonkeyPatch):
    method = toy_method("spyl", "audio", views="reparametrised")
    calls = count_decoder_calls(method, monkeypatch)
    assert "mi_dynamic" in method.loss(toy_batch("audio"), 0)
    assert calls == [6]


@pytest.mark.parametrize("partner", ["prior", "batch"])
def test_every_member_of_the_bank_names_the_posterior_it_was_drawn_from(
    partner: str, monkeypatch: pytest.MonkeyPatch
):
    method, batch = toy_method("spyl", "audio", partner=partner), toy_batch("audio")
    sharp = Posterior(
        Gaussian(torch.randn(6, 6), torch.full((6, 6), -60.0)),
        Gaussian(torch.randn(6, 5, 4), torch.full((6, 5, 4), -60.0)),
    )

    def as_given(self: SPYL, first: Codes, second: Codes, mask: Tensor) -> Codes:
        codes = [torch.cat(parts) for parts in ((first.s, second.s), (first.d, second.d))]
        return Codes(codes[0], codes[1] * mask[..., None])

    monkeypatch.setattr(SPYL, "_predict", as_given)
    static, dynamic = method._banks(batch, sharp)
    assert len(static.codes) == len(dynamic.codes) == {"prior": 6, "batch": 12}[partner]
    d = (sharp.d.mean * batch.mask[..., None]).flatten(1)
    torch.testing.assert_close(static.codes, sharp.s.mean[static.sources])
    torch.testing.assert_close(dynamic.codes, d[dynamic.sources])


def test_all_members_serve_both_factors_with_partners_from_the_batch(
    monkeypatch: pytest.MonkeyPatch,
):
    for seen in contrasts(toy_method("spyl", "video", partner="batch"), "video", monkeypatch):
        assert seen["negatives"].shape == (6, 12)
        assert seen["negatives"].sum(1).tolist() == [4] * 6


def test_contrast_begins_after_the_warm_up():
    method, batch = toy_method("spyl", "audio", warmup_steps=5), toy_batch("audio")
    assert "mi_static" not in method.loss(batch, 4)
    assert "mi_static" in method.loss(batch, 5)
    assert "mi_static_dynamic" in method.loss(batch, 4)


def test_weights_are_the_lambdas_of_table_six():
    terms = toy_method("spyl", "audio").loss(toy_batch("audio"), 0)
    assert [weight for weight, _ in terms.values()] == [10.0, 5.0, 1.0, -5.0, -5.0, 1.0]
