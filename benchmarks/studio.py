"""Swaps under load, and memory over many of them: `python -m benchmarks.studio RUN`.

Starts `unbraid studio RUN` on loopback, asks for swaps from 50 connections at once for a minute,
then for 1,000 swaps one after the other, and prints start time, errors, latencies and memory.
"""

import argparse
import http.client
import json
import random
import re
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CONNECTIONS, SECONDS, SWAPS = 50, 60.0, 1000


@contextmanager
def studio(run: str) -> Iterator[tuple[int, int, float]]:
    """Yield port, process id and seconds until the page was served."""
    began = time.monotonic()
    command = [sys.executable, "-m", "unbraid", "studio", run, "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        port = int(re.search(r":(\d+)/", line)[1])  # type: ignore[index]
        ask(http.client.HTTPConnection("127.0.0.1", port, timeout=60), "/")
        yield port, process.pid, time.monotonic() - began
    finally:
        process.terminate()
        process.wait()


def ask(connection: http.client.HTTPConnection, path: str) -> tuple[int, bytes]:
    """Return status and body of an answer."""
    connection.request("GET", path)
    answer = connection.getresponse()
    return answer.status, answer.read()


def swap_path(key: str, items: list[str]) -> str:
    """Return the address of a random swap."""
    s, d = random.choice(items), random.choice(items)
    return f"/api/runs/{key}/sequence.png?s={s}&d={d}"


def load(port: int, key: str, items: list[str], seconds: float) -> tuple[list[float], int]:
    """Return the seconds of every answer, and how many were errors."""
    times: list[float] = []
    errors = [0]
    end = time.monotonic() + seconds

    def work() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        while time.monotonic() < end:
            began = time.monotonic()
            try:
                status, _ = ask(connection, swap_path(key, items))
            except OSError:
                status = 0
                connection.close()
            times.append(time.monotonic() - began)
            errors[0] += status != 200

    threads = [threading.Thread(target=work) for _ in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times, errors[0]


def resident(pid: int) -> float:
    """Return the memory of a process in MB."""
    text = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(re.search(r"VmRSS:\s+(\d+)", text)[1]) / 1024  # type: ignore[index]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    asked = parser.parse_args()
    with studio(asked.run) as (port, pid, start):
        print(f"page served after {start:.2f} s")
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
        key = json.loads(ask(connection, "/api/studio")[1])["runs"][0]["key"]
        items = [item["id"] for item in json.loads(ask(connection, f"/api/runs/{key}")[1])["items"]]
        ask(connection, f"/api/runs/{key}/map")  # all codes are there
        single = sorted(_timed(connection, key, items) for _ in range(50))
        print(
            f"one swap at a time: median {1e3 * statistics.median(single):.0f} ms, "
            f"p95 {1e3 * single[47]:.0f} ms"
        )
        times, errors = load(port, key, items, asked.seconds)
        times.sort()
        print(
            f"{CONNECTIONS} at once for {asked.seconds:.0f} s: {len(times)} swaps, "
            f"{errors} errors, median {1e3 * statistics.median(times):.0f} ms, "
            f"p95 {1e3 * times[int(0.95 * len(times))]:.0f} ms"
        )
        connection.close()  # the server has given up on it; the next request opens it again
        before = resident(pid)
        for count in range(1, SWAPS + 1):
            ask(connection, swap_path(key, items))
            if count % 250 == 0:
                print(f"after {count} more swaps: {resident(pid):.1f} MB ({before:.1f} before)")


def _timed(connection: http.client.HTTPConnection, key: str, items: list[str]) -> float:
    began = time.monotonic()
    ask(connection, swap_path(key, items))
    return time.monotonic() - began


if __name__ == "__main__":
    main()
