import math

import pytest
import torch

from tests.conformance.toys import KINDS, pad, toy_batch, toy_method, toy_spec
from unbraid.methods.baselines.mocogan import MoCoGAN, MoCoGANConfig
from unbraid.methods.store import load_model, save_model
from unbraid.nets import NetConfig, encoder_for
from unbraid.nets.critic import StepCritic
from unbraid.objectives.adversarial import gradient_penalty
from unbraid.training.module import parameter_groups


def test_critics_that_know_nothing_cost_two_bits_and_generators_one():
    method = toy_method("mocogan", "audio")
    with torch.no_grad():
        for critic in (method.step_critic, method.sequence_critic):
            critic.head[-1].weight.zero_()
            critic.head[-1].bias.zero_()
    terms = {name: value.item() for name, (_, value) in method.loss(toy_batch("audio"), 0).items()}
    for place in ("step", "sequence"):
        assert terms[f"critic_{place}"] == pytest.approx(2 * math.log(2))
        assert terms[f"adversarial_{place}"] == pytest.approx(math.log(2))


@pytest.mark.parametrize("kind", KINDS)
def test_each_row_moves_its_own_player_only(kind):
    """Generator rows move decoder and motion, critic rows critics, inference the encoder."""
    method = toy_method("mocogan", kind)
    parts = {
        "adversarial": [*method.decoder.parameters(), *method.motion.parameters()],
        "critic": parameter_groups(method)[1],
        "inference": [*method.encoder.parameters(), *method.posterior.parameters()],
    }
    terms = method.loss(toy_batch(kind), 0)
    for name in list(terms)[:-1]:  # the last, reconstruction, has no gradient
        method.zero_grad()
        terms[name][1].backward(retain_graph=True)
        for part, members in parts.items():
            moved = any(p.grad is not None and p.grad.abs().max() > 0 for p in members)
            assert moved is name.startswith(part), (name, part)
    assert not terms["reconstruction"][1].requires_grad


def test_the_inference_net_learns_the_codes_of_samples():
    method, batch = toy_method("mocogan", "audio"), toy_batch("audio")
    optimizer = torch.optim.Adam(method.parameters(), 1e-2)
    torch.manual_seed(0)
    values = []
    for step in range(60):
        optimizer.zero_grad()
        value = method.loss(batch, step)["inference"][1]
        value.backward()
        optimizer.step()
        values.append(value.item())
    assert sum(values[-10:]) < 0.9 * sum(values[:10])


def test_means_are_paths_without_noise_after_their_start():
    method = toy_method("mocogan", "video")
    torch.manual_seed(0)
    one = method.sample(3, 4, means=True)
    torch.manual_seed(0)
    other = method.sample(3, 4)
    assert torch.equal(one.s, other.s)
    assert not torch.equal(one.d, other.d)


def test_the_penalty_is_half_the_squared_slope_of_a_critic():
    x = torch.tensor([[[3.0], [1.0]], [[0.0], [2.0]]], requires_grad=True)  # (B, T, F)
    logits = (x * torch.tensor([[[2.0], [1.0]]])).sum((1, 2))
    assert gradient_penalty(logits, x).item() == pytest.approx((2.0**2 + 1.0**2) / 2)
    with torch.no_grad():
        assert gradient_penalty(logits, x).item() == 0


def test_the_penalty_of_logits_of_steps_is_a_mean_over_the_steps_that_have_one():
    x = torch.ones(2, 3, 1, requires_grad=True)
    valid = torch.tensor([[True, True, False], [True, False, False]])
    logits = 2.0 * x[..., 0] * valid
    assert gradient_penalty(logits, x, valid).item() == pytest.approx(2.0**2 / 2)


@pytest.mark.parametrize("kind", KINDS)
def test_the_penalty_moves_critics_only_and_validation_does_without_it(kind):
    method, batch = toy_method("mocogan", kind, w_gradient_penalty=2.0), toy_batch(kind)
    weight, value = method.loss(batch, 0)["gradient_penalty"]
    assert weight == 2.0
    assert value.item() > 0
    value.backward()
    moved = {name.split(".")[0] for name, p in method.named_parameters() if p.grad is not None}
    assert moved == {"step_critic", "sequence_critic"}
    with torch.inference_mode():
        assert method.eval().loss(batch, 0)["gradient_penalty"][1].item() == 0


@pytest.mark.parametrize("kind", KINDS)
def test_the_critic_of_steps_sees_as_many_steps_of_every_sequence_as_it_is_told(kind, monkeypatch):
    method, batch = toy_method("mocogan", kind, critic_steps=2), toy_batch(kind)
    masks = []
    forward = StepCritic.forward
    monkeypatch.setattr(
        StepCritic, "forward", lambda self, x: masks.append(x.mask) or forward(self, x)
    )
    method.loss(batch, 0)
    assert len(masks) == 3  # for the generator; real and generated steps for the critic
    for mask in masks:
        assert torch.equal(mask.sum(1), batch.mask.sum(1).clamp(max=2))
        assert not (mask & ~batch.mask).any()


def test_the_critic_of_steps_sees_whole_pixels_where_the_encoder_looks_at_shrunk_frames():
    net = NetConfig(channels=(4, 8), features=8, hidden=8, shrink=2)
    method = MoCoGAN(toy_spec("video"), MoCoGANConfig(net=net))
    assert method.step_critic.encoder.shrink == 1
    assert method.encoder.shrink == method.sequence_critic.encoder.shrink == 2


def test_a_model_whose_critic_of_steps_saw_shrunk_frames_is_read(tmp_path):
    net = NetConfig(channels=(4, 8), features=8, hidden=8, shrink=2)
    method = MoCoGAN(toy_spec("video"), MoCoGANConfig(net=net)).eval()
    method.step_critic = StepCritic(encoder_for(toy_spec("video"), net), net.hidden)
    save_model(method, tmp_path)
    read, batch = load_model(tmp_path), toy_batch("video")
    with torch.no_grad():
        assert torch.equal(read.encode(batch).s, method.encode(batch).s)


def test_a_negative_number_of_steps_is_refused():
    with pytest.raises(ValueError, match="critic_steps must not be negative"):
        MoCoGANConfig(critic_steps=-1)


def test_a_drawn_category_is_one_of_the_last_numbers_of_d_at_every_step():
    method = toy_method("mocogan", "video", categories=3)
    torch.manual_seed(0)
    d = method.sample(50, 4).d
    category = d[..., 1:]  # of 4
    assert d.shape == (50, 4, 4)
    assert torch.equal(category, category[:, :1].expand_as(category))
    assert torch.equal(category[:, 0].sort(1).values, torch.tensor([[0.0, 0.0, 1.0]]).repeat(50, 1))
    assert set(category[:, 0].argmax(1).tolist()) == {0, 1, 2}


@pytest.mark.parametrize("kind", KINDS)
def test_generator_and_critic_learn_the_category_each_by_a_row_of_its_own(kind):
    method = toy_method("mocogan", kind, categories=3, w_category=0.5)
    terms = method.loss(toy_batch(kind), 0)
    for name, part in (("category", "decoder"), ("critic_category", "sequence_critic")):
        method.zero_grad()
        weight, value = terms[name]
        value.backward(retain_graph=True)
        moved = {n.split(".")[0] for n, p in method.named_parameters() if p.grad is not None}
        assert weight == 0.5
        assert moved - {"motion"} == {part}  # the path is drawn by the generator, too


def test_logits_of_a_category_do_not_see_padded_steps():
    method, batch = toy_method("mocogan", "audio", categories=3).eval(), toy_batch("audio")
    with torch.no_grad():
        one, other = method.sequence_critic(batch)[1], method.sequence_critic(pad(batch, 2))[1]
    assert torch.allclose(one, other, atol=1e-6)


def test_categories_leave_a_path():
    with pytest.raises(ValueError, match="fewer than dynamic_dim = 4, got 4"):
        MoCoGANConfig(dynamic_dim=4, categories=4)


def test_negative_noise_is_refused():
    with pytest.raises(ValueError, match="instance_noise must not be negative"):
        MoCoGANConfig(instance_noise=-1.0)
