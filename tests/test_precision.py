import pytest
import torch
from torch import nn

from unbraid import precision
from unbraid.latents.recurrent import GaussianHead
from unbraid.objectives.mutual import info_nce
from unbraid.precision import autocast, inference, inference_precision, number_format
from unbraid.records import Spec

CPU = torch.device("cpu")


class Product(nn.Linear):
    spec = Spec(name="toy", kind="audio", frame=(3,), length=4)


@inference
def product(model: Product, x: torch.Tensor) -> torch.Tensor:
    return model(x)


@pytest.mark.parametrize(("native", "wanted"), [(True, "bf16"), (False, "fp32")])
def test_auto_is_bf16_only_where_it_is_native(monkeypatch, native, wanted):
    monkeypatch.setattr(precision, "native_bf16", lambda device: native)
    assert number_format("auto", "cpu", "video") == wanted
    assert number_format("fp32", "cpu", "video") == "fp32"
    assert number_format("bf16", "cpu", "video") == "bf16"


def test_small_nets_of_series_stay_in_fp32_on_a_cpu(monkeypatch):
    monkeypatch.setattr(precision, "native_bf16", lambda device: True)
    assert number_format("auto", "cpu", "series") == "fp32"
    assert number_format("bf16", "cpu", "series") == "bf16"


@pytest.mark.parametrize(("chosen", "dtype"), [("fp32", torch.float32), ("bf16", torch.bfloat16)])
def test_a_model_in_use_computes_in_the_chosen_precision(chosen, dtype):
    token = inference_precision.set(chosen)
    try:
        out = product(Product(3, 2), torch.rand(4, 3))
    finally:
        inference_precision.reset(token)
    assert out.dtype == dtype
    assert out.is_inference()


def test_posteriors_are_fp32_and_as_exact_as_their_features():
    head, h = GaussianHead(8, 3), torch.randn(5, 8)
    plain = head(h)
    with autocast(CPU, "bf16"):
        mixed = head(h)
    assert torch.equal(plain.mean, mixed.mean)
    assert torch.equal(plain.log_var, mixed.log_var)


def test_similarities_are_not_rounded_to_bf16():
    a, b = torch.randn(6, 8), torch.randn(6, 8)
    plain = info_nce(a, b, temperature=0.5)
    with autocast(CPU, "bf16"):
        assert torch.equal(info_nce(a, b, temperature=0.5), plain)
