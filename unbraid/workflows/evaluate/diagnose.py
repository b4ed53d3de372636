"""Find leakage in a run, with or without labels."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rich.table import Table as ScreenTable

import unbraid
from unbraid.data import data_title
from unbraid.evaluation.manipulate import embed
from unbraid.evaluation.protocols.diagnosis import Diagnosis
from unbraid.evaluation.protocols.diagnosis import diagnose as measure
from unbraid.evaluation.protocols.probes import ProbeRow, probe
from unbraid.evaluation.protocols.verdict import LEAKS, RECIPE, Advice, verdict
from unbraid.files import write_text
from unbraid.latents.recurrent import posterior_name
from unbraid.methods import METHODS
from unbraid.records import Spec
from unbraid.runs.plan import Plan
from unbraid.runs.recipes import RECOMMENDED
from unbraid.runs.run import OpenedRun, RunLike, opened
from unbraid.workflows.evaluate.judging import Scoring, score

Results = dict[str, Any]
CENTRED = "centred"
LONGER_FIRST = "train longer first"
LONGER = "train longer: dynamic factors leave s last"
LASTING = "try a new run with --set method.posterior=pooled, if it lasts for whole sequences"
RISE = 32.0  # of the KL weight of s, which takes the motion out of s
ONE_FRAME = (
    "try a new run with --method dbse, whose s comes from one frame, and compare (it helped on "
    "hard-sprites, not on toy-sprites)"
)
FORGETFUL = next(name for name, cls in METHODS.items() if hasattr(cls.Config(), "static_steps"))
OTHER_METHOD = RECIPE.replace("DATA", f"DATA --method {FORGETFUL}")


def diagnose(
    run: RunLike,
    *,
    split: str = "test",
    seeds: int = 3,
    judge: str = "",
    device: str = "cpu",
) -> Results:
    """Diagnose a run and write `diagnosis.json`: the numbers, the probes and the sentences.

    Args:
        run: the run, or its folder.
        split: where to measure.
        seeds: number of random splits per probe; probes are run where there are labels.
        judge: folder of a judge, who then looks at test generations too.
        device: where to encode and decode.
    """
    run = opened(run, device)
    method, part = run.model, run.corpus.split(split)
    numbers = measure(method, part)
    rows = []
    if part.labels:
        rows = probe(embed(method, part), part, classifiers=("svc", "knn"), seeds=seeds)
    judged = score(run, judge, Scoring(repeats=1, limit=500)) if judge else None
    diagnosis: Results = {
        "data": run.plan.data.name,
        "method": run.plan.method,
        "preset": run.plan.preset,
        "split": split,
        "diagnosis": asdict(numbers),
        "probes": [asdict(row) for row in rows],
        "probe_seeds": seeds,
        "judge": judged,
        "verdict": sentences(run, numbers, rows) + judged_sentences(judged),
        "training": run.about["training"],
        "unbraid": unbraid.__version__,
    }
    text = json.dumps(diagnosis, indent=1)
    write_text(run.path / "diagnosis.json", text)
    return diagnosis


def sentences(run: OpenedRun, numbers: Diagnosis, rows: list[ProbeRow]) -> list[str]:
    """Return the verdict with advice that fits the run."""
    training = run.about["training"]
    command = resume_command(run.path, run.plan, training)
    advice = advice_for(run.plan, run.corpus.spec, command)
    if not is_cut_short(run.plan, training):
        return verdict(numbers, rows, advice)
    first = (
        "Training was stopped by --max-minutes before validation stopped improving: train longer, "
        f"then judge: `{command}`."
    )
    return [first, *verdict(numbers, rows, replace(advice, d=LONGER_FIRST, s=LONGER_FIRST))]


def is_cut_short(plan: Plan, training: Mapping[str, Any]) -> bool:
    """Say whether a budget in minutes ended a run that would have stopped by itself later."""
    c = plan.training
    return bool(training.get("reason") == "budget" and c.max_minutes and c.patience)


def resume_command(path: Path, plan: Plan, training: Mapping[str, Any]) -> str:
    """Return the command that goes on with a run, with a budget that leaves it half as much again.

    Args:
        path: the run folder.
        plan: of the run.
        training: what `model.json` says of its training.
    """
    c, reason = plan.training, training.get("reason")
    words = ["unbraid", "fit", "--resume", str(path)]
    if c.max_minutes and training.get("minutes", 0.0) > c.max_minutes / 2:
        words += ["--max-minutes", f"{2 * c.max_minutes:g}"]
    elif reason in ("finished", "budget"):
        name = "steps" if c.steps else "epochs"
        words += ["--set", f"training.{name}={2 * getattr(c, name)}"]
    return shlex.join(words)


def advice_for(plan: Plan, spec: Spec, command: str = "unbraid fit --resume RUN") -> Advice:
    """Return what to try next; it never names a setting that the run has.

    What each line was measured on, and how far that carries: docs/evaluate.md. Weights can change
    in a run that goes on, a posterior needs a new one.

    Args:
        plan: of the run.
        spec: of its data.
        command: that goes on with the run.
    """
    c = plan.method_config
    posterior = posterior_name(c.posterior, spec) if hasattr(c, "posterior") else CENTRED
    weights = {
        code: f"method.{name}"
        for code, name in (("s", "w_kl_static"), ("d", "w_kl_dynamic"))
        if hasattr(c, name)
    }
    recommended = plan.preset.startswith(RECOMMENDED)
    for_d = _less_static(c, posterior, spec.kind, command) if recommended else RECIPE
    if not hasattr(c, "static_steps"):
        return Advice(for_d, OTHER_METHOD, weights)
    if spec.kind == "series" and posterior == CENTRED:
        return Advice(for_d, LASTING, weights)
    if spec.kind != "video":
        return Advice(for_d, LONGER, weights)
    return Advice(for_d, _less_dynamic(c, posterior) if recommended else RECIPE, weights)


def _less_static(c: Any, posterior: str, kind: str, command: str) -> str:
    """Return what takes static factors out of d."""
    if posterior != CENTRED:
        less = " --set method.w_kl_dynamic=3" if kind == "audio" else ""
        return f"try a new run with --set method.posterior={CENTRED}{less}"
    if not hasattr(c, "w_kl_dynamic"):
        return "train longer"
    weight = 3 * c.w_kl_dynamic
    return f"try `{command} --set method.w_kl_dynamic={weight:g}`, which leaves static factors to s"


def _less_dynamic(c: Any, posterior: str) -> str:
    """Return what takes the motion of a video out of s."""
    return ONE_FRAME if posterior == CENTRED and c.kl_static_rise >= RISE else RECIPE


def judged_sentences(judged: Results | None) -> list[str]:
    """Say which factor a judge still sees though the code that should hold it was drawn anew."""
    if judged is None:
        return []
    leaks = [
        row
        for row in judged["rows"]
        if row["metric"] == "accuracy"
        and row["kept"] in ("s", "d")
        and row["kept"] != row["role"][0]
        and row["mean"] > row["chance"] + LEAKS * (1 - row["chance"])
    ]
    return [
        f"with {row['kept']} kept and the other code drawn, a judge still sees {row['factor']}: "
        f"{100 * row['mean']:.0f} % against {100 * row['chance']:.0f} % chance."
        for row in leaks
    ] or ["a judge sees no factor that the kept code should not hold."]


def diagnosis_table(diagnosis: Results) -> ScreenTable:
    """Return the numbers of a diagnosis as a table for the screen."""
    g = diagnosis["diagnosis"]
    measured = f"{g['sequences']} {diagnosis['split']} sequences"
    head = f"{diagnosis['method']} on {data_title(diagnosis['data'])} ({measured})"
    table = ScreenTable(title=head, title_justify="left", box=None, header_style="bold")
    for name in ("", "s", "d", "wanted"):
        table.add_column(name, justify="right" if name in ("s", "d") else "left")
    for row in diagnosis_rows(g):
        table.add_row(*row)
    return table


def diagnosis_rows(g: Results) -> list[list[str]]:
    """Return a row per number: its name, for s, for d, and what one would like to see."""
    s, d = g["static_cycle"], g["dynamic_cycle"]
    low, high = g["mutual_range"]
    rows = [
        ["swap consistency: cosine with source", f"{s['kept']:.2f}", f"{d['kept']:.2f}", "1"],
        [
            "swap consistency: cosine with the other",
            f"{s['other']:.2f}",
            f"{d['other']:.2f}",
            "near 0",
        ],
        ["swap consistency: nearer to source", _pc(s["agreement"]), _pc(d["agreement"]), "100 %"],
        [
            f"retrieval@1 among {g['batch']}, swapped",
            *(_pc(code["retrieval"]) for code in (s, d)),
            "as not swapped",
        ],
        ["retrieval@1, not swapped", _pc(s["unswapped"]), _pc(d["unswapped"]), "100 %"],
        [
            f"variance explained (both: {_pc(g['explained'])})",
            *(_pc(g[f"explained_by_{name}"]) for name in ("static", "dynamic")),
            "less than both",
        ],
        ["change of s by shuffled frames", f"{g['order_change']:.2f}", "", "near 0"],
    ]
    units = [g["static_units"], g["dynamic_units"]]
    if any(units):
        active = (f"{u['active']} of {u['total']}" if u else "" for u in units)
        rows.append(["active units", *active, ""])
        rows.append(["KL, nats", *(f"{sum(u['kl']):.1f}" if u else "" for u in units), ""])
        rows.append(["I(s; d), nats", f"{g['mutual']:.2f}", "", f"{low:.2f} ({high:.2f}: full)"])
    return rows


def _pc(share: float) -> str:
    return f"{100 * share:.1f} %"
