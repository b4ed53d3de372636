import math

import pytest
import torch
from torch import nn

from unbraid.training.guards import (
    CollapseMonitor,
    NonFiniteLossError,
    check_gradients,
    check_terms,
)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_term_that_is_not_finite_is_named_with_its_step(value: float):
    terms = {"reconstruction": (1.0, torch.tensor(2.0)), "kl_dynamic": (1.0, torch.tensor(value))}
    with pytest.raises(NonFiniteLossError) as error:
        check_terms(terms, 412)
    assert str(error.value) == "Loss is not finite at step 412: kl_dynamic."


def test_finite_terms_pass():
    check_terms({"a": (1.0, torch.tensor(1e30)), "b": (1.0, torch.tensor(-2.0))}, 0)


def test_every_term_that_is_not_finite_is_named():
    nan = torch.tensor(math.nan)
    with pytest.raises(NonFiniteLossError, match=r"step 3: a, c\."):
        check_terms({"a": (1.0, nan), "b": (1.0, torch.tensor(0.0)), "c": (1.0, nan)}, 3)


def test_a_gradient_that_is_not_finite_is_named_with_its_step():
    net = nn.Linear(2, 1)
    net(torch.ones(1, 2)).sum().backward()
    check_gradients(net, 5)
    net.bias.grad[0] = math.nan
    with pytest.raises(NonFiniteLossError, match=r"Gradient is not finite at step 5: bias\."):
        check_gradients(net, 5)


def test_a_collapse_is_said_once_and_so_is_recovery():
    monitor = CollapseMonitor(after=200)
    healthy, dead = {"kl_static": 3.0, "kl_dynamic": 5.0}, {"kl_static": 3.0, "kl_dynamic": 0.04}
    assert monitor.update(100, dead) == []  # too early to say
    assert monitor.update(220, dead) == [
        "d has collapsed at step 220: kl_dynamic is 0.040 nats, so d tells nothing of the input. "
        "Try a smaller method.w_kl_dynamic."
    ]
    assert monitor.update(240, dead) == []
    assert monitor.update(260, {"kl_static": 3.0, "kl_dynamic": 0.15}) == []  # in between
    assert monitor.update(280, healthy) == [
        "d is in use again at step 280: kl_dynamic is 5.00 nats."
    ]
    assert monitor.update(300, healthy) == []
    assert len(monitor.update(320, dead)) == 1


def test_both_codes_can_collapse_at_once():
    said = CollapseMonitor().update(200, {"kl_static": 0.0, "kl_dynamic": 0.0})
    assert [sentence[0] for sentence in said] == ["s", "d"]


def test_a_method_without_these_terms_never_collapses():
    assert CollapseMonitor().update(500, {"reconstruction": 0.0}) == []
