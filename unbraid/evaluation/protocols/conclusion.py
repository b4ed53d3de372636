"""The conclusion of a report in one sentence, from separation score and reconstruction error."""

from collections.abc import Mapping, Sequence
from typing import Any

from unbraid.evaluation.protocols.verdict import LEAKS, POOR

CLEAN, PARTIAL = 0.8, 0.4  # separation from which codes are called so; see docs/evaluate.md


def conclusion(separation: Mapping[str, Any] | None, relative_error: float) -> str:
    """Say how well s and d are apart, what they tell, what leaks, and what is lost.

    Args:
        separation: of a `Separation` as plain values; None where there are no labels.
        relative_error: squared error over that of the mean sequence.
    """
    variance = f"the codes keep {100 * (1 - relative_error):.0f} % of the data's variance"
    if separation is None:
        return f"No labels, so leakage is judged without them; {variance}."
    score, rows = separation["separation"], separation["factors"]
    word = "well apart" if score >= CLEAN else "partly apart" if score >= PARTIAL else "not apart"
    if 1 - relative_error < POOR:
        word += ", and much is lost"
    parts = [
        f"s and d are {word} (separation {100 * score:.0f} of 100; {variance}): "
        + " and ".join(
            filter(None, (_predicted(rows, "static", "s"), _predicted(rows, "dynamic", "d")))
        )
    ]
    leaks = [row for row in rows if _other(row) > LEAKS]
    listed = ", ".join(f"{r['factor']} into {_code(r)} ({100 * _other(r):.0f} %)" for r in leaks)
    parts.append(f"leaks: {listed}" if leaks else "nothing leaks")
    return "; ".join(parts) + ". Percent are of the way from chance to certainty."


def _predicted(rows: Sequence[Mapping[str, Any]], role: str, code: str) -> str:
    shares = {row["factor"]: row[code] for row in rows if row["role"] == role}
    if not shares:
        return ""
    return f"{code} tells " + ", ".join(f"{name} {100 * v:.0f} %" for name, v in shares.items())


def _code(row: Mapping[str, Any]) -> str:
    """Return the code that should not tell a factor."""
    return "d" if row["role"] == "static" else "s"


def _other(row: Mapping[str, Any]) -> float:
    return float(row[_code(row)])
