"""Pages: one run, or several beside each other."""

import math
import shlex
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from unbraid.data import data_title
from unbraid.evaluation.protocols.probes import ProbeRow
from unbraid.figures.charts.bars import probe_bars
from unbraid.figures.charts.curves import loss_curves, read_curves
from unbraid.figures.leak_matrix import leak_matrix
from unbraid.figures.save import save_figure
from unbraid.files import check_kinds, read_json
from unbraid.report.page import write_report
from unbraid.report.parts import Page, Picture, Table
from unbraid.report.provenance import provenance
from unbraid.runs.command import fit_command
from unbraid.runs.run import OpenedRun, RunLike, opened
from unbraid.workflows.evaluate.analyses import attempt, draw_analyses, drawn
from unbraid.workflows.evaluate.measure import Job, add_judge, measure
from unbraid.workflows.evaluate.tables import all_tables
from unbraid.workflows.export import use

Metrics = dict[str, Any]
CAPTIONS = {
    "swap": "Two test sequences a and b, then s of a with d of b, and the reverse.",
    "reconstruct": "Test sequences and what the model makes of them.",
    "sample-dynamic": "Test sequences, and the same s with dynamics drawn from the prior.",
    "sample-static": "Test sequences, and the same dynamics with s drawn from the prior.",
    "interpolate": "From one test sequence to another in s; d is the first one's.",
    "leaks": "How far each code tells each factor, by the strongest of three classifiers.",
    "probes": "Accuracy of a plain classifier on each code, with chance.",
    "loss": "Every term of the loss while training; dashed: held-out sequences.",
}
LARGEST = 2_000_000  # bytes of all pictures; the page is a third larger, and at most 3 MB
GLANCE = ("swap", "cross", "leaks")  # pictures that show the result; those of one kind are moving
MIMES = {".gif": "image/gif", ".png": "image/png"}


def report(run: RunLike, *, judge: str = "", device: str = "cpu") -> Path:
    """Write `report.html` of a run; measures it first (quick) if that was not done yet."""
    job = Job(opened(run, device), judge)
    run, plan = job.run, job.run.plan
    metrics = measured(job)
    shown, failed = pictures(job, metrics)
    glance, shown = at_a_glance(shown)
    shown, left_out = fitting(shown, LARGEST - sum(len(picture.data) for picture in glance))
    failed |= dict.fromkeys(
        left_out, f"left out to keep the page small; it is in {run.path}/figures"
    )
    skipped = [[name, reason] for name, reason in (metrics["skipped"] | failed).items()]
    tables = all_tables(metrics)
    again = shlex.join(["unbraid", "report", str(run.path)])
    if skipped:
        tables.append(Table("Not measured", ("what", "note"), skipped))
    page = Page(
        title=f"{plan.method} on {data_title(plan.data.name)}",
        verdict="\n\n".join(metrics["verdict"]),
        glance=glance,
        facts=facts(run, metrics),
        tables=tables,
        pictures=shown,
        config_text=(run.path / "config.toml").read_text(encoding="utf-8"),
        provenance=provenance(run.path),
        command=" && ".join(filter(None, (fit_command(run.run), again))),
    )
    return write_report(run.path, page)


def compare(
    paths: Sequence[str | Path], out: Path, *, judge: str = "", device: str = "cpu"
) -> Path:
    """Write `report.html` into `out`: the main figures of several runs, a swap and leaks of each.

    Runs with labels are ordered by separation, the best first.
    """
    runs = [opened(path, device) for path in paths]
    results = [measured(Job(run, judge)) for run in runs]
    order = sorted(range(len(runs)), key=lambda i: -_score(results[i]))  # the best first
    runs, results = [runs[i] for i in order], [results[i] for i in order]
    columns, rows = comparison_rows(results)
    for run, metrics in zip(runs, results, strict=True):
        use.swap(run, use.Source(count=2), run.path / "figures")
        _draw_leaks(run, metrics)
    shown = [picture for run in runs for picture in _saved(run, ("swap", "leaks"))]
    data = ", ".join(sorted({data_title(m["data"]) for m in results}))
    page = Page(
        title=f"{len(runs)} runs on {data}",
        verdict="\n\n".join(f"{m['method']}: {m['verdict'][0]}" for m in results),
        tables=[Table("Side by side", columns, rows, "Test split; gaps: own factors less others.")],
        pictures=shown,
        provenance=[(f"{m['method']} seed {m['seed']}", _training(m)) for m in results],
        command=shlex.join(["unbraid", "report", *(str(run.path) for run in runs)]),
    )
    out.mkdir(parents=True, exist_ok=True)
    return write_report(out, page)


def comparison_rows(results: Sequence[Metrics]) -> tuple[list[str], list[list[str]]]:
    """Return columns and one row per run of the figures that compare."""
    columns = ["run", "minutes", "parameters", "error", "separation", "s gap", "d gap"]
    judged = any("judge" in metrics for metrics in results)
    rows = []
    for m in results:
        gap = [f"{100 * m['gaps'][k]:.1f} %" if m["gaps"] else "-" for k in ("s_gap", "d_gap")]
        minutes = f"{m['training']['minutes']:.2f}"
        head = [f"{m['method']} ({m['preset']}, seed {m['seed']})", minutes]
        score = f"{_score(m):.0f}" if m.get("separation") else "-"
        row = [*head, f"{m['parameters']:,}", f"{m['reconstruction_mse']:.5f}", score, *gap]
        rows.append([*row, *(_judged(m) if judged else [])])
    return columns + (["dynamic, d kept", "static, s kept"] if judged else []), rows


def _judged(metrics: Metrics) -> list[str]:
    """Return the mean judged accuracy of dynamic factors with d kept, of static ones with s."""
    cells = []
    for code, role in (("d", "dynamic"), ("s", "static")):
        values = [
            row["mean"]
            for row in metrics.get("judge", {}).get("rows", [])
            if (row["kept"], row["role"], row["metric"]) == (code, role, "accuracy")
        ]
        cells.append(f"{100 * sum(values) / len(values):.1f} %" if values else "-")
    return cells


def measured(job: Job) -> Metrics:
    """Return the measurements of a run, made now if they are missing or of an earlier state.

    If a judge is asked for and the measurements have none or another, it scores the run now.
    """
    run, judge = job.run, job.judge
    saved = run.path / "metrics.json"
    try:
        metrics = read_json(saved)
        check_kinds(saved, metrics, {"training": dict, "skipped": dict, "verdict": list})
    except (OSError, ValueError):  # none, or damaged: it can be made again
        metrics = {}
    if metrics.get("training") != run.about["training"]:
        return measure(job, "quick")
    if judge and metrics.get("judge", {}).get("judge", {}).get("folder") != str(Path(judge)):
        return add_judge(run, metrics, judge)
    return metrics


def facts(run: OpenedRun, metrics: Metrics) -> list[tuple[str, str]]:
    """Return what was trained and how, as pairs of words."""
    plan = run.plan
    return [
        ("data", f"{data_title(plan.data.name)}, {metrics['sequences']} test sequences"),
        ("method", f"{plan.method}, {metrics['parameters']:,} parameters"),
        ("preset", plan.preset),
        ("training", _training(metrics)),
        ("error", f"mean squared reconstruction error {metrics['reconstruction_mse']:.5f} (test)"),
        *_relative(metrics),
    ]


def _relative(metrics: Metrics) -> list[tuple[str, str]]:
    if "relative_error" not in metrics:  # measured before it was
        return []
    return [("relative error", f"{100 * metrics['relative_error']:.1f} % of that of the mean")]


def _training(metrics: Metrics) -> str:
    t = metrics["training"]
    return f"{t['steps']} steps, {t['epochs']} epochs, {t['minutes']:.2f} min, ended: {t['reason']}"


def pictures(job: Job, metrics: Metrics) -> tuple[list[Picture], dict[str, str]]:
    """Make the pictures of a run in `figures/`; return them, and why others could not be made."""
    run, folder, few = job.run, job.run.path / "figures", use.Source(count=3)
    failed = attempt(
        {
            "swap": partial(use.swap, run, few, folder),
            "reconstruct": partial(use.reconstruct, run, few, folder),
            "sample-dynamic": partial(use.sample, run, few, folder, factor="dynamic"),
            "sample-static": partial(use.sample, run, few, folder, factor="static"),
            "interpolate": partial(use.interpolate, run, few, folder),
        }
    )
    rows, held_out = (read_curves(run.path / name) for name in ("log.csv", "validation.csv"))
    if rows:  # a run of a few steps has none yet
        save_figure(loss_curves(rows, held_out), folder / "loss.png", {"log": rows})
    _draw_leaks(run, metrics)
    if metrics.get("probes"):
        bars = probe_bars([ProbeRow(**row) for row in metrics["probes"]])
        save_figure(bars, folder / "probes.png", {"probes": metrics["probes"]})
    failed |= draw_analyses(job, folder)
    analyses = [
        Picture(title, caption, MIMES[path.suffix], path.read_bytes(), caption)
        for title, caption, path in drawn(folder)
    ]
    return [*_saved(run, tuple(CAPTIONS)), *analyses], failed


def _draw_leaks(run: OpenedRun, metrics: Metrics) -> None:
    if metrics.get("separation"):
        factors = metrics["separation"]["factors"]
        path = run.path / "figures" / "leaks.png"
        save_figure(leak_matrix(factors), path, {"factors": factors})


def _score(metrics: Metrics) -> float:
    """Return the separation of a run in percent, -inf if it has none."""
    separation = metrics.get("separation")
    return 100 * float(separation["separation"]) if separation else -math.inf


def at_a_glance(shown: Sequence[Picture]) -> tuple[list[Picture], list[Picture]]:
    """Return what shows the result, a swap (moving, if one is) and the leaks, and the rest."""
    chosen: list[Picture] = []
    for word in GLANCE:
        named = [picture for picture in shown if picture.title.startswith(word)]
        moving = [picture for picture in named if picture.mime == MIMES[".gif"]]
        if word != "cross" or not any(p.title.startswith("swap") for p in chosen):
            chosen += (moving or named)[:1]
    return chosen, [picture for picture in shown if picture not in chosen]


def fitting(shown: Sequence[Picture], limit: int) -> tuple[list[Picture], list[str]]:
    """Return the pictures that fit into so many bytes, in order, and the titles of the others."""
    fits, left_out, total = list[Picture](), list[str](), 0
    for picture in shown:
        if total + len(picture.data) <= limit:
            fits.append(picture)
            total += len(picture.data)
        else:
            left_out.append(f"picture {picture.title}")
    return fits, left_out


def _saved(run: OpenedRun, names: Sequence[str]) -> list[Picture]:
    """Return the pictures of these names that are there, moving ones first."""
    folder, who = run.path / "figures", f"{run.plan.method} on {data_title(run.plan.data.name)}"
    return [
        Picture(f"{name} ({who})", CAPTIONS[name], mime, path.read_bytes(), CAPTIONS[name])
        for name in names
        for suffix, mime in MIMES.items()
        if (path := folder / f"{name}{suffix}").is_file()
    ]
