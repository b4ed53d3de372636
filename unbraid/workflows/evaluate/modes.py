"""`unbraid modes RUN`: which Koopman mode of an SKD run carries which factor."""

import json
from dataclasses import asdict
from typing import Any

import numpy as np
from rich.table import Table

from unbraid.evaluation.manipulate import embed
from unbraid.evaluation.protocols.modes import Mode, mode_shares, modes_of
from unbraid.figures.mode_matrix import mode_matrix
from unbraid.figures.save import save_figure
from unbraid.files import write_text
from unbraid.runs.run import RunLike, opened

Results = dict[str, Any]


def mode_name(index: int, mode: Mode) -> str:
    """Return a mode in words.

    >>> mode_name(2, Mode((2, 3), 0.5, 0.25, "d"))
    '2: 0.50 ± 0.25i (d)'
    """
    value = f"{mode.real:.2f}" + (f" ± {mode.imag:.2f}i" if mode.imag else "")
    return f"{index}: {value} ({mode.code})"


def measure_modes(
    run: RunLike, *, split: str = "test", seeds: int = 3, device: str = "cpu"
) -> Results:
    """Measure the modes of a run; write `modes.json` and, with labels, `figures/modes.png`.

    Args:
        run: the run, or its folder; its method must be skd.
        split: where to measure.
        seeds: random splits for each probe.
        device: where to encode.
    """
    run = opened(run, device)
    modes = modes_of(run.model)
    part = run.corpus.split(split)
    shares = mode_shares(modes, embed(run.model, part), part, seeds=seeds)
    names = [mode_name(i, mode) for i, mode in enumerate(modes)]
    measurement = {"names": names, "modes": [asdict(mode) for mode in modes], "shares": shares}
    write_text(run.path / "modes.json", json.dumps(measurement, indent=1) + "\n")
    if shares:
        (run.path / "figures").mkdir(exist_ok=True)
        numbers = {name: np.array(row) for name, row in shares.items()}
        save_figure(mode_matrix(names, shares), run.path / "figures" / "modes.png", numbers)
    return measurement


def modes_table(measurement: Results) -> Table:
    """Return the matrix modes x factors for the terminal."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("mode: eigenvalue (code)", *measurement["shares"]):
        table.add_column(column)
    for i, name in enumerate(measurement["names"]):
        table.add_row(name, *(f"{100 * row[i]:.0f} %" for row in measurement["shares"].values()))
    return table
