"""Size and time of a cold `pip install` of the package and of each of its extras.

`python -m benchmarks.install unbraid-0.2.0-py3-none-any.whl` builds one environment for the package
alone, and adds every extra to a copy of it. pip's cache is switched off. Sizes are blocks on disk;
those of the empty environment (pip, setuptools) are left out.
"""

import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
LEFT_OUT = ("dev",)


def main(wheel: Path) -> None:
    """Print a row per extra: what is added to the package alone, in MiB and seconds."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder) / "base"
        subprocess.run([sys.executable, "-m", "venv", base], check=True)
        empty = disk_mib(base)
        seconds = install(base, str(wheel))
        size = disk_mib(base)
        print("| install | MiB on disk | seconds |\n| --- | --- | --- |")
        print(f"| `unbraid` | {size - empty:,.0f} | {seconds:.0f} |", flush=True)
        for extra in project["optional-dependencies"]:
            if extra in LEFT_OUT:
                continue
            copy = Path(folder) / "copy"
            shutil.copytree(base, copy, symlinks=True)
            seconds = install(copy, f"{wheel}[{extra}]")
            added = disk_mib(copy) - size
            print(f"| `unbraid[{extra}]` | + {added:,.0f} | + {seconds:.0f} |", flush=True)
            shutil.rmtree(copy)


def install(environment: Path, what: str) -> float:
    """Install into an environment and return the seconds."""
    began = time.monotonic()
    words = ["-m", "pip", "install", "--quiet", "--no-cache-dir", "-c", ROOT / "constraints.txt"]
    done = subprocess.run(
        [environment / "bin" / "python", *words, what], capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"{what}: {done.stderr[-2000:]}")
    return time.monotonic() - began


def disk_mib(folder: Path) -> float:
    """Return the blocks of all files of a folder, in MiB."""
    files = (path.lstat() for path in folder.rglob("*"))
    return sum(file.st_blocks * 512 for file in files) / 2**20


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
