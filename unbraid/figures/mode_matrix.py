"""Which Koopman mode tells which factor."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from unbraid.figures.style import INK, MUTED, panels, write_share

if TYPE_CHECKING:
    import matplotlib.figure


def mode_matrix(
    names: Sequence[str], shares: Mapping[str, Sequence[float]]
) -> "matplotlib.figure.Figure":
    """Draw a row per mode and a column per factor; darker tells more.

    Args:
        names: of the modes.
        shares: factor -> share of the way from chance to certainty, a number per mode.
    """
    values = np.clip(np.array(list(shares.values())).T.reshape(len(names), -1), 0.0, 1.0)
    figure, (axis,) = panels(1, 1, width=2.5 + 0.6 * len(shares), height=1.2 + 0.2 * len(names))
    axis.imshow(values, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
    for (line, column), share in np.ndenumerate(values):
        write_share(axis, column, line, share, size=6)
    axis.set_xticks(range(len(shares)), list(shares), rotation=30, ha="left")
    axis.set_yticks(range(len(names)), list(names))
    axis.xaxis.tick_top()
    axis.tick_params(colors=INK, labelsize=7, length=0)
    axis.spines[:].set_visible(False)
    axis.set_xlabel("% of the way from chance to certainty", fontsize=7, color=MUTED)
    return figure
