"""Which code made a number."""

import subprocess
from functools import cache
from pathlib import Path

import unbraid

ROOT = Path(unbraid.__file__).parents[1]


@cache
def code_version() -> str:
    """Return the version, in a checkout with its commit and whether files were changed since."""
    if not (ROOT / ".git").exists():
        return unbraid.__version__
    words = ["git", "-C", str(ROOT), "describe", "--always", "--exclude=*", "--dirty= changed"]
    try:
        process = subprocess.run(words, capture_output=True, text=True, check=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return unbraid.__version__
    return f"{unbraid.__version__} ({process.stdout.strip()})"
