import pytest

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
