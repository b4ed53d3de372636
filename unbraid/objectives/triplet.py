"""The triplet term: nearer to a view of itself than to another sequence, by a margin."""

from jaxtyping import Float
from torch import Tensor

from unbraid.parallel.gather import gather
from unbraid.records import Scalar


def triplet(anchor: Float[Tensor, "B K"], view: Float[Tensor, "B K"], *, margin: float) -> Scalar:
    """Return E max(0, ‖a − a⁺‖ − ‖a − a⁻‖ + m), mean over the batch; less is better.

    a⁺ is the view of the same sequence, a⁻ the code of the next one in the batch, that of all
    processes if several share it.
    """
    anchor, view = gather((anchor, view))
    near, far = (anchor - view).norm(dim=1), (anchor - anchor.roll(-1, 0)).norm(dim=1)
    return (near - far + margin).clamp(min=0).mean()
