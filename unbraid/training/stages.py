"""Times the stages of a step from outside: the parts of a method, its views, its loss terms."""

import sys
import time
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from functools import wraps
from typing import Any

import torch
from torch import nn
from torch.profiler import record_function

from unbraid.methods.base import Method


class StageTimer:
    """Seconds and calls of nested stages; the time of an inner stage is not the outer one's."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.calls: Counter[str] = Counter()
        self.open: list[tuple[str, Any]] = []
        self.since = 0.0
        self.marks: list[tuple[int, str]] = []  # the first autograd number of a stretch, its stage

    def start(self, stage: str) -> None:
        """Enter a stage."""
        self._settle()
        named = record_function(stage)
        named.__enter__()
        self.open.append((stage, named))
        self.calls[stage] += 1
        self._mark()

    def stop(self) -> None:
        """Leave the innermost stage."""
        self._settle()
        self.open.pop()[1].__exit__(None, None, None)
        self._mark()

    def _settle(self) -> None:
        """Count the time since the last change for the stage that was open."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        now = time.perf_counter()
        if self.open:
            self.seconds[self.open[-1][0]] += now - self.since
        self.since = now

    def _mark(self) -> None:
        stage = self.open[-1][0] if self.open else "other"
        self.marks.append((torch._C._autograd._get_sequence_nr(), stage))

    def maker(self, node: int) -> str:
        """Return the stage whose forward pass made the autograd node of this number."""
        place = bisect_right(self.marks, node, key=lambda mark: mark[0])
        return self.marks[place - 1][1] if node >= 0 and place else "other"

    def around(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, timed."""

        @wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:
            self.start(stage)
            try:
                return function(*args, **kwargs)
            finally:
                self.stop()

        return timed


def time_stages(method: Method, timer: StageTimer) -> ExitStack:
    """Time the parts, views and loss terms of a method until the returned stack is closed."""
    undo = ExitStack()
    for name, part in method.named_children():
        _time_part(part, name, timer, undo)
    homes = dict.fromkeys(kind.__module__ for kind in type(method).__mro__)
    for owner in (method, *(sys.modules[home] for home in homes if home.startswith("unbraid."))):
        for name, value in list(vars(owner).items()):
            stage = _stage_of(value)
            if stage:
                setattr(owner, name, timer.around(stage, value))
                undo.callback(setattr, owner, name, value)
    return undo


def _time_part(part: nn.Module, stage: str, timer: StageTimer, undo: ExitStack) -> None:
    """Time the calls of a part, and of its public functions beside `forward`."""
    before = part.register_forward_pre_hook(lambda *_: timer.start(stage))
    after = part.register_forward_hook(lambda *_: timer.stop(), always_call=True)
    undo.callback(before.remove)
    undo.callback(after.remove)
    for name, value in vars(type(part)).items():
        if callable(value) and not name.startswith("_") and name != "forward":
            setattr(part, name, timer.around(stage, getattr(part, name)))
            undo.callback(part.__delattr__, name)


def _stage_of(value: Any) -> str:
    """Return the stage of a function: views, or its loss term; "" for other things."""
    home = getattr(value, "__module__", None) or ""
    if not callable(value) or isinstance(value, type):
        return ""
    if home.startswith("unbraid.objectives."):
        return f"loss/{value.__name__}"
    return "views" if home.startswith("unbraid.views") else ""
