"""The figures of `metrics.json` as tables, for the screen and for pages alike."""

from collections.abc import Sequence
from typing import Any

from rich.table import Table as ScreenTable

from unbraid.methods import method_label
from unbraid.report.parts import Table
from unbraid.report.published import printed
from unbraid.workflows.evaluate.diagnose import diagnosis_rows

Metrics = dict[str, Any]
NAMES = {
    "svc": "SVC",
    "forest": "random forest",
    "knn": "k-NN",
}
SCORES = {
    "accuracy": "accuracy_pct",
    "inception_score": "inception_score",
    "intra_entropy": "intra_entropy_H(y|x)",
    "inter_entropy": "inter_entropy_H(y)",
}


def all_tables(metrics: Metrics) -> list[Table]:
    """Return every table these measurements fill."""
    tables = [_separation_table(metrics["separation"])] if "separation" in metrics else []
    tables += _probe_tables(metrics)
    if "judge" in metrics:
        tables += [_judge_table(metrics["judge"]), *_published_table(metrics["judge"])]
    if "speakers" in metrics:
        tables.append(_speaker_table(metrics["speakers"], metrics.get("relative_error")))
    if "tasks" in metrics:
        tables.append(_task_table(metrics["tasks"]))
    if "diagnosis" not in metrics:
        return tables
    note = f"Measured on {metrics['diagnosis']['sequences']} test sequences, without labels."
    rows = diagnosis_rows(metrics["diagnosis"])
    return [*tables, Table("Diagnosis without labels", ("", "s", "d", "wanted"), rows, note)]


def on_screen(table: Table) -> ScreenTable:
    """Return a table for the terminal."""
    printed = ScreenTable(title=table.title, title_justify="left", box=None, header_style="bold")
    printed.min_width = len(table.title)
    for i, name in enumerate(table.columns):
        printed.add_column(name, justify="left" if i == 0 or name == "wanted" else "right")
    for row in table.rows:
        printed.add_row(*row)
    return printed


def _separation_table(separation: Metrics) -> Table:
    """Return how far each code tells each factor, and what its own code is ahead by."""
    rows = [
        [
            row["factor"],
            *(f"{100 * row[code]:.0f} %" for code in ("s", "d")),
            f"{100 * (row['s'] - row['d']) * (1 if row['role'] == 'static' else -1):.0f} %",
            f"{'s' if row['role'] == 'static' else 'd'} high",
        ]
        for row in separation["factors"]
    ]
    return Table(
        f"Separation {100 * separation['separation']:.0f} %",
        ("factor", "from s", "from d", "own - other", "wanted"),
        rows,
        "Accuracy above chance as a share of what is possible, by the strongest of SVC, k-NN and "
        "random forest; separation is the mean of own - other (100 % is best).",
    )


def _probe_tables(metrics: Metrics) -> list[Table]:
    """Return a table per classifier: accuracy from s, from d, chance, who should tell."""
    by: dict[str, dict[str, dict[str, Any]]] = {}
    for row in metrics.get("probes", []):
        by.setdefault(row["classifier"], {}).setdefault(row["factor"], {})[row["code"]] = row
    return [
        Table(
            f"Probe accuracy ({NAMES[name]})",
            ("factor", "from s", "from d", "chance", "wanted"),
            [_probe_row(factor, codes) for factor, codes in factors.items()],
            f"Accuracy on frozen codes of {metrics['sequences']} test sequences, random 80/20 "
            f"splits, mean ± std.{_grouped(factors)}{_capped(factors)}",
        )
        for name, factors in by.items()
    ]


def _grouped(factors: dict[str, dict[str, Any]]) -> str:
    """Say which sequences were kept on one side of every split, and for which factors not."""
    groups = {name: codes["s"].get("group", "") for name, codes in factors.items()}
    used, alone = set(groups.values()) - {""}, [name for name, group in groups.items() if not group]
    if not used:
        return ""
    rest = f" Split by sequence, as their classes are groups: {', '.join(alone)}." if alone else ""
    return f" Sequences of one '{used.pop()}' are on one side of a split.{rest}"


def _capped(factors: dict[str, dict[str, Any]]) -> str:
    """Say of which factors only the most frequent classes were probed."""
    some = {name: codes["s"].get("left_out", 0) for name, codes in factors.items()}
    names = [f"{name} ({count} classes left out)" for name, count in some.items() if count]
    return f" The most frequent classes only: {', '.join(names)}." if names else ""


def _probe_row(factor: str, codes: dict[str, Any]) -> list[str]:
    own = "s" if codes["s"]["role"] == "static" else "d"
    chance = f"{100 * codes['s']['chance']:.1f} %"
    return [factor, _percent(codes["s"]), _percent(codes["d"]), chance, f"{own} high"]


def _percent(row: dict[str, Any]) -> str:
    return f"{100 * row['mean']:.1f} ± {100 * row['std']:.1f} %"


def _judge_table(judged: Metrics) -> Table:
    by: dict[str, dict[str, dict[str, Any]]] = {}
    for row in judged["rows"]:
        if row["metric"] == "accuracy":
            by.setdefault(row["factor"], {})[row["kept"]] = row
    rows = [
        [
            factor,
            *(_percent(by_code[k]) for k in ("s", "d")),
            *(f"{100 * by_code[k]['mean']:.1f} %" for k in ("both", "data")),
            f"{100 * by_code['s']['chance']:.1f} %",
            f"{'s' if by_code['s']['role'] == 'static' else 'd'} high",
        ]
        for factor, by_code in by.items()
    ]
    return Table(
        "Judge accuracy on generated sequences",
        ("factor", "s kept", "d kept", "both", "data", "chance", "wanted"),
        rows,
        f"One code kept, the other drawn from the prior, {judged['repeats']} times for each of "
        f"{judged['sequences']} test sequences; `both` is reconstruction, `data` the judge itself.",
    )


def _published_table(judged: Metrics) -> list[Table]:
    """Return our scores beside the printed ones, where the data set has any."""
    rows = []
    for row in judged["rows"]:
        metric = SCORES.get(row["metric"], "")
        if (row["kept"], row["role"]) != ("d", "dynamic") or not printed(judged["data"], metric):
            continue
        factor = 100 if row["metric"] == "accuracy" else 1
        theirs = {p.method: f"{p.value:g}" for p in printed(judged["data"], metric)}
        best = printed(judged["data"], metric)[0]
        ours = f"{factor * row['mean']:.3f} ± {factor * row['std']:.3f}"
        own = theirs.get(method_label(judged["method"]), "-")
        rows.append([metric, ours, own, f"{best.value:g} ({best.method})"])
    if not rows:
        return []
    note = "Dynamics kept, static drawn. Printed numbers: see report/published.csv for the tables."
    return [Table("Beside the published numbers", ("metric", "ours", "paper", "best"), rows, note)]


def _speaker_table(metrics: Metrics, error: float | None) -> Table:
    row = [f"{100 * metrics[name]:.2f} %" for name in ("static_eer", "dynamic_eer", "gap")]
    row.append("-" if error is None else f"{100 * error:.1f} %")
    note = (
        f"{metrics['vectors']} utterances, {metrics['pairs']} pairs, cosine of mean codes. A d "
        "that tells nothing has an EER of 50 %, too: the reconstruction error shows it."
    )
    columns = ("EER of s", "EER of d", "gap", "error (share of variance)")
    return Table("Speaker verification", columns, [row], note)


def _task_table(rows: Sequence[Metrics]) -> Table:
    cells = [
        [
            row["factor"],
            row["source"],
            row["predictor"],
            score["metric"],
            f"{score['mean']:.3f} ± {score['std']:.3f}",
            f"{score['chance']:.3f}",
        ]
        for row in rows
        for score in row["scores"]
    ]
    columns = ("target", "from", "predictor", "metric", "score", "chance")
    note = "Trained on frozen training codes (or raw values), chosen on validation, scored on test."
    return Table("Prediction from codes and from raw values", columns, cells, note)
