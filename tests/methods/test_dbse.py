import pytest
import torch

from tests.conformance.toys import LENGTHS, toy_batch, toy_method
from unbraid.methods.dbse import DBSEConfig
from unbraid.nets import NetConfig
from unbraid.records import Codes

ANCHORS = {
    "first": [0] * 6,
    "middle": [n // 2 for n in LENGTHS],
    "last": [n - 1 for n in LENGTHS],
}


@pytest.mark.parametrize("anchor", ANCHORS)
def test_the_static_loss_is_the_anchor_s_share_of_one_decoding(
    anchor: str, monkeypatch: pytest.MonkeyPatch
):
    method, batch = toy_method("dbse", "video", anchor=anchor).eval(), toy_batch("video")
    q = method.infer(batch)[1]
    torch.manual_seed(0)
    z = q.sample()
    for i, a in enumerate(ANCHORS[anchor]):
        z.d[i, a] = 0.0
    x_hat = method.decode(z)
    still = moving = 0.0
    for i, length in enumerate(LENGTHS):
        for t in range(length):
            error = ((batch.x[i, t] - x_hat[i, t]) ** 2).sum().item()
            still += error if t == ANCHORS[anchor][i] else 0.0
            moving += error if t != ANCHORS[anchor][i] else 0.0
    calls, forward = [], method.decoder.forward
    monkeypatch.setattr(method.decoder, "forward", lambda *a: calls.append(a) or forward(*a))
    torch.manual_seed(0)
    terms = method.loss(batch, 0)
    assert len(calls) == 1
    assert terms["reconstruction"][1].item() == pytest.approx(moving / 6, rel=1e-5)
    assert terms["static_reconstruction"][1].item() == pytest.approx(still / 6, rel=1e-5)


def test_the_anchor_is_decoded_from_s_alone():
    method, batch = toy_method("dbse", "audio").eval(), toy_batch("audio")
    z = method.encode(batch)
    assert (z.d[:, 0] == 0).all()
    alone = method.decode(Codes(z.s, torch.zeros(6, 1, 4)))
    torch.testing.assert_close(method.decode(z)[:, :1], alone)


def test_kl_of_d_is_summed_over_the_moving_steps():
    method, batch = toy_method("dbse", "series", anchor="middle"), toy_batch("series")
    q = method.infer(batch)[1]
    torch.manual_seed(0)
    z = q.sample()
    for i, a in enumerate(ANCHORS["middle"]):
        z.d[i, a] = 0.0
    p = method.prior(z.d, batch.mask)
    wanted = 0.0
    for i, length in enumerate(LENGTHS):
        for t in set(range(length)) - {ANCHORS["middle"][i]}:
            normals = (
                torch.distributions.Normal(g.mean[i, t], (0.5 * g.log_var[i, t]).exp())
                for g in (q.d, p)
            )
            wanted += torch.distributions.kl_divergence(*normals).sum().item() / 6
    torch.manual_seed(0)
    assert method.loss(batch, 0)["kl_dynamic"][1].item() == pytest.approx(wanted, rel=1e-5)


def test_without_the_static_loss_its_row_and_the_anchor_are_gone():
    method, batch = toy_method("dbse", "video", static_loss=False).eval(), toy_batch("video")
    terms = method.loss(batch, 0)
    assert list(terms) == ["reconstruction", "kl_static", "kl_dynamic"]
    q = toy_method("dbse", "video").eval()
    torch.manual_seed(0)
    with_it = q.loss(batch, 0)["reconstruction"][1]
    torch.manual_seed(0)
    torch.testing.assert_close(method.loss(batch, 0)["reconstruction"][1], with_it)


@pytest.mark.parametrize("subtract", ["before", "off"])
def test_the_ways_to_subtract_give_other_dynamics_and_the_same_static(subtract: str):
    batch = toy_batch("audio")
    plain = toy_method("dbse", "audio").encode(batch)
    other = toy_method("dbse", "audio", subtract=subtract).encode(batch)
    assert torch.equal(plain.s, other.s)
    assert not torch.allclose(plain.d, other.d)


def test_weights_are_alpha_and_beta_of_table_five():
    terms = toy_method("dbse", "audio").loss(toy_batch("audio"), 0)
    assert [weight for weight, _ in terms.values()] == [1.0, 0.2, 0.2, 0.2]


def test_an_inferred_anchor_is_decoded_twice_with_its_d_and_with_zeros():
    method = toy_method("dbse", "video", anchor_code="inferred").eval()
    batch = toy_batch("video")
    q = method.infer(batch)[1]
    torch.manual_seed(0)
    z = q.sample()
    x_hat, alone = method.decode(z), method.decode(Codes(z.s, torch.zeros_like(z.d)))
    every = anchor = 0.0
    for i, length in enumerate(LENGTHS):
        every += ((batch.x[i, :length] - x_hat[i, :length]) ** 2).sum().item()
        anchor += ((batch.x[i, 0] - alone[i, 0]) ** 2).sum().item()
    torch.manual_seed(0)
    terms = method.loss(batch, 0)
    assert terms["reconstruction"][1].item() == pytest.approx(every / 6, rel=1e-5)
    assert terms["static_reconstruction"][1].item() == pytest.approx(anchor / 6, rel=1e-5)


def test_an_inferred_anchor_wants_an_even_hidden_size():
    with pytest.raises(ValueError, match=r"net\.hidden must be even, got 5\."):
        DBSEConfig(anchor_code="inferred", net=NetConfig(hidden=5))
