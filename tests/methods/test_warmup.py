import pytest
import torch

from tests.conformance.toys import toy_batch, toy_method

NAMES = ["dsvae", "cdsvae", "spyl"]


@pytest.mark.parametrize("name", NAMES)
def test_the_weight_of_s_rises_after_the_warm_up_of_d_in_twice_its_time(name: str):
    method = toy_method(name, "video", w_kl_static=0.5, kl_static_rise=4.0, kl_warmup_steps=100)
    weights = [method.kl_static_weight(step) for step in (0, 100, 200, 300, 900)]
    assert weights == pytest.approx([0.5, 0.5, 1.0, 2.0, 2.0])


@pytest.mark.parametrize("name", NAMES)
def test_without_a_warm_up_the_weight_of_s_is_constant(name: str):
    method = toy_method(name, "video", w_kl_static=0.5, kl_static_rise=4.0)
    assert [method.kl_static_weight(step) for step in (0, 500)] == [0.5, 0.5]


@pytest.mark.parametrize("name", NAMES)
def test_s_is_read_from_few_steps_once_d_is_warm(name: str):
    method = toy_method(name, "video", posterior="pooled", static_steps=1, kl_warmup_steps=10)
    method.train()
    read = []
    for step in (9, 10):
        method.loss(toy_batch("video"), step)
        read.append(method.posterior.static_steps)
    assert read == [0, 1]


@pytest.mark.parametrize("name", NAMES)
def test_a_rise_must_be_positive(name: str):
    with pytest.raises(ValueError, match="kl_static_rise must be positive, got 0"):
        toy_method(name, "video", kl_static_rise=0.0)


@pytest.mark.parametrize("name", NAMES)
def test_a_limited_rise_goes_back_to_its_safe_part_when_the_kl_of_d_grows(name: str):
    method = toy_method(name, "video", kl_static_rise=32.0, kl_static_safe=8.0, kl_warmup_steps=10)
    limit = method.rise_limit
    observations = [(2.0, 10.0), (4.0, 40.0), (8.0, 30.0), (16.0, 22.0), (20.0, 24.0)]
    for factor, kl in observations:
        assert limit(32.0) == 32.0  # the low KL before the safe factor does not count
        for _ in range(400):  # as many as the running mean needs to follow
            limit.observe(torch.tensor(kl), factor)
    assert [limit(factor) for factor in (4.0, 32.0)] == [4.0, 8.0]
    assert method.kl_static_weight(10_000) == 8.0 * method.config.w_kl_static


@pytest.mark.parametrize("name", NAMES)
def test_a_limited_rise_is_whole_while_the_kl_of_d_does_not_grow(name: str):
    method = toy_method(name, "video", kl_static_rise=32.0, kl_static_safe=8.0, kl_warmup_steps=10)
    for kl in (30.0, 30.4, 29.8, 30.4):
        for _ in range(100):
            method.rise_limit.observe(torch.tensor(kl), 20.0)
    assert method.rise_limit(32.0) == 32.0


@pytest.mark.parametrize("name", NAMES)
def test_only_training_steps_move_the_limit_of_the_rise(name: str):
    method = toy_method(name, "video", kl_static_rise=32.0, kl_static_safe=8.0, kl_warmup_steps=10)
    method.eval()
    method.loss(toy_batch("video"), 100)
    assert method.rise_limit.mean.isinf()
    method.train()
    method.loss(toy_batch("video"), 100)
    assert method.rise_limit.mean.isfinite()


@pytest.mark.parametrize("safe", [-1.0, 0.5])
def test_the_safe_part_of_a_rise_is_none_or_at_least_the_weight_itself(safe: float):
    with pytest.raises(ValueError, match="kl_static_safe"):
        toy_method("dsvae", "video", kl_static_rise=4.0, kl_static_safe=safe)


@pytest.mark.parametrize("name", NAMES)
def test_without_a_warm_up_there_is_nothing_to_limit(name: str):
    method = toy_method(name, "video", kl_static_rise=32.0, kl_static_safe=8.0, kl_warmup_steps=0)
    method.train()
    method.loss(toy_batch("video"), 0)
    assert method.kl_static_weight(10_000) == method.config.w_kl_static
