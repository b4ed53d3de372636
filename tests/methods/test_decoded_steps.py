import pytest
import torch
from torch import nn

from tests.conformance.toys import LENGTHS, toy_batch, toy_method
from unbraid.latents.recurrent import some_steps
from unbraid.methods.base import frozen_statistics
from unbraid.records import Batch, Codes


def test_drawn_steps_exist_and_are_as_many_as_asked_for():
    mask = toy_batch("video").mask
    drawn = some_steps(mask, 2)
    assert (drawn <= mask).all()
    assert drawn.sum(1).tolist() == [min(2, n) for n in LENGTHS]


def test_every_step_is_drawn_equally_often():
    torch.manual_seed(0)
    mask = torch.tensor([[True] * 4 + [False] * 2])
    share = some_steps(mask.expand(4000, -1), 3).float().mean(0)
    assert torch.allclose(share, torch.tensor([0.75] * 4 + [0.0] * 2), atol=0.03)


@pytest.mark.parametrize("name", ["dsvae", "dbse", "glr"])  # the others have the code of dsvae
def test_the_sum_over_drawn_steps_stands_for_all(name, monkeypatch):
    """With errors that do not depend on other steps, the mean of many draws is the full sum."""
    batch = toy_batch("video")
    few, full = (toy_method(name, "video", decoded_steps=k).train() for k in (2, 0))
    few.load_state_dict(full.state_dict())
    for method in (few, full):
        for norm in method.modules():
            if isinstance(norm, nn.modules.batchnorm._BatchNorm):
                norm.eval()
    z = full.infer(batch)[1].mean
    with torch.no_grad(), frozen_statistics(few, full):
        wanted = full.errors(z, batch).sum(1)
        torch.manual_seed(0)
        many = Batch(batch.x.repeat(40, 1, 1, 1, 1), batch.mask.repeat(40, 1))
        copies = Codes(z.s.repeat(40, 1), z.d.repeat(40, 1, 1))  # 40 draws in one call
        draws = [few.errors(copies, many).sum(1).unflatten(0, (40, -1)) for _ in range(10)]
        sums = torch.cat(draws)  # (400, B)
    spread = sums.std(0) / 20
    assert ((sums.mean(0) - wanted).abs() <= 4 * spread + 1e-3 * wanted).all()
    assert (sums.std(0) > 0).any()


def test_only_the_drawn_steps_are_decoded_and_all_of_them_in_evaluation(monkeypatch):
    method, batch = toy_method("cdsvae", "video", decoded_steps=1), toy_batch("video")
    frames, decode = [], method.decoder._decode
    monkeypatch.setattr(method.decoder, "_decode", lambda x: frames.append(len(x)) or decode(x))
    method.train().loss(batch, 0)
    method.eval().loss(batch, 0)
    assert frames == [len(LENGTHS), sum(LENGTHS)]


def test_dbse_always_draws_its_anchor_which_counts_for_itself_alone():
    method, batch = toy_method("dbse", "video", decoded_steps=1), toy_batch("video")
    weights = {}

    class Ones(nn.Module):
        def forward(self, codes, mask):
            weights["shown"] = mask
            return method_decoder(codes, mask)

    method_decoder = method.decoder
    method.decoder = Ones()
    method.train().loss(batch, 0)
    assert weights["shown"][:, 0].all()
    assert weights["shown"].sum(1).tolist() == [min(2, n) for n in LENGTHS]


def test_series_and_sound_decode_every_step():
    """Their decoders run over time, so no step can be left out."""
    for kind in ("series", "audio"):
        method, batch = toy_method("dsvae", kind, decoded_steps=1).train(), toy_batch(kind)
        z = method.infer(batch)[1].mean
        errors = method.errors(z, Batch(batch.x, batch.mask, batch.observed))
        assert ((errors != 0) == batch.mask).all()
