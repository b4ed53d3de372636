"""What is shown while training, on terminals of several widths and elsewhere."""

import io
import re
import time
from unittest.mock import Mock

import pytest
from lightning import Trainer
from rich.console import Console

from unbraid.training.callbacks import Clock, LogBook
from unbraid.training.cooldown import CoolDown
from unbraid.training.progress import Display
from unbraid.training.validation import Validation


def shown(width: int, *, terminal: bool, cooling: CoolDown) -> str:
    """Return the last text that a display shows after 20 steps of 3 seconds each."""
    console = Console(file=io.StringIO(), force_terminal=terminal, width=width, color_system=None)
    row = {"step": 20.0, "minutes": 1.0, "loss": 229.3, "kl_static": 27.08}
    book = Mock(spec=LogBook, row=row, notes=[], every=20)
    clock = Mock(spec=Clock, cooling=cooling, max_minutes=0.0, minutes=1.0)
    validation = Mock(spec=Validation, row={"loss": 208.8})
    display = Display(console, book, clock, validation, cooling.steps)
    display.on_train_start(Mock(spec=Trainer, global_step=0), None)
    display.began = time.monotonic() - 60
    trainer = Mock(spec=Trainer, global_step=20, world_size=1)
    display.on_train_batch_end(trainer, None, None, [0] * 64, 0)
    display.teardown(Mock(spec=Trainer), None, "fit")
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", console.file.getvalue())  # type: ignore[attr-defined]
    return [part for part in re.split(r"[\r\n]+", text) if part.strip()][-1]


def test_a_narrow_terminal_shows_loss_steps_and_the_time_left_in_one_line():
    line = shown(80, terminal=True, cooling=CoolDown(0.25, 8000))
    assert len(line) <= 80
    assert line.startswith("loss 229.3  validation 208.8")
    assert re.search(r"20/8000 +at most 399:0\d left", line)


@pytest.mark.parametrize(("width", "terminal"), [(200, True), (80, False)])
def test_where_there_is_room_every_term_is_shown(width: int, terminal: bool):
    line = shown(width, terminal=terminal, cooling=CoolDown(0.25, 8000, begin=16))
    assert "loss 229.3  kl_static 27.08  validation 208.8" in line
    assert "0:00 left" in line  # a cool-down from step 16 ends with step 20
    assert "at most" not in line
