"""Maps, directions and leaks of an opened run, as plain values for the page."""

from dataclasses import asdict
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unbraid.data.checks.balance import value_name
from unbraid.evaluation.protocols.conclusion import conclusion
from unbraid.evaluation.protocols.embedding_map import tsne_points
from unbraid.evaluation.protocols.separation import flat_dynamic, relative_error, separate
from unbraid.files import json_values, read_json
from unbraid.studio.model.confidence import rank_by_confidence
from unbraid.studio.model.directions import Direction, label_directions, principal_directions
from unbraid.studio.model.subject import Subject

Facts = dict[str, Any]
LIMIT = 500  # examples per probe, as in the quick suite
MOST_LISTED = 24  # sequences shown of a cell of the leak matrix
Code = Literal["s", "d"]


def map_points(subject: Subject, code: Code, way: str) -> Facts:
    """Return a place in the plane for every test sequence.

    Args:
        subject: the run.
        code: s, or d flattened.
        way: pca or tsne.
    """
    codes = subject.all_codes()
    flat = codes.s if code == "s" else flat_dynamic(codes, np.arange(len(codes.d)))
    points = tsne_points(flat) if way == "tsne" else _pca(flat)
    low, high = points.min(0), points.max(0)
    places = (points - low) / np.maximum(high - low, 1e-9)
    return {"code": code, "way": way, "points": np.round(places, 4).tolist()}


def _pca(codes: NDArray[Any]) -> NDArray[np.float64]:
    from sklearn.decomposition import PCA

    if len(codes) < 3:
        raise ValueError(f"a map wants three codes at least, got {len(codes)}.")
    axes = min(2, codes.shape[1])
    points = PCA(axes, svd_solver="full").fit_transform(codes.astype(np.float64))
    return np.pad(points, ((0, 0), (0, 2 - axes)))


def find_directions(subject: Subject) -> dict[str, Direction]:
    """Return directions of s by the names that recipes use: p0, p1, ... and l0, l1, ..."""
    split, s = subject.needs_split(), subject.all_codes().s
    directions = {f"p{i}": one for i, one in enumerate(principal_directions(s, split))}
    labels = [
        one
        for f, _ in subject.factors
        if f.name in split.labels
        for one in label_directions(s, split, f)
    ]
    return directions | {f"l{i}": one for i, one in enumerate(labels)}


def direction_facts(directions: dict[str, Direction]) -> list[Facts]:
    """Return what the page says of directions."""
    return [
        {
            "id": name,
            "kind": one.kind,
            "factor": one.factor,
            "value": one.value,
            "share": round(one.share, 4),
            "linked": round(one.linked, 4),
        }
        for name, one in directions.items()
    ]


def leak_matrix(subject: Subject) -> Facts:
    """Return what each code tells of each factor, measured here or by `unbraid evaluate`."""
    measured = run_metrics(subject)
    if "separation" in measured:
        facts = {"separation": measured["separation"], "verdict": measured["verdict"][0]}
        return json_values(facts | {"source": "metrics.json", "error": measured["relative_error"]})
    method, split = subject.needs_model(), subject.needs_split()
    error = relative_error(method, split, limit=250)
    try:
        separation = asdict(separate(subject.all_codes(), split, limit=LIMIT))
    except ValueError:
        separation = None
    facts = {
        "separation": separation,
        "verdict": conclusion(separation, error),
        "source": "",
        "error": error,
    }
    return json_values(facts)


def leak_cell(subject: Subject, factor: str, code: Code, classifier: str) -> Facts:
    """Return the sequences whose label a code tells best, and those it tells worst."""
    factors = [one for one, _ in subject.factors if one.name == factor]
    if not factors or code not in ("s", "d") or classifier not in ("svc", "knn", "forest"):
        raise KeyError(f"there is no cell of {factor[:40]!r} and {code!r} in the leak matrix.")
    rows = rank_by_confidence(
        subject.all_codes(),
        subject.needs_split(),
        factors[0],
        code=code,
        classifier=classifier,
        limit=LIMIT,
    )
    return {
        "factor": factor,
        "code": code,
        "classifier": classifier,
        "right": round(float(np.mean([row.label == row.predicted for row in rows])), 4),
        "sequences": [
            {
                "id": f"t{subject.positions[row.position]}",
                "confidence": round(row.confidence, 4),
                "label": value_name(row.label, factors[0].values),
                "predicted": value_name(row.predicted, factors[0].values),
            }
            for row in rows[:MOST_LISTED]
        ],
    }


def run_metrics(subject: Subject) -> Facts:
    """Return `metrics.json` of a run; empty if there is none."""
    path = subject.run.path / "metrics.json" if subject.run else None
    if path is None or not path.is_file():
        return {}
    metrics = read_json(path)
    wanted = {"verdict", "relative_error"}
    return metrics if isinstance(metrics, dict) and wanted <= set(metrics) else {}
