"""Rows as Markdown tables, and facts about the machine."""

import os
import platform
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

SPEED = {
    "method": "method",
    "preset": "preset",
    "precision": "precision",
    "batch": "batch",
    "gflop_per_step": "GFLOP/step",
    "train_seq_s": "training seq/s",
    "train_peak_gb": "peak GB",
    "waiting": "waiting",
    "encode_seq_s": "encoding seq/s",
    "encode_peak_gb": "peak GB, encoding",
    "gflop_s": "GFLOP/s",
    "of_matmul": "of matmul",
    "of_convolution": "of convolution",
}
WAITING = {
    "method": "method",
    "preset": "preset",
    "data": "data",
    "train_seq_s": "training seq/s",
    "step_s": "seconds per step",
    "train_peak_gb": "peak GB",
    "waiting": "waiting",
}
BASELINE = {
    "method": "method",
    "preset": "preset",
    "precision": "precision",
    "baseline": "baseline",
    "baseline_train_seq_s": "its training seq/s",
    "train_ratio": "ours / its",
    "baseline_encode_seq_s": "its encoding seq/s",
    "encode_ratio": "ours / its, encoding",
    "baseline_train_peak_gb": "its peak GB",
    "memory_ratio": "ours / its, memory",
}
SHARES = ("waiting", "of_matmul", "of_convolution")


def markdown(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str] | None = None) -> str:
    """Return rows as a table; `columns` chooses and names them, else all are shown."""
    if not rows:
        return ""
    names = columns or {name: name for row in rows for name in row}
    lines = [list(names.values()), ["---"] * len(names)]
    lines += [[_text(key, row.get(key)) for key in names] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _text(key: str, value: Any) -> str:
    if value is None:
        return ""
    if key in SHARES:
        return f"{value:.1%}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def machine() -> dict[str, Any]:
    """Return what the numbers depend on."""
    cpu = platform.processor()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        found = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        cpu = found[0].partition(":")[2].strip() if found else cpu
    load = round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "threads": os.environ.get("OMP_NUM_THREADS", "all"),
        "load at start": load,
        "python": platform.python_version(),
        "torch": version("torch"),
        "unbraid": version("unbraid"),
        "when": time.strftime("%Y-%m-%d %H:%M"),
    }
