"""How well a choice without labels agrees with labels."""

import json
from pathlib import Path

import numpy as np
import pytest

from unbraid.evaluation.protocols.probes import ProbeRow, gaps
from unbraid.runs.run import open_run
from unbraid.settings import parse_sets
from unbraid.workflows.tune.agree import agree, row
from unbraid.workflows.tune.labels import probe_gap
from unbraid.workflows.tune.search import make_search
from unbraid.workflows.tune.tuning import tune

NET = [
    "method.net.hidden=8",
    "method.static_dim=4",
    "method.dynamic_dim=4",
    "training.steps=3",
    "training.batch_size=4",
]
SERIES = ["data.train=40", "data.validation=20", "data.test=2", "data.windows=4"]
VOICES = [
    "data.speakers=3",
    "data.validation_speakers=2",
    "data.test_speakers=1",
    "data.utterances=2",
    "data.conversions=0",
]


def probed(code: str, role: str, mean: float) -> ProbeRow:
    return ProbeRow(code, role, role, "svc", mean, 0.0, 0.1)  # type: ignore[arg-type]


def test_the_probe_gap_is_the_mean_of_the_published_gaps():
    rows = [
        probed("s", "static", 0.9),
        probed("d", "static", 0.3),
        probed("s", "dynamic", 0.2),
        probed("d", "dynamic", 0.7),
    ]
    assert probe_gap(rows) == pytest.approx(np.mean(list(gaps(rows).values())))
    assert probe_gap(rows[:2]) == pytest.approx(0.6)
    assert probe_gap([]) is None


def test_agreement_is_positive_when_less_cost_means_more_score():
    agreement = row("nats", np.array([3.0, 2.0, 1.0]), "gap", np.array([0.1, 0.5, 0.3]))
    assert agreement["spearman"] == pytest.approx(0.5)
    assert (agreement["chosen"], agreement["best"]) == (0.3, 0.5)
    assert agreement["regret"] == pytest.approx(0.2)
    assert agreement["by_chance"] == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("data", "sets", "main", "others"),
    [
        ("toy-series", SERIES, "task skill", {"probe gap", "machine accuracy", "state accuracy"}),
        ("toy-voices", VOICES, "probe gap", {"EER gap"}),
    ],
)
def test_labels_are_compared_for_every_finished_trial(
    tmp_path: Path, data: str, sets: list[str], main: str, others: set[str]
):
    search = make_search(data, "dsvae", settings=parse_sets(NET + sets))
    study = tune(search, tmp_path, trials=3)
    agreement = agree(study, search)
    assert agreement["main"] == main
    assert others <= {r["metric"] for r in agreement["rows"]}
    assert {r["criterion"] for r in agreement["rows"]} == {"nats", "leakage"}
    saved = json.loads((tmp_path / "agreement.json").read_text())
    assert [trial["trial"] for trial in saved["trials"]] == [0, 1, 2]
    assert saved["split"] == "validation"
    for name in ("agreement.png", "agreement.npz"):
        assert (tmp_path / name).is_file()
    path = open_run(tmp_path / "trials" / "0").path / "labelled.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {main: 1e6}))
    assert agree(study, search)["trials"][0][main] == 1e6  # measured once


def test_two_trials_cannot_be_ranked(tmp_path: Path):
    search = make_search("toy-series", "dsvae", settings=parse_sets(NET + SERIES))
    with pytest.raises(ValueError, match="wants 3 finished trials at least, got 1"):
        agree(tune(search, tmp_path, trials=1), search)
