"""The number format networks compute with: fp32, or bf16 where the hardware multiplies it natively.

In bf16, matrix products, convolutions and recurrent nets run in bf16 on fp32 weights (automatic
mixed precision). Posteriors, decoded values and all loss terms are fp32 or double.
"""

from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import Concatenate, Literal, ParamSpec, TypeVar

import torch
from torch import nn

Precision = Literal["auto", "fp32", "bf16"]
Format = Literal["fp32", "bf16"]

inference_precision: ContextVar[Precision] = ContextVar("inference_precision", default="auto")
"""The precision in which trained models run: encoding, decoding, judging."""
P = ParamSpec("P")
R = TypeVar("R")
M = TypeVar("M", bound=nn.Module)


def native_bf16(device: torch.device) -> bool:
    """Say whether a device multiplies bf16 in hardware; emulated, it was 27 times slower."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device.type != "cpu":
        return False
    return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()


def number_format(precision: Precision, device: torch.device | str, kind: str) -> Format:
    """Return the format that a setting means on a device, for a kind of data.

    The nets of series are so small that bf16 saves nothing on a CPU: a step of dsvae on PhysioNet
    takes 1.2 times as long, and twice the batch just as long.
    """
    if precision != "auto":
        return precision
    device = torch.device(device)
    small = kind == "series" and device.type == "cpu"
    return "bf16" if native_bf16(device) and not small else "fp32"


def inference_format(model: nn.Module) -> Format:
    """Return the format in which a trained model, with a `spec`, runs where it is."""
    device, kind = next(model.parameters()).device, model.spec.kind  # type: ignore[union-attr]
    return number_format(inference_precision.get(), device, kind)  # type: ignore[arg-type]


def inference(function: Callable[Concatenate[M, P], R]) -> Callable[Concatenate[M, P], R]:
    """Run a function of a model without gradient, in the precision of `inference_precision`."""

    @wraps(function)
    def run(model: M, /, *args: P.args, **kwargs: P.kwargs) -> R:
        device = next(model.parameters()).device
        with torch.inference_mode(), autocast(device, inference_format(model)):
            return function(model, *args, **kwargs)

    return run


def autocast(device: torch.device, format_: Format) -> torch.autocast:
    """Return a context in which networks compute in a format."""
    return torch.autocast(device.type, torch.bfloat16, enabled=format_ == "bf16")
