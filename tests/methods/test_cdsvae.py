import dataclasses

import pytest
import torch
from torch import nn

from tests.conformance.toys import KINDS, toy_batch, toy_method
from unbraid.methods import cdsvae
from unbraid.methods.cdsvae import CDSVAEConfig
from unbraid.objectives.mutual import info_nce
from unbraid.records import Batch
from unbraid.views.time import reorder, reversed_order, shuffled_order

ELBO = ["reconstruction", "kl_static", "kl_dynamic"]


def rows(kind: str, **settings: str) -> list[str]:
    return list(toy_method("cdsvae", kind, **settings).loss(toy_batch(kind), 0))


@pytest.mark.parametrize("kind", KINDS)
def test_shuffled_features_equal_the_features_of_shuffled_frames(
    kind: str, monkeypatch: pytest.MonkeyPatch
):
    method, batch = toy_method("cdsvae", kind).eval(), toy_batch(kind)
    order = shuffled_order(batch.mask)
    monkeypatch.setattr(cdsvae, "static_order", lambda view, h, mask: reorder(h, order))
    estimate = method.loss(batch, 0)["mi_static"][1]
    observed = None if batch.observed is None else reorder(batch.observed, order)
    shuffled = Batch(reorder(batch.x, order), batch.mask, observed)
    plain = info_nce(method.encode(batch).s, method.encode(shuffled).s, temperature=0.5)
    torch.testing.assert_close(estimate, plain)


def test_the_reversed_view_is_the_sequence_played_backwards():
    method, batch = toy_method("cdsvae", "audio", static_view="reverse"), toy_batch("audio")
    backwards = batch.with_x(reorder(batch.x, reversed_order(batch.mask)))
    plain = info_nce(method.encode(batch).s, method.encode(backwards).s, temperature=0.5)
    torch.testing.assert_close(method.loss(batch, 0)["mi_static"][1], plain)


def test_the_dynamic_view_is_compared_by_trajectories_of_existing_steps():
    method, batch = toy_method("cdsvae", "audio"), toy_batch("audio")
    voices = torch.randn(6, 1, 5, 12)  # with one voice prepared there is no choice
    other = batch.with_x(voices[:, 0])
    flat = [(method.encode(b).d * batch.mask[..., None]).flatten(1) for b in (batch, other)]
    terms = method.loss(dataclasses.replace(batch, alternatives=voices), 0)
    torch.testing.assert_close(terms["mi_dynamic"][1], info_nce(*flat, temperature=0.5))


@pytest.mark.parametrize("kind", KINDS)
def test_all_estimates_can_be_minibatch_weighted(kind: str):
    wanted = [*ELBO, "mi_static", "mi_dynamic", "mi_static_dynamic"]
    assert rows(kind, mi="mws") == wanted


def test_a_view_that_is_switched_off_has_no_row():
    assert rows("video") == [*ELBO, "mi_static", "mi_dynamic", "mi_static_dynamic"]
    assert rows("video", static_view="none") == [*ELBO, "mi_dynamic", "mi_static_dynamic"]
    assert rows("audio", dynamic_view="none") == [*ELBO, "mi_static", "mi_static_dynamic"]


def test_series_have_a_dynamic_view_only_when_asked_for():
    assert "mi_dynamic" not in rows("series")
    assert "mi_dynamic" in rows("series", dynamic_view="scale")


@pytest.mark.parametrize("kind", ["video", "audio"])
def test_scaling_is_refused_where_there_are_no_channels(kind: str):
    with pytest.raises(ValueError, match=f"dynamic_view 'scale' is for series, toy is {kind}"):
        toy_method("cdsvae", kind, dynamic_view="scale")


def test_more_information_about_x_and_less_between_codes_lower_the_loss():
    terms = toy_method("cdsvae", "video", w_nce=2.0, w_mi=3.0).loss(toy_batch("video"), 0)
    weights = {name: weight for name, (weight, _) in terms.items()}
    assert weights == {
        "reconstruction": 1.0,
        "kl_static": 1.0,
        "kl_dynamic": 1.0,
        "mi_static": -2.0,
        "mi_dynamic": -2.0,
        "mi_static_dynamic": 3.0,
    }


def test_settings_that_cannot_work_are_refused():
    with pytest.raises(ValueError, match=r"temperature must be positive, got 0.0\."):
        CDSVAEConfig(temperature=0.0)
    with pytest.raises(ValueError, match=r"static_dim must be at least 1, got 0\."):
        CDSVAEConfig(static_dim=0)
    with pytest.raises(ValueError, match=r"w_nce must not be negative, got -1.0\."):
        CDSVAEConfig(w_nce=-1.0)


def test_augmented_views_do_not_move_running_statistics():
    method, batch = toy_method("cdsvae", "video").train(), toy_batch("video")
    norm = next(m for m in method.encoder.modules() if isinstance(m, nn.BatchNorm2d))
    plain = toy_method("dsvae", "video").train()
    plain.encoder.load_state_dict(method.encoder.state_dict())
    method.loss(batch, 0)
    plain.loss(batch, 0)
    alone = next(m for m in plain.encoder.modules() if isinstance(m, nn.BatchNorm2d))
    assert norm.num_batches_tracked == 1
    torch.testing.assert_close(norm.running_mean, alone.running_mean)
