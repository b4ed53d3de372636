"""One published comparison, re-made: data, training, judge, evaluation, table."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from unbraid.data import data_title, load_data
from unbraid.data.collection import PARTS
from unbraid.evaluation.judge import check_judge, read_judge
from unbraid.figures.charts.curves import read_curves, training_curves
from unbraid.figures.charts.results import result_dots
from unbraid.figures.save import save_figure, save_picture
from unbraid.files import read_json, read_ours
from unbraid.settings import all_finite, at_least, closest, parse_sets
from unbraid.workflows.reproduce.markdown import comparison_of, number, verdict
from unbraid.workflows.reproduce.plan import (
    RAW,
    VARIANTS,
    Budget,
    Comparison,
    Variant,
    find_comparison,
)
from unbraid.workflows.reproduce.runs import FORMAT, SeedRun
from unbraid.workflows.reproduce.scores import judge_of, trained_otherwise
from unbraid.workflows.reproduce.table import (
    Result,
    merge_tables,
    protocol_name,
    protocol_words,
    results,
    write_tables,
)
from unbraid.workflows.reproduce.workers import one_by_one, side_by_side

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is to be re-made, and how much of it."""

    name: str  # of a comparison, or a TOML file of one's own
    seeds: int = 0  # how many; 0: the comparison's
    first_seed: int = 0  # larger: the seeds below are in the table to merge with
    epochs: int = 0  # of training for every run; 0: the comparison's
    max_minutes: float = 0.0  # likewise
    rows: tuple[str, ...] = ()  # empty: all
    protocol: str = "paper"
    out: Path = Path("runs") / "reproduce"
    workers: int = 1  # runs side by side, with one thread each; 1: one run with all threads
    merge: Path | None = None  # a results.json to put the rows into
    device: str = "cpu"

    def __post_init__(self) -> None:
        all_finite(self)
        at_least(self, 0, "seeds", "first_seed", "epochs", "max_minutes")
        at_least(self, 1, "workers")
        if self.protocol not in VARIANTS:
            raise KeyError(
                f"there is no protocol '{self.protocol}'.{closest(self.protocol, VARIANTS)}"
            )

    @property
    def variant(self) -> Variant:
        """The protocol, checked."""
        return "paper" if self.protocol == "paper" else "authors"


@dataclass(frozen=True, slots=True)
class Reproduced:
    """Where the tables are, what they say, and what could not be made."""

    page: Path
    verdict: str
    rows: list[Result]
    failed: dict[str, str]


def reproduce(
    request: Request,
    comparison: Comparison | None = None,
    *,
    console: Console | None = None,
    say: Say = lambda text: None,
) -> Reproduced:
    """Make what is not there yet of a comparison, then its tables; interrupted, it goes on later.

    Args:
        request: what to make.
        comparison: the one to make instead of that of the request's name.
        console: where the progress of single runs is shown; nowhere if None.
        say: called with a line now and then.

    Raises:
        KeyboardInterrupt: it was stopped; the tables hold what was made until then.
    """
    comparison = comparison or find_comparison(request.name)
    jobs = plan_jobs(request, comparison)
    say(f"{comparison.title}. Data: {data_title(comparison.data)}. {_amount(request, jobs)}.")
    judge = _ready(request, comparison, say)
    jobs = [replace(job, judge=judge) for job in jobs]
    folder, failed = request.out / comparison.name, dict[str, str]()
    table, ended = folder / "results.json", list[SeedRun]()

    def done(job: SeedRun, outcome: str) -> None:
        ended.append(job)
        if outcome not in ("made", "there"):
            failed[str(job)] = outcome
        say(f"[{len(ended)}/{len(jobs)}] {job}: {_said(job, outcome)}")
        write_tables(results(comparison, folder, judge), table)

    if request.workers == 1:
        one_by_one(jobs, done, console)
    else:
        side_by_side(jobs, request.workers, done, say)
    all_rows = results(comparison, folder, judge)
    page = write_tables(all_rows, table)
    rows = _of_protocol(all_rows, comparison, request.variant)
    table_rows = rows
    if request.merge is not None:
        labels = {row.label for row in comparison.choose(request.rows)}
        page = merge_tables([row for row in all_rows if row["method"] in labels], request.merge)
        table_rows = _of_protocol(read_json(request.merge), comparison, request.variant)
        _redraw(comparison, table_rows, page.parent / "docs" / "images")
    if any(row["mean"] is not None for row in rows):
        _draw(comparison, rows, folder / f"{request.variant}.png")
    _draw_training(jobs, folder / f"{request.variant}-training.png")
    return Reproduced(page, verdict(comparison, table_rows), all_rows, failed)


def _of_protocol(table: list[Result], comparison: Comparison, variant: Variant) -> list[Result]:
    """Return the rows of a comparison and protocol, in the order of the comparison."""
    protocol = protocol_name(protocol_words(comparison, variant))
    order = [row.label for row in comparison.rows]
    rows = [
        row
        for row in table
        if comparison_of(row) == comparison.given
        and protocol_name(row["protocol"]) == protocol
        and row["method"] in order
    ]
    return sorted(rows, key=lambda row: order.index(row["method"]))


def _draw(comparison: Comparison, rows: list[Result], path: Path) -> None:
    """Draw the numbers of one protocol beside the published ones."""
    save_figure(result_dots(rows, comparison.targets), path, {"rows": rows})


def _redraw(comparison: Comparison, rows: list[Result], images: Path) -> None:
    """Draw the picture of a comparison's page anew, if it has one."""
    picture = images / f"results-{comparison.name}.png"
    if picture.is_file():
        save_picture(result_dots(rows, comparison.targets), picture)


def _draw_training(jobs: list[SeedRun], path: Path) -> None:
    """Draw how the runs of one protocol were trained; nothing if there are none."""
    logs: dict[str, dict[str, list[dict[str, float]]]] = {}
    for job in jobs:
        if rows := read_curves(job.path / "log.csv"):
            logs.setdefault(job.row.label, {})[str(job.seed)] = rows
    if logs:
        drawn = training_curves({label: list(seeds.values()) for label, seeds in logs.items()})
        save_figure(drawn, path, logs)


def plan_jobs(request: Request, comparison: Comparison) -> list[SeedRun]:
    """Return every run, all rows of a seed before the next; a wrong setting is told here."""
    rows = comparison.choose(request.rows)
    comparison.protocol(request.variant)
    minutes = request.max_minutes or comparison.minutes
    seeds = request.seeds or max(1, comparison.seeds - request.first_seed)
    jobs = [
        SeedRun(
            comparison=comparison,
            variant=request.variant,
            row=row,
            seed=seed,
            budget=Budget(
                epochs=request.epochs or row.epochs or comparison.epochs, minutes=minutes
            ),
            folder=request.out / comparison.name,
            device=request.device,
        )
        for seed in range(request.first_seed, request.first_seed + seeds)
        for row in rows
    ]
    for job in jobs:
        if job.row.method != RAW:
            _ = job.plan
    return jobs


def _ready(request: Request, comparison: Comparison, say: Say) -> Path | None:
    """Prepare the data once, and the judge if one is needed; both are told before any training."""
    options = comparison.data_options(request.variant)
    corpus = load_data(comparison.data, options)
    sizes = ", ".join(f"{len(corpus.split(part))} {part}" for part in PARTS)
    say(f"data: {sizes} sequences")
    if not comparison.judged:
        return None
    how = {"say": say, "device": request.device}
    settings = parse_sets(comparison.judge)
    folder = judge_of(comparison.data, options, settings, request.out / "judges", **how)
    about = read_judge(folder)
    check_judge(about, corpus)
    weakest = min(about["accuracy"], key=about["accuracy"].__getitem__)
    say(f"judge: right on {100 * about['accuracy'][weakest]:.2f} % of its test or more ({weakest})")
    if other := trained_otherwise(about, settings):
        new = f"For a new one delete {folder}; runs are then measured again"
        say(f"judge: it was there, with {', '.join(other)}. {new}.")
    return folder


def _amount(request: Request, jobs: list[SeedRun]) -> str:
    trained = [job for job in jobs if job.row.method != RAW]
    hours = sum(job.budget.minutes for job in trained) / 60 / request.workers
    each = f" of {trained[0].budget} at most" if trained else ""
    each += f", {hours:.1f} h in all" if hours else ""
    return f"{len(jobs)} runs{each}, protocol: {request.protocol}"


def _said(job: SeedRun, outcome: str) -> str:
    """Say how a job ended, with its numbers."""
    if outcome not in ("made", "there"):
        return f"failed: {outcome}"
    scores = read_ours(job.scores, FORMAT, "file of scores")["scores"]
    values = ", ".join(f"{name} {number(value, name)}" for name, value in scores.items())
    return values if outcome == "made" else f"{values} (was there)"
