"""Threads for computing: quick requests never wait for slow ones."""

import asyncio
import os
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Any, TypeVar

R = TypeVar("R")


class ThreadPools:
    """Two pools of threads, and results that are computed once.

    Quick work (a swap, a picture) runs on as many threads as there are cores, slow work (probes,
    t-SNE, opening a run) on two of its own, so that one slow request leaves the page usable.
    """

    def __init__(self) -> None:
        self.quick_pool = ThreadPoolExecutor(max(2, os.cpu_count() or 2), "studio-quick")
        self.slow_pool = ThreadPoolExecutor(2, "studio-slow")
        self.results: dict[Hashable, Future[Any]] = {}
        self.lock = Lock()

    async def quick(self, function: Callable[[], R]) -> R:
        """Return the result of a function that takes a fraction of a second."""
        return await asyncio.get_running_loop().run_in_executor(self.quick_pool, function)

    async def slow(self, function: Callable[[], R]) -> R:
        """Return the result of a function that takes seconds."""
        return await asyncio.get_running_loop().run_in_executor(self.slow_pool, function)

    async def once(self, key: Hashable, function: Callable[[], R]) -> R:
        """Return a result that is computed by the first who asks; an error is not kept."""
        return await asyncio.shield(asyncio.wrap_future(self.begin(key, function)))

    def begin(self, key: Hashable, function: Callable[[], R]) -> "Future[R]":
        """Start computing what `once` will return, unless it was started before."""
        with self.lock:
            if key not in self.results:
                self.results[key] = self.slow_pool.submit(self._run_once, key, function)
            return self.results[key]

    def _run_once(self, key: Hashable, function: Callable[[], R]) -> R:
        try:
            return function()
        except BaseException:
            with self.lock:
                self.results.pop(key, None)
            raise

    def forget(self, *start: Hashable) -> None:
        """Drop results whose key begins so."""
        with self.lock:
            for key in [
                k for k in self.results if isinstance(k, tuple) and k[: len(start)] == start
            ]:
                del self.results[key]

    def close(self) -> None:
        """Let the threads end."""
        self.quick_pool.shutdown(wait=False, cancel_futures=True)
        self.slow_pool.shutdown(wait=False, cancel_futures=True)
