"""How long `import unbraid` and `unbraid --help` take, and that neither loads torch."""

import json
import resource
import statistics
import subprocess
import sys
import time
from typing import Any

PROBES = {
    "python -c pass": "",
    "import unbraid": "import unbraid",
    "unbraid --help": (
        "import sys; sys.argv = ['unbraid', '--help']\n"
        "from unbraid.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass"
    ),
}
TELL = "\nimport sys, json; print('\\n' + json.dumps('torch' in sys.modules))"


def start_up(times: int = 5) -> list[dict[str, Any]]:
    """Return seconds of each command, median over whole processes; they take turns.

    CPU seconds do not count what other programs take meanwhile.
    """
    seconds: dict[str, list[float]] = {name: [] for name in PROBES}
    cpu: dict[str, list[float]] = {name: [] for name in PROBES}
    torch: dict[str, bool] = {}
    for _ in range(times):
        for name, code in PROBES.items():
            began, used = time.perf_counter(), children_cpu()
            done = subprocess.run(
                [sys.executable, "-c", code + TELL], capture_output=True, text=True, check=True
            )
            seconds[name].append(time.perf_counter() - began)
            cpu[name].append(children_cpu() - used)
            torch[name] = json.loads(done.stdout.splitlines()[-1])
    return [
        {
            "command": name,
            "seconds": statistics.median(seconds[name]),
            "CPU seconds": statistics.median(cpu[name]),
            "loads torch": torch[name],
        }
        for name in PROBES
    ]


def children_cpu() -> float:
    """Return the CPU seconds of all processes that were started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    for row in start_up():
        print(json.dumps(row))
