"""The same motion by somebody else: another crop, other colours, another sharpness.

C-DSVAE's motion view (Bai et al., NeurIPS 2021): SimCLR's three distortions, drawn once per
sequence and applied to all its frames alike. Cropping, resizing and blurring along the image axes
are linear in rows and in columns, colour jitter is linear in RGB: each is one batched matrix
product, several times faster than kornia's general transforms on a CPU (see `distort`).
"""

import math
from typing import Literal

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor

from unbraid.records import Batch
from unbraid.shapes import check_axes

AREA = (0.6, 1.0)  # of the crop; SimCLR's 0.08 would lose the limbs that move
ASPECT = (3 / 4, 4 / 3)
SIGMA = (0.1, 1.0)  # of the blur, in pixels of a 64-pixel frame
GREY_SHARE = 0.2
STRENGTH = 0.5  # of the colours, s of SimCLR
LUMA = (0.299, 0.587, 0.114)
TO_YIQ = (LUMA, (0.595716, -0.274453, -0.321263), (0.211456, -0.522591, 0.311135))

Video = Float[Tensor, "B T C H W"]


@torch.no_grad()
def distort(
    x: Float[Tensor, "B T C H W"],
    *,
    strength: float = STRENGTH,
    backend: Literal["tensor", "kornia"] = "tensor",
) -> Float[Tensor, "B T C H W"]:
    """Return another look at each sequence, the same for all its frames, values in [0, 1].

    Args:
        x: values in [0, 1]; with other than 3 channels the colours stay.
        strength: of the colours, s of SimCLR: brightness, contrast and saturation are changed by
            a factor in 1 ± 0.8 s, hue by a turn of ± 0.2 s; a fifth of the sequences turn grey.
        backend: `kornia` draws from the same ranges with its own transforms (hue in HSV, jitter in
            random order) and needs `unbraid[video]`. For 64 sequences of 8 x 3 x 64 x 64 on two
            CPU cores it takes about 280 ms, `tensor` about 65 ms.
    """
    check_axes("x", x.shape, "B T C H W")
    if not 0 <= strength <= 1:
        raise ValueError(f"strength must lie between 0 and 1, got {strength}.")
    return _kornia(x, strength) if backend == "kornia" else _distorted(x, strength)


@torch.no_grad()
def video_view(batch: Batch) -> Batch:
    """Return the sequences with another crop, other colours and another sharpness."""
    return batch.with_x(_distorted(batch.x, STRENGTH))


@torch.no_grad()
def kornia_view(batch: Batch) -> Batch:
    """Return the same view, made by kornia."""
    return batch.with_x(_kornia(batch.x, STRENGTH))


def _distorted(x: Video, strength: float) -> Video:
    rows, columns = _crop_and_blur(x)
    x = rows[:, None, None] @ x @ columns[:, None, None].mT
    if x.shape[2] == 3:
        x = _recolour(x, strength)
    return x.clamp(0, 1)


def _uniform(x: Tensor, low: float, high: float) -> Float[Tensor, " B"]:
    """Draw one number per sequence."""
    return low + (high - low) * torch.rand(len(x), device=x.device, dtype=x.dtype)


def _crop_and_blur(x: Video) -> tuple[Float[Tensor, "B H H"], Float[Tensor, "B W W"]]:
    """Return the matrices that crop, resize and blur along rows and along columns."""
    side = _uniform(x, *AREA).sqrt()
    stretch = (0.5 * _uniform(x, *(math.log(a) for a in ASPECT))).exp()
    sigma = _uniform(x, *SIGMA) * (x.shape[-1] / 64)
    rows = _axis_matrix(x, x.shape[-2], (side / stretch).clamp(max=1), sigma)
    return rows, _axis_matrix(x, x.shape[-1], (side * stretch).clamp(max=1), sigma)


def _axis_matrix(
    x: Video, size: int, share: Float[Tensor, " B"], sigma: Float[Tensor, " B"]
) -> Float[Tensor, "B N N"]:
    """Return blur @ resize for one axis: a share of it, at a random place, fills all of it.

    resize[i, j] = max(0, 1 − |p_i − j|) at source positions p_i, as bilinear sampling has it;
    blur[i, j] ∝ exp(−(i − j)² / 2σ²), whose rows sum to one also at the border.
    """
    pixel = torch.arange(size, device=x.device, dtype=x.dtype)
    start = _uniform(x, 0.0, 1.0) * (1 - share) * size
    position = start[:, None] + (pixel + 0.5) * share[:, None] - 0.5  # (B, N)
    position = position.clamp(0, size - 1)
    resize = (1 - (position[..., None] - pixel).abs()).clamp(min=0)
    distance = (pixel[:, None] - pixel) ** 2
    blur = (-distance / (2 * sigma[:, None, None] ** 2)).softmax(-1)
    return blur @ resize


def _recolour(x: Video, strength: float) -> Video:
    """Change brightness, contrast, saturation and hue by one matrix and offset per sequence.

    In YIQ: hue turns (I, Q), saturation scales them, brightness and contrast scale all three;
    contrast is around the mean luma of the first frame, which is never padding.
    """
    spread = 0.8 * strength
    brightness, contrast, saturation = (_uniform(x, 1 - spread, 1 + spread) for _ in range(3))
    saturation = torch.where(_uniform(x, 0.0, 1.0) < GREY_SHARE * (strength > 0), 0.0, saturation)
    angle = 2 * math.pi * _uniform(x, -0.2 * strength, 0.2 * strength)
    cos, sin, one, nil = angle.cos(), angle.sin(), torch.ones_like(angle), torch.zeros_like(angle)
    turn = torch.stack([one, nil, nil, nil, cos, -sin, nil, sin, cos], dim=-1).unflatten(1, (3, 3))
    scale = torch.stack([one, saturation, saturation], dim=-1)[..., None]
    to_yiq = x.new_tensor(TO_YIQ)
    matrix = (brightness * contrast)[:, None, None] * (to_yiq.inverse() @ (scale * turn) @ to_yiq)
    luma = torch.einsum("bchw,c->b", x[:, 0], x.new_tensor(LUMA)) / x[0, 0, 0].numel()
    offset = (1 - contrast) * brightness * luma
    changed = matrix[:, None] @ rearrange(x, "B T C H W -> B T C (H W)")
    return (changed + offset[:, None, None, None]).unflatten(-1, x.shape[-2:])


def _kornia(x: Video, strength: float) -> Video:
    """Distort by kornia's transforms."""
    try:
        from kornia import augmentation as K
    except ImportError:
        raise ImportError("backend 'kornia' needs kornia: pip install 'unbraid[video]'.") from None
    spread, sigma = 0.8 * strength, tuple(s * x.shape[-1] / 64 for s in SIGMA)
    steps = [K.RandomResizedCrop(tuple(x.shape[-2:]), scale=AREA, ratio=ASPECT)]
    if x.shape[2] == 3 and strength > 0:
        steps += [K.ColorJitter(spread, spread, spread, 0.2 * strength, p=1.0)]
        steps += [K.RandomGrayscale(p=GREY_SHARE)]
    steps += [K.RandomGaussianBlur((5, 5), sigma, p=1.0)]
    sequence = K.VideoSequential(*steps, data_format="BTCHW", same_on_frame=True)
    return sequence(x).clamp(0, 1)
