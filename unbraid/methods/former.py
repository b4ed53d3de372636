"""Names and settings of earlier versions: old runs, presets and commands are read as new ones.

Before `placed` was a method, it was `dsvae` with `posterior = "placed"`, and the sizes of its
patches (`stamps`, `stamp_side`) stood in the `net` of every method. The critic of steps of
`mocogan` once saw frames as `net.shrink` makes them.
"""

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from unbraid.settings import Table

PLACED = {"stamps": "patches", "stamp_side": "patch_side"}  # of `net` -> of `placed`


def successor(name: str, settings: Mapping[str, Any]) -> str:
    """Return the name that a method with these settings has now.

    >>> successor("dsvae", {"posterior": "placed"}), successor("dsvae", {"posterior": "full"})
    ('placed', 'dsvae')
    """
    return "placed" if name == "dsvae" and settings.get("posterior") == "placed" else name


def preset_successor(name: str, methods: set[str]) -> str:
    """Return the method whose preset is meant, of those that have one."""
    return "placed" if name == "dsvae" and name not in methods and "placed" in methods else name


def convert_settings(settings: Mapping[str, Any], before: str, after: str) -> Table:
    """Return settings of the method `before` as the method `after` has them now.

    >>> convert_settings({"posterior": "placed", "net": {"stamps": 3}}, "dsvae", "placed")
    {'net': {}, 'patches': 3}
    """
    table, net = dict(settings), settings.get("net")
    if isinstance(net, Mapping):
        table["net"] = {key: value for key, value in net.items() if key not in PLACED}
        if after == "placed":
            table |= {PLACED[key]: value for key, value in net.items() if key in PLACED}
    dropped = ("posterior", "static_steps", "kl_static_safe") if before != after else ()
    return {key: value for key, value in table.items() if key not in dropped}


def convert_weights(weights: Mapping[str, Tensor], method: nn.Module) -> dict[str, Tensor]:
    """Return weights as the method has them now.

    A critic of steps with other sizes is left as `method` has it, untrained: only training needs
    critics.
    """
    new = method.state_dict()
    size = "step_critic.encoder.head.0.weight"
    if size in weights and size in new and weights[size].shape != new[size].shape:
        own = {name: value for name, value in new.items() if name.startswith("step_critic.")}
        return {**weights, **own}
    return dict(weights)
