"""The far side of `workers.py`: one measurement in a process of its own.

Reads numbers of repetitions from standard input, 0 to end; writes one JSON object per line. What
the measured code prints goes to standard error instead.
"""

import json
import os
import resource
import sys
from pathlib import Path
from typing import Any


class Link:
    """The pipe to the process that asks."""

    def __init__(self) -> None:
        self.out = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)
        self.floor = 0.0

    def say(self, facts: dict[str, Any]) -> None:
        """Write one line."""
        print(json.dumps(facts), file=self.out, flush=True)

    def ask(self, facts: dict[str, Any]) -> int:
        """Tell how the last turn went (first: that all is ready) and return the next one's size."""
        if not self.floor:
            self.floor = memory("VmRSS")
            facts = {"ready": True}
        self.say(facts)
        times = int(sys.stdin.readline() or 0)
        if times == 0:
            self.say({"peak": memory("VmHWM"), "floor": self.floor})
            os._exit(0)  # out of the middle of a training, which has nothing worth keeping
        return times


def memory(field: str) -> float:
    """Return the memory of this process in GB: `VmHWM` at its peak, `VmRSS` now.

    Linux counts them anew for every program; elsewhere the peak is what `getrusage` says.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        for line in status.read_text().splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1]) * 1024 / 1e9
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def main() -> None:
    """Do the job given as JSON in the first argument."""
    job, link = json.loads(sys.argv[1]), Link()
    try:
        work(job, link)
    except (ValueError, KeyError) as error:
        link.say({"error": str(error.args[0]) if error.args else str(error)})
        sys.exit(2)


def work(job: dict[str, Any], link: Link) -> None:
    """Take turns until the other side ends it."""
    from benchmarks import subjects

    if job["kind"] == "train":
        subjects.train(job, link.ask)
        return
    turn = getattr(subjects, job["kind"])(job)
    if turn is None:
        link.say({"nothing": True})
        return
    facts: dict[str, Any] = {}
    while True:
        facts = turn(link.ask(facts))


if __name__ == "__main__":
    main()
