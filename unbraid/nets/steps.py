"""Apply a network to every step that exists; fold or freeze its BatchNorm layers."""

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from unbraid.nets.parts import Decoder, Encoder
from unbraid.records import back_in_place, chosen_steps

M = TypeVar("M", bound=nn.Module)


def per_step(
    net: Callable[[Tensor], Tensor], x: Float[Tensor, "B T *F"], mask: Bool[Tensor, "B T"]
) -> Float[Tensor, "B T *G"]:
    """Return `net` of every existing step, zeros elsewhere.

    Padded steps never reach the network: they cost nothing and do not enter its BatchNorm.
    """
    return back_in_place(net(chosen_steps(x, mask)), mask)


def folded(model: M) -> M:
    """Return a copy for inference whose convolutions hold the BatchNorm layers behind them.

    Encoding with wide networks is 1.08 (bf16) to 1.15 times (fp32) faster, with `sprites/fast` 1.01
    to 1.05 times. A model in training is returned as it is: its statistics still move.
    """
    if model.training:
        return model
    copied = copy.deepcopy(model)
    for part in [part for part in copied.modules() if isinstance(part, nn.Sequential)]:
        for i in range(len(part) - 1):
            layer, norm = part[i], part[i + 1]
            if isinstance(layer, nn.Conv2d) and isinstance(norm, nn.BatchNorm2d):
                part[i], part[i + 1] = fuse_conv_bn_eval(layer, norm), nn.Identity()
    return copied


@contextmanager
def frozen_statistics(*parts: Encoder | Decoder) -> Iterator[None]:
    """Normalise by batch statistics as in training, but do not let them move the running ones.

    Used for generated sequences, which must not shift what real data will be normalised by.
    """
    norms = [
        m
        for part in parts
        for m in part.modules()
        if isinstance(m, nn.modules.batchnorm._BatchNorm)
    ]
    states = [(norm, norm.momentum, norm.num_batches_tracked) for norm in norms]
    for norm in norms:
        norm.momentum = 0.0
        norm.num_batches_tracked = None
    try:
        yield
    finally:
        for norm, momentum, tracked in states:
            norm.momentum, norm.num_batches_tracked = momentum, tracked
