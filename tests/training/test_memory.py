import platform
import subprocess
import sys

import pytest

# Blocks below a live one on the heap: without the setting they stay with the process.
PROGRAM = """
import ctypes, re, sys
from unbraid.training.memory import LARGE, free_at_once

def kept(blocks):
    pairs = [(b"x" * (LARGE + 4096), b"x" * 200_000) for _ in range(blocks)]
    small = [pair[1] for pair in pairs]
    del pairs
    return int(re.search(r"VmRSS:\\s+(\\d+)", open("/proc/self/status").read())[1]), small

ctypes.CDLL(None).mallopt(-3, 32 << 20)  # where glibc's own rule ends up
if sys.argv[1] == "yes":
    assert free_at_once()
print(kept(20)[0])
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="it is a setting of glibc")
def test_large_blocks_are_given_back():
    def run(what: str) -> int:
        command = [sys.executable, "-c", PROGRAM, what]
        return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    assert run("yes") < run("no") - 100_000
