"""Measure a run and write its report."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.table import Table as ScreenTable

import unbraid
from unbraid.data.corpus import Split
from unbraid.evaluation.manipulate import embed, reconstruct
from unbraid.evaluation.protocols.probes import ProbeRow, gaps, probe
from unbraid.figures.bars import probe_bars
from unbraid.figures.curves import as_numbers, loss_curves
from unbraid.figures.save import save_figure
from unbraid.files import write_whole
from unbraid.methods import count_parameters
from unbraid.methods.base import Method
from unbraid.report.page import write_report
from unbraid.report.parts import Page, Picture, Table
from unbraid.report.provenance import provenance
from unbraid.tasks import use
from unbraid.training.callbacks import read_rows
from unbraid.training.fit import Run, open_run

Metrics = dict[str, Any]


def evaluate(path: str | Path, *, seeds: int = 10, device: str = "cpu") -> Metrics:
    """Measure a run on its test split and write `metrics.json`.

    Args:
        path: the run folder.
        seeds: number of random splits per probe.
        device: where to encode.
    """
    run = open_run(path)
    method, split = run.model(device), run.corpus().test
    rows = probe(embed(method, split), split, seeds=seeds)
    metrics: Metrics = {
        "data": run.plan.data,
        "method": run.plan.method,
        "preset": run.plan.preset,
        "split": "test",
        "sequences": len(split),
        "reconstruction_mse": reconstruction_mse(method, split),
        "probes": [asdict(row) for row in rows],
        "gaps": gaps(rows) if rows else {},
        "probe_seeds": seeds,
        "training": run.about["training"],
        "parameters": count_parameters(method),
        "unbraid": unbraid.__version__,
    }
    text = json.dumps(metrics, indent=1)
    write_whole(run.path / "metrics.json", lambda aside: aside.write_text(text, encoding="utf-8"))
    return metrics


@torch.inference_mode()
def reconstruction_mse(method: Method, split: Split, *, limit: int = 1000) -> float:
    """Mean squared error per counted element of the test sequences, in the model's units."""
    device = next(method.parameters()).device
    error, count = 0.0, 0.0
    for batch in split.select(slice(0, limit)).batches(128, device):
        squared = (reconstruct(method, batch) - batch.x).square()
        counts = batch.counts.expand_as(batch.x)
        error += float(squared[counts].double().sum())
        count += float(counts.sum())
    return error / max(count, 1.0)


def summary_table(metrics: Metrics) -> ScreenTable:
    """Return the figures of an evaluation as a table for the screen."""
    head = f"{metrics['method']} on {metrics['data']} ({metrics['sequences']} test sequences)"
    table = ScreenTable(title=head, title_justify="left", box=None, header_style="bold")
    for name in ("factor", "from s", "from d", "chance", "wanted"):
        table.add_column(name, justify="left" if name in ("factor", "wanted") else "right")
    for row in probe_rows(metrics):
        table.add_row(*row)
    table.caption = f"reconstruction: mean squared error {metrics['reconstruction_mse']:.5f}"
    return table


def probe_rows(metrics: Metrics) -> list[list[str]]:
    """Return a row per factor: accuracy from s, from d, chance, and which code should tell it."""
    found: dict[str, dict[str, Any]] = {}
    for row in metrics["probes"]:
        found.setdefault(row["factor"], {})[row["code"]] = row
    return [
        [
            name,
            _percent(codes["s"]),
            _percent(codes["d"]),
            f"{100 * codes['s']['chance']:.1f} %",
            f"{'s' if codes['s']['role'] == 'static' else 'd'} high",
        ]
        for name, codes in found.items()
    ]


def _percent(row: dict[str, Any]) -> str:
    return f"{100 * row['mean']:.1f} ± {100 * row['std']:.1f} %"


def verdict(metrics: Metrics) -> str:
    """Say in a sentence or two what the probes show."""
    if not metrics["probes"]:
        return "The data have no labels, so nothing was probed: look at the pictures."
    kept = [row for row in metrics["probes"] if (row["code"] == "s") == (row["role"] == "static")]
    leaks = [row for row in metrics["probes"] if row not in kept]
    weakest = min(kept, key=_above_chance)
    worst = max(leaks, key=_above_chance)
    return (
        f"Each code tells its own factors at {100 * np.mean([r['mean'] for r in kept]):.0f} % on "
        f"average; weakest: {weakest['factor']} from {weakest['code']}, "
        f"{100 * weakest['mean']:.0f} % against {100 * weakest['chance']:.0f} % chance. "
        f"Largest leak: {worst['code']} tells {worst['factor']} at {100 * worst['mean']:.0f} % "
        f"against {100 * worst['chance']:.0f} % chance."
    )


def _above_chance(row: dict[str, Any]) -> float:
    """Return how far a probe is on the way from chance (0) to certainty (1)."""
    return (row["mean"] - row["chance"]) / max(1e-9, 1 - row["chance"])


def report(path: str | Path, *, device: str = "cpu") -> Path:
    """Write `report.html` of a run; measures it first if that was not done yet."""
    run = open_run(path)
    kept = run.path / "metrics.json"
    metrics = json.loads(kept.read_text()) if kept.is_file() else evaluate(path, device=device)
    probes = Table(
        "What each code tells",
        ("factor", "from s", "from d", "chance", "wanted"),
        tuple(tuple(row) for row in probe_rows(metrics)),
        f"Accuracy of a support-vector classifier on frozen codes of {metrics['sequences']} test "
        f"sequences, {metrics['probe_seeds']} random 80/20 splits, mean ± std.",
    )
    plan = run.plan
    page = Page(
        title=f"{plan.method} on {plan.data}",
        verdict=verdict(metrics),
        facts=facts(run, metrics),
        tables=[probes] if metrics["probes"] else [],
        pictures=pictures(run, metrics, device),
        config_text=(run.path / "config.toml").read_text(encoding="utf-8"),
        provenance=provenance(run.path),
        command=f"unbraid fit {plan.data} --method {plan.method} --preset {plan.preset} "
        f"--seed {plan.seed} && unbraid report {run.path}",
    )
    return write_report(run.path, page)


def facts(run: Run, metrics: Metrics) -> list[tuple[str, str]]:
    """Return what was trained and how, as pairs of words."""
    training, plan = metrics["training"], run.plan
    return [
        ("data", f"{plan.data}, {metrics['sequences']} test sequences"),
        ("method", f"{plan.method}, {metrics['parameters']:,} parameters"),
        ("preset", plan.preset),
        (
            "training",
            f"{training['steps']} steps, {training['epochs']} epochs, "
            f"{training['minutes']} min, ended: {training['reason']}",
        ),
        ("reconstruction", f"mean squared error {metrics['reconstruction_mse']:.5f} (test)"),
    ]


def pictures(run: Run, metrics: Metrics, device: str) -> list[Picture]:
    """Make the pictures of a run in `figures/` and return them."""
    folder = run.path / "figures"
    source = use.Source(count=3, device=device)
    use.swap(run.path, source, folder)
    use.reconstruct(run.path, use.Source(count=4, device=device), folder)
    use.sample(run.path, use.Source(count=6, device=device), folder)
    use.interpolate(run.path, source, folder)
    rows, held_out = (
        as_numbers(read_rows(path)) if (path := run.path / name).is_file() else []
        for name in ("log.csv", "validation.csv")
    )
    if rows:  # a run of a few steps has none yet
        save_figure(loss_curves(rows, held_out), folder / "loss.png", {"log": rows})
    if metrics["probes"]:
        bars = probe_bars([ProbeRow(**row) for row in metrics["probes"]])
        save_figure(bars, folder / "probes.png", {"probes": metrics["probes"]})
    captions = {
        "swap": "Two test sequences a and b, then who a is doing what b does, and the reverse.",
        "reconstruct": "Test sequences and what the model makes of them.",
        "sample": "Sequences drawn from the prior.",
        "interpolate": "From one test sequence to another in s; what moves is the first one's.",
        "probes": "Accuracy of a plain classifier on each code, with chance.",
        "loss": "Every term of the loss while training; dashed: held-out sequences.",
    }
    kinds = {".gif": "image/gif", ".png": "image/png"}
    return [
        Picture(name, caption, mime, path.read_bytes(), caption)
        for name, caption in captions.items()
        for suffix, mime in kinds.items()
        if (path := folder / f"{name}{suffix}").is_file()
    ]
