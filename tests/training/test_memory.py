import platform
import subprocess
import sys

import pytest

# Blocks of 20 MB, taken and given back again and again, as in training.
PROGRAM = """
import ctypes, resource, sys
from unbraid.training.memory import reuse_memory

ctypes.CDLL(None).mallopt(-3, 1 << 20)  # every block is mapped anew
if sys.argv[1] == "yes":
    assert reuse_memory()
faults = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt
block = b"x" * (20 << 20)
del block
before = faults()
for _ in range(10):
    block = b"x" * (20 << 20)
    del block
print(faults() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="it is a setting of glibc")
def test_freed_blocks_are_used_again_without_page_faults():
    def run(what: str) -> int:
        command = [sys.executable, "-c", PROGRAM, what]
        return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    assert 10 * run("yes") < run("no")
