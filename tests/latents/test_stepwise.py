import math

import pytest
import torch

from tests.conformance.toys import KINDS, NET, toy_spec
from unbraid.latents.stepwise import mean_over_steps, varying
from unbraid.nets import decoder_for
from unbraid.records import Codes, Gaussian


def test_the_mean_of_two_steps_has_half_their_variance_and_padding_does_not_count():
    q = Gaussian(torch.tensor([[[1.0], [3.0], [50.0]]]), torch.zeros(1, 3, 1))
    s = mean_over_steps(q, torch.tensor([[True, True, False]]))
    assert s.mean.item() == 2.0
    assert s.log_var.item() == pytest.approx(math.log(0.5))


@pytest.mark.parametrize("kind", KINDS)
def test_a_decoder_treats_a_static_part_that_varies_like_one_that_does_not(kind):
    decoder = decoder_for(toy_spec(kind), NET, 10).eval()
    s, d = torch.randn(3, 6), torch.randn(3, 5, 4)
    constant = decoder(Codes(s, d)).mean
    joined = varying(s[:, None].expand(-1, 5, -1), d)
    assert joined.s.shape == (3, 0)
    torch.testing.assert_close(decoder(joined).mean, constant)
