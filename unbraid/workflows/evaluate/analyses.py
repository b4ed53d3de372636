"""The papers' analyses of a run as figures, each with its numbers beside it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from unbraid.evaluation import judge as judges
from unbraid.evaluation.manipulate import cross, encode, reconstruct, sample
from unbraid.evaluation.metrics.verification import det_curve
from unbraid.evaluation.protocols.embedding_map import tsne_points
from unbraid.evaluation.protocols.probes import MOST_CLASSES
from unbraid.evaluation.protocols.speakers import pair_scores
from unbraid.evaluation.protocols.thirds import measure_thirds
from unbraid.evaluation.protocols.view_quality import view_quality
from unbraid.figures.charts.confusion import confusion_matrix
from unbraid.figures.charts.curves import read_curves
from unbraid.figures.charts.det import det_plot
from unbraid.figures.charts.mi_curves import mi_curves
from unbraid.figures.charts.scatter import scatter_by_label
from unbraid.figures.charts.thirds import thirds_histogram
from unbraid.figures.charts.view_quality import view_quality_figure
from unbraid.figures.save import save_figure
from unbraid.figures.sequences.cross_grid import cross_gif, cross_grid, cross_spectrograms
from unbraid.figures.sequences.fixed import fixed_grid
from unbraid.figures.sequences.frames import save_picture
from unbraid.figures.sequences.series import series_plot
from unbraid.files import write_whole
from unbraid.methods.base import VariationalMethod
from unbraid.records import Codes
from unbraid.seeding import seed_draws
from unbraid.workflows.evaluate.measure import Job

CAPTIONS = {
    "fixed": "One test sequence; below it one code is kept and the other drawn from the prior.",
    "series": "A test series (dots) and what the model makes of it (line), channel by channel.",
    "cross": "Every s of the left column with every d of the top row.",
    "tsne": "t-SNE of s and of d, coloured by a static and by a dynamic factor.",
    "confusion": "What the judge sees (columns) when d is kept and s drawn, by true class (rows).",
    "mi": "Estimates of mutual information while training.",
    "thirds": "Similarity of codes within the nearest, middle and farthest third by KL.",
    "views": "How often near sequences share a factor, beside chance, by step of training.",
    "det": "Speaker verification: false accepts against false rejects.",
}
NARROW = 6  # sequences on each side of the cross grid
Side = Literal["static", "dynamic"]
DRAWS = 4  # rows below the true sequence where one code is kept


def draw_analyses(job: Job, folder: Path) -> dict[str, str]:
    """Draw every analysis this run allows into `folder`; return those that failed, and why."""
    draw: list[Callable[[Job, Path], None]] = [
        _fixed,
        _series,
        _cross,
        _tsne,
        _mi,
        _confusion,
        _det,
        _views,
    ]
    return attempt({one.__name__[1:]: partial(one, job, folder) for one in draw})


def attempt(draw: Mapping[str, Callable[[], Any]]) -> dict[str, str]:
    """Draw pictures one after the other; return those that failed, and why.

    One that cannot be drawn (of too few sequences, for example) never stops the others.
    """
    failed = {}
    for name, make in draw.items():
        try:
            make()
        except Exception as error:
            failed[f"picture {name}"] = f"it failed: {error}"
    return failed


def _fixed(job: Job, folder: Path) -> None:
    """Draw one sequence with one code kept and the other drawn several times."""
    if job.method.spec.kind != "video":
        return
    batch = job.test.take([0], job.run.device)
    seed_draws(job.run.plan.seed, "use")
    z = encode(job.method, batch)
    keep = Codes(z.s.expand(DRAWS, -1), z.d.expand(DRAWS, -1, -1))
    sides: tuple[tuple[Side, Side], ...] = (("static", "dynamic"), ("dynamic", "static"))
    for code, factor in sides:
        x = sample(job.method, DRAWS, batch.x.shape[1], keep=keep, factor=factor)
        picture = fixed_grid(batch.x[0].cpu().numpy(), x.cpu().numpy(), fixed=code)
        save_picture(folder / f"fixed-{code}.png", picture)


def _series(job: Job, folder: Path) -> None:
    """Draw a series and its reconstruction, in the units of the data, cut to its length."""
    spec = job.method.spec
    if spec.kind != "series":
        return
    batch = job.test.take([0], job.run.device)
    length = int(batch.mask.sum())
    x_hat = reconstruct(job.method, batch)
    true, decoded = (spec.to_data(x[0, :length].cpu()).numpy() for x in (batch.x, x_hat))
    known = None if batch.observed is None else batch.observed[0, :length].cpu().numpy()
    figure = series_plot(true, decoded, observed=known, channels=spec.channels)
    save_figure(figure, folder / "series.png", {"x": true, "x_hat": decoded})


def _cross(job: Job, folder: Path) -> None:
    spec, rows = job.method.spec, np.arange(2 * NARROW) * 7919 % len(job.test)
    if spec.kind == "series" or len(set(rows.tolist())) < len(rows):
        return
    a, b = (job.test.take(part, job.run.device) for part in np.split(rows, 2))
    decoded = cross(job.method, a, b).cpu().numpy()
    sides = (a.x.cpu().numpy(), b.x.cpu().numpy())
    if spec.kind == "audio":
        figure = cross_spectrograms(decoded, *sides, step=1 / spec.rate)
        save_figure(figure, folder / "cross.png", {"decoded": decoded})
        return
    save_picture(folder / "cross.png", cross_grid(decoded, *sides))
    data = cross_gif(decoded, *sides, rate=spec.rate)
    write_whole(folder / "cross.gif", lambda aside: aside.write_bytes(data))


def _tsne(job: Job, folder: Path) -> None:
    """Draw s and d by the first factor of each role that has one label per sequence."""
    spec = job.method.spec
    sides = {"static": spec.static, "dynamic": spec.dynamic}
    d = (job.codes.d * job.codes.mask[..., None]).reshape(len(job.codes.d), -1)
    for code, values in (("s", job.codes.s), ("d", d)):
        points = tsne_points(values)
        for role, factors in sides.items():
            factor = next((f for f in factors if f.classes > 1 and not f.per_step), None)
            if factor is None:
                continue
            labels = job.test.label(factor.name)
            known = labels >= 0
            if not known.any():
                continue
            title = f"{code} by {factor.name}"
            figure = scatter_by_label(points[known], labels[known], factor.values, title)
            numbers = {"points": points, "labels": labels}
            save_figure(figure, folder / f"tsne-{code}-{role}.png", numbers)


def _mi(job: Job, folder: Path) -> None:
    rows = read_curves(job.run.path / "log.csv")
    if any(name.startswith("mi_") for row in rows for name in row):
        save_figure(mi_curves(rows), folder / "mi.png", {"log": rows})


def _confusion(job: Job, folder: Path) -> None:
    """Keep d, draw s, and count what the judge sees of the first dynamic factor."""
    where = job.judge_folder
    factors = [
        f for f in job.method.spec.dynamic if 1 < f.classes <= MOST_CLASSES and not f.per_step
    ]
    if where is None or not factors:
        return
    judge, factor = judges.load_judge(where, job.run.device), factors[0]
    seed_draws(job.run.plan.seed, "use")
    counts = np.zeros((factor.classes, factor.classes), dtype=np.int64)
    split = job.test.select(slice(0, 1000))
    for start in range(0, len(split), 128):
        part = split.select(slice(start, start + 128))
        batch = part.take(slice(None), job.run.device)
        keep = encode(job.method, batch)
        x = sample(job.method, len(batch), batch.x.shape[1], keep=keep, factor="static")
        seen = judge.predict(batch.with_x(x))[factor.name].argmax(-1)
        labels = part.label(factor.name)
        np.add.at(counts, (labels[labels >= 0], seen[labels >= 0]), 1)
    figure = confusion_matrix(counts, factor.values, f"{factor.name}, d kept")
    save_figure(figure, folder / "confusion.png", {"counts": counts})


def _det(job: Job, folder: Path) -> None:
    if not {"speaker", "utterance"} <= set(job.test.labels):
        return
    pairs = pair_scores(job.codes, job.test)
    curves = {
        code: det_curve(scores, pairs.same)
        for code, scores in (("s", pairs.static), ("d", pairs.dynamic))
    }
    numbers = {
        f"{code}_{i}": part for code, parts in curves.items() for i, part in enumerate(parts)
    }
    save_figure(det_plot(curves), folder / "det.png", numbers)


def _views(job: Job, folder: Path) -> None:
    """Draw how alike the thirds are, and whether near sequences share their factors."""
    if not isinstance(job.method, VariationalMethod) or len(job.test) < 12:
        return
    thirds = {str(code): values for code, values in measure_thirds(job.method, job.test).items()}
    numbers = {
        f"{code}_{name}": part
        for code, values in thirds.items()
        for name, part in asdict(values).items()
    }
    save_figure(thirds_histogram(thirds), folder / "thirds.png", numbers)
    if job.test.labels:
        history = job.run.history()
        models = ((step, m) for step, m in history if isinstance(m, VariationalMethod))
        rows = view_quality(models, job.test)
        listed = {"rows": [asdict(row) for row in rows]}
        save_figure(view_quality_figure(rows), folder / "views.png", listed)


def drawn(folder: Path) -> Iterator[tuple[str, str, Path]]:
    """Yield (title, caption, file) of the analyses that were drawn."""
    for name, caption in CAPTIONS.items():
        for path in sorted(folder.glob(f"{name}*")):
            if path.suffix in (".png", ".gif"):
                yield path.stem.replace("-", " "), caption, path
