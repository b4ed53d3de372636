"""`unbraid compare`: several methods trained alike on the same data, and one page of all."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from unbraid.methods import find_method
from unbraid.runs.plan import make_plan
from unbraid.runs.run import Run, open_run, run_folder, torch_device
from unbraid.training.fit import fit, resume
from unbraid.workflows.evaluate.page import compare


def compare_methods(  # noqa: PLR0913
    data: str,
    methods: Sequence[str],
    *,
    settings: Mapping[str, Any],
    seed: int = 0,
    out: Path = Path("runs"),
    say: Callable[[str], None] = lambda text: None,
    device: str = "auto",
) -> Path:
    """Train methods one after the other with their recommended presets; return the page of all.

    A run that is there is used as it is if it is finished, and goes on if it is not.

    Args:
        data: a name of the catalogue, a file or a folder.
        methods: names, two at least.
        settings: the same for all, e.g. `{"training": {"max_minutes": 5.0}}`.
        seed: of every run.
        out: folder of run folders; the page lies in `<out>/<data>/comparison`.
        say: called with a line on what is being done.
        device: where to train and measure.

    Raises:
        ValueError: fewer than two methods.
    """
    if len(set(methods)) < 2:
        raise ValueError(
            f"a comparison wants two methods or more, got {', '.join(methods) or 'none'}. "
            "Give them as --methods dsvae,glr."
        )
    for name in methods:
        find_method(name)  # a misspelt one is told before anything is trained
    runs = []
    for name in dict.fromkeys(methods):
        say(f"{name}: training")
        runs.append(_run(data, name, settings=settings, seed=seed, out=out, device=device))
    say("measuring")
    folder = runs[0].path.parents[1] / "comparison"
    return compare([run.path for run in runs], folder, device=torch_device(device))


def _run(
    data: str, method: str, *, settings: Mapping[str, Any], seed: int, out: Path, device: str
) -> Run:
    plan = make_plan(data, method, settings=settings, seed=seed)
    path = run_folder(out, plan)
    if not (path / "config.toml").is_file():
        return fit(data, method, settings=settings, seed=seed, out=out, device=device)
    run = open_run(path)
    finished = (path / "model.json").is_file() and run.about["training"]["finished"]
    return run if finished else resume(path, device=device)
