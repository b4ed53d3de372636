import pytest
import torch

from unbraid.latents.anchored import (
    AnchoredPosterior,
    AnchoredPrior,
    anchor_index,
    drop,
    insert,
    moving_steps,
)
from unbraid.latents.recurrent import DynamicPrior

LENGTHS = (5, 3, 2, 4, 1)
MASK = torch.arange(5) < torch.tensor(LENGTHS)[:, None]
EVERY = torch.ones(5, 5, dtype=torch.bool)
ANCHORS = {"first": [0, 0, 0, 0, 0], "middle": [2, 1, 1, 2, 0], "last": [4, 2, 1, 3, 0]}


def posterior(anchor: str = "first", subtract: str = "after") -> AnchoredPosterior:
    torch.manual_seed(0)
    return AnchoredPosterior(3, (6, 2), 4, anchor=anchor, subtract=subtract)


@pytest.mark.parametrize("anchor", ANCHORS)
def test_the_anchor_follows_each_sequence_s_own_length(anchor: str):
    assert anchor_index(MASK, anchor).tolist() == ANCHORS[anchor]


@pytest.mark.parametrize("anchor", ANCHORS)
def test_moving_steps_exist_and_are_not_the_anchor(anchor: str):
    moving = moving_steps(MASK, anchor)
    wanted = [
        [t < length and t != a for t in range(5)]
        for length, a in zip(LENGTHS, ANCHORS[anchor], strict=True)
    ]
    assert moving.tolist() == wanted


@pytest.mark.parametrize("a", range(5))
def test_drop_and_insert_are_inverse(a: int):
    h = torch.randn(2, 5, 3)
    at = torch.tensor([a, 4 - a])
    short = drop(h, at)
    for i, index in enumerate(at.tolist()):
        others = [t for t in range(5) if t != index]
        assert torch.equal(short[i], h[i, others])
        wanted = h[i].clone()
        wanted[index] = 0.0
        assert torch.equal(insert(short, at)[i], wanted)


@pytest.mark.parametrize("anchor", ANCHORS)
@pytest.mark.parametrize("subtract", ["after", "before", "off"])
def test_d_is_zero_at_the_anchor_and_only_there(anchor: str, subtract: str):
    q = posterior(anchor, subtract)(torch.randn(5, 5, 3), EVERY)
    a = anchor_index(EVERY, anchor)
    is_anchor = torch.arange(5) == a[:, None]
    assert (q.d.mean[is_anchor] == 0).all()
    assert (q.d.mean[~is_anchor] != 0).all()


@pytest.mark.parametrize("anchor", ANCHORS)
def test_s_depends_on_the_anchor_alone(anchor: str):
    part, h = posterior(anchor), torch.randn(5, 5, 3)
    is_anchor = (torch.arange(5) == anchor_index(MASK, anchor)[:, None])[..., None]
    q = part(h, MASK).s
    others = part(torch.where(is_anchor, h, torch.randn(5, 5, 3)), MASK).s
    assert torch.equal(q.mean, others.mean)
    assert torch.equal(q.log_var, others.log_var)
    moved = part(torch.where(is_anchor, h + 1.0, h), MASK).s
    assert (q.mean != moved.mean).all()


@pytest.mark.parametrize("subtract", ["after", "before", "off"])
def test_what_is_subtracted_is_what_the_formulas_say(subtract: str):
    part, h = posterior(subtract=subtract), torch.randn(5, 5, 3)
    g_a = h[:, 0]
    layer = part.summary[0]
    s_tilde = torch.tanh(g_a @ layer.weight.T + layer.bias)
    read = h[:, 1:] - g_a[:, None] if subtract == "before" else h[:, 1:]
    h_t = part.tracker(read)[0]
    if subtract == "after":
        h_t = h_t - s_tilde[:, None]
    q = part(h, EVERY)
    torch.testing.assert_close(q.d.mean[:, 1:], part.dynamic_head(h_t).mean)
    torch.testing.assert_close(q.d.log_var[:, 1:], part.dynamic_head(h_t).log_var)
    torch.testing.assert_close(q.s.mean, part.static_head(s_tilde).mean)


@pytest.mark.parametrize("anchor", ANCHORS)
def test_padding_changes_neither_posterior(anchor: str):
    part, h = posterior(anchor), torch.randn(5, 5, 3)
    q = part(h, MASK)
    for i, length in enumerate(LENGTHS[:4]):
        alone = part(h[i : i + 1, :length], EVERY[:1, :length])
        torch.testing.assert_close(alone.s.mean[0], q.s.mean[i])
        torch.testing.assert_close(alone.d.mean[0], q.d.mean[i, :length])


def test_one_element_alone_is_refused():
    with pytest.raises(ValueError, match="DBSE needs two elements at least"):
        posterior()(torch.randn(5, 1, 3), EVERY[:, :1])


@pytest.mark.parametrize("anchor", ANCHORS)
def test_the_prior_runs_over_the_moving_elements(anchor: str):
    prior = AnchoredPrior(2, 4, 1, anchor=anchor)
    assert isinstance(prior.others, DynamicPrior)
    d, a = torch.randn(5, 5, 2), anchor_index(MASK, anchor)
    p, plain = prior(d, MASK), prior.others(drop(d, a), EVERY[:, :4])
    for i, index in enumerate(a.tolist()):
        steps = [t for t in range(5) if t != index]
        torch.testing.assert_close(p.mean[i, steps], plain.mean[i])
        assert (p.mean[i, index] == 0).all()


@pytest.mark.parametrize("anchor", ANCHORS)
@pytest.mark.parametrize("length", [1, 2, 5])
def test_a_rollout_has_a_zero_at_the_anchor(anchor: str, length: int):
    d = AnchoredPrior(2, 4, 1, anchor=anchor).rollout(3, length)
    at = {"first": 0, "middle": length // 2, "last": length - 1}[anchor]
    assert d.shape == (3, length, 2)
    assert [bool((d[:, t] == 0).all()) for t in range(length)] == [t == at for t in range(length)]


@pytest.mark.parametrize("subtract", ["after", "off"])
def test_an_inferred_d_at_the_anchor_follows_the_other_elements(subtract: str):
    torch.manual_seed(0)
    net = AnchoredPosterior(4, (3, 2), 8, anchor="first", subtract=subtract, anchor_code="inferred")
    h, mask = torch.randn(2, 5, 4), torch.ones(2, 5, dtype=torch.bool)
    out = net.tracker(h * torch.tensor([0.0, 1, 1, 1, 1])[:, None])[0]
    s_tilde = net.summary(h[:, :1]) if subtract == "after" else 0.0
    torch.testing.assert_close(net(h, mask).d.mean, net.dynamic_head(out - s_tilde).mean)
    other = h.clone()
    other[:, 3] += 1.0
    moved = net(other, mask).d.mean[:, 0] - net(h, mask).d.mean[:, 0]
    assert (moved.abs() > 1e-4).any()
