import json

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import unbraid
from tests.conformance.toys import toy_batch, toy_method, train
from unbraid.cli.app import app
from unbraid.evaluation.manipulate import Embedding, decode, encode
from unbraid.evaluation.protocols.modes import Mode, mode_shares, modes_of, swap_modes


@pytest.fixture(scope="module")
def method():
    model = toy_method("skd", "audio")
    train(model, toy_batch("audio"), 10)
    return model.eval()


def test_modes_are_all_columns_once_and_pairs_stay_together(method):
    modes = modes_of(method)
    assert [column for mode in modes for column in mode.columns] == list(range(10))
    for mode in modes:
        assert len(mode.columns) == (2 if mode.imag else 1)
    distance = [abs(complex(mode.real, mode.imag) - 1) for mode in modes]
    assert distance == sorted(distance)


def test_a_method_without_an_operator_has_no_modes():
    with pytest.raises(ValueError, match="DSVAE has no modes"):
        modes_of(toy_method("dsvae", "audio"))


def test_the_mode_that_carries_a_factor_is_found():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 3, 4)).astype(np.float32)
    split = unbraid.from_arrays(x, labels={"who": np.arange(600) % 2}).test
    labels, n = split.label("who"), len(split)
    s = rng.normal(size=(n, 2)).astype(np.float32)
    s[:, 1] = labels + 0.1 * s[:, 1]
    d, mask = rng.normal(size=(n, 3, 1)).astype(np.float32), np.ones((n, 3), bool)
    modes = [Mode((i,), 1.0, 0.0, "s") for i in range(2)] + [Mode((2,), 0.3, 0.0, "d")]
    first, second, path = mode_shares(modes, Embedding(s, d, mask), split, seeds=3)["who"]
    assert second > 0.95
    assert max(first, path) < 0.5


def test_the_command_shows_and_writes_the_matrix(tmp_path):
    tiny = {"static_dim": 2, "dynamic_dim": 3, "net": {"channels": [4, 4, 4]}}
    settings = {
        "data": {"train": 24, "validation": 8, "test": 20},
        "method": tiny,
        "training": {"steps": 3, "batch_size": 8},
    }
    run = unbraid.fit("toy-sprites", "skd", preset="none", settings=settings, out=tmp_path)
    result = CliRunner().invoke(app, ["modes", str(run.path)])
    assert result.exit_code == 0, result.output
    assert "mode: eigenvalue (code)" in result.output
    modes = json.loads((run.path / "modes.json").read_text())
    assert all(len(row) == len(modes["modes"]) for row in modes["shares"].values())
    assert (run.path / "figures" / "modes.png").is_file()


def test_swapping_all_modes_gives_the_other_sequence_and_none_its_own(method):
    a, b = (toy_batch("audio", seed=seed, ragged=False) for seed in (0, 1))
    every = modes_of(method)
    torch.testing.assert_close(swap_modes(method, a, b, every), decode(method, encode(method, b)))
    torch.testing.assert_close(swap_modes(method, a, b, []), decode(method, encode(method, a)))
    one = swap_modes(method, a, b, every[:1])
    assert not torch.equal(one, decode(method, encode(method, a)))
