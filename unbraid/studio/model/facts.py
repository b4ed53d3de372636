"""What the page is told of runs and sequences: names, labels, lengths, curves."""

from typing import Any

import numpy as np

from unbraid.data import data_title
from unbraid.data.checks.balance import value_name
from unbraid.records import Factor, Spec
from unbraid.rows import read_rows
from unbraid.safety.names import printable
from unbraid.studio.model.analysis import Facts, run_metrics
from unbraid.studio.model.subject import Item, Subject

FORMS = {"video": ("gif", "mp4"), "audio": ("wav",), "series": ("csv",)}
MOST_ROWS = 400  # of a training curve


def subject_facts(subject: Subject) -> Facts:
    """Return what a view needs to know before it shows a sequence."""
    spec = subject.spec
    return {
        "key": subject.key,
        "kind": spec.kind,
        "length": spec.length,
        "frame": list(spec.frame),
        "rate": spec.rate,
        "channels": [printable(name) for name in spec.channels],
        "ranges": _ranges(spec),
        "sound": spec.features == "log-mel",
        "factors": [factor_facts(factor, role) for factor, role in subject.factors],
        "forms": FORMS[spec.kind],
        "trained": subject.method is not None,
        "problem": subject.problem,
        "version": subject.version,
        "items": [item_facts(item) for item in subject.items()],
    }


def _ranges(spec: Spec) -> list[list[float]]:
    """Return from where to where a chart of each channel reaches, in the units of the data."""
    if spec.kind != "series":
        return []
    offset, scale = (np.broadcast_to(part, spec.frame[-1:]) for part in (spec.offset, spec.scale))
    return [[float(o - 2 * s), float(o + 2 * s)] for o, s in zip(offset, scale, strict=True)]


def factor_facts(factor: Factor, role: str) -> Facts:
    """Return a factor with the names of its classes."""
    values = [printable(value) for value in factor.values] or list(map(str, range(factor.classes)))
    return {
        "name": factor.name,
        "role": role,
        "values": values,
        "numeric": factor.classes == 0,
        "perStep": factor.per_step,
    }


def item_facts(item: Item) -> Facts:
    """Return the id, length and labels of a sequence."""
    return {
        "id": item.id,
        "name": printable(item.name),
        "steps": item.steps,
        "labels": item_labels(item),
    }


def item_labels(item: Item) -> dict[str, Any]:
    """Return the label of every factor; of a label per step the most frequent one."""
    spec, labels = item.split.spec, {}
    for factor in (*spec.static, *spec.dynamic):
        column = item.split.labels.get(factor.name)
        if column is None:
            continue
        value = column[item.split.rows[item.row]]
        if np.ndim(value):
            value = _usual(value[: item.steps])
        labels[factor.name] = _label(factor, value)
    return labels


def _usual(values: Any) -> Any:
    known = values[values >= 0] if values.dtype.kind in "iu" else values
    if not len(known):
        return -1
    classes, counts = np.unique(known, return_counts=True)
    return classes[np.argmax(counts)]


def _label(factor: Factor, value: Any) -> Any:
    if factor.classes == 0:
        return round(float(value), 4) if np.isfinite(value) else None
    return printable(value_name(int(value), factor.values)) if value >= 0 else None


def run_facts(subject: Subject) -> Facts:
    """Return settings, measurements and training curves of a run, for a comparison."""
    run = subject.run
    if run is None:
        raise ValueError("these are data without a run: there is nothing to compare.")
    plan, metrics = run.plan, run_metrics(subject)
    training = run.about["training"] if (run.path / "model.json").is_file() else {}
    separation = metrics.get("separation") or {}
    return {
        "method": plan.method,
        "data": data_title(plan.data.name),
        "preset": plan.preset,
        "seed": plan.seed,
        "steps": training.get("steps"),
        "minutes": training.get("minutes"),
        "reason": training.get("reason", "in training"),
        "separation": _number(separation.get("separation")),
        "relative_error": _number(metrics.get("relative_error")),
        "shares": {
            key: _number(separation.get(key))
            for key in ("static_from_s", "static_from_d", "dynamic_from_d", "dynamic_from_s")
        },
        "curves": {name: curve(run.path / f"{name}.csv") for name in ("log", "validation")},
    }


def curve(path: Any) -> dict[str, list[float | None]]:
    """Return the columns of a log, thinned evenly if it is long."""
    rows = read_rows(path) if path.is_file() else []
    if not rows:
        return {}
    chosen = np.unique(np.linspace(0, len(rows) - 1, MOST_ROWS).astype(int))
    return {name: [_number(rows[i].get(name)) for i in chosen] for name in rows[0]}


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if np.isfinite(number) else None
