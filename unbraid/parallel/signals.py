"""Ctrl-C and SIGTERM: our own handlers for a while, the old ones afterwards."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

STOPS = (signal.SIGINT, signal.SIGTERM)
Handler = Callable[[int, Any], None]


@contextmanager
def handled(handler: Handler, *numbers: int) -> Iterator[bool]:
    """Let signals be handled so; yields False outside of the main thread, where none can be."""
    old = {}
    try:
        for number in numbers:
            old[number] = signal.signal(number, handler)
    except ValueError:  # not in the main thread: leave signals alone
        old = {}
    try:
        yield bool(old)
    finally:
        for number, before in old.items():
            signal.signal(number, before)


def end_with_parent(parent: int, seconds: float = 2.0) -> None:
    """Send this process SIGTERM when the one that started it is gone: nobody waits for it."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(seconds)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def handed_on(send: Callable[[int], None]) -> Iterator[list[int]]:
    """Have stops sent to other processes, the second one as an order to end; yields those seen."""
    signals: list[int] = []

    def hand_on(number: int, frame: Any) -> None:
        signals.append(number)
        send(number if len(signals) == 1 else signal.SIGKILL)

    with handled(hand_on, *STOPS):
        yield signals
