import errno
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.conformance.toys import toy_batch, toy_method, toy_spec
from unbraid.data.corpus import Split
from unbraid.records import Batch
from unbraid.rows import append_row, cut_rows, read_rows
from unbraid.runs.config import TrainingConfig
from unbraid.seeding import seed_draws
from unbraid.training.callbacks import CollapseMonitor
from unbraid.training.module import TrainingModule
from unbraid.training.validation import Validation


def split() -> Split:
    x = torch.cat([toy_batch("video", seed=seed).x for seed in (0, 1)]).numpy()
    return Split(spec=toy_spec("video"), x=x, rows=np.arange(12))


def measured(sequences: int, batch_size: int) -> tuple[TrainingModule, dict[str, float]]:
    config = TrainingConfig(batch_size=batch_size, validation_sequences=sequences)
    module = TrainingModule(toy_method("dsvae", "video"), config, seed=0, steps=10)
    validation = Validation(split(), config, Path("unused"), seed=0)
    first = validation.measure(module)
    assert validation.measure(module) == first  # the same draws each time
    return module, first


def test_validation_is_the_mean_over_sequences_with_the_same_draws_each_time():
    module, row = measured(sequences=10, batch_size=4)  # batches of 4, 4 and 2
    method = module.method.eval()
    wanted = 0.0
    order = np.random.default_rng(0).permutation(12)
    for start, stop in ((0, 4), (4, 8), (8, 10)):
        batch = Batch.full(torch.from_numpy(split().x[order[start:stop]]))
        wanted += method.loss(batch, 0)["kl_static"][1].item() * (stop - start) / 10
    assert row["kl_static"] == pytest.approx(wanted, rel=1e-5)
    assert row["loss"] == pytest.approx(
        row["reconstruction"] + row["kl_static"] + row["kl_dynamic"], rel=1e-5
    )


def test_validation_batches_of_a_split_sorted_by_speaker_are_of_several_speakers():
    rows, config = split(), TrainingConfig(batch_size=64, validation_sequences=256)
    many = replace(rows, x=np.repeat(rows.x, 200, 0), rows=np.arange(2400))
    chosen = [Validation(many, config, Path("unused"), seed=seed).split for seed in (0, 1)]
    assert np.array_equal(chosen[0].rows, chosen[1].rows)  # the same for every run
    assert np.array_equal(np.sort(chosen[0].rows), many.some(256).rows)
    speakers = chosen[0].rows // 200
    for start in range(0, 256, 64):
        _, counts = np.unique(speakers[start : start + 64], return_counts=True)
        assert len(counts) >= 8
        assert max(counts) <= 16


def test_the_loss_that_patience_compares_has_the_weights_of_the_end_of_a_warm_up():
    config = TrainingConfig(batch_size=6, patience=3)
    method = toy_method("dsvae", "video", kl_warmup_steps=50)
    module = TrainingModule(method, config, seed=0, steps=100)
    validation = Validation(split(), config, Path("unused"), seed=0, steps=(2, 100))
    row = validation.measure(module)
    assert module.global_step == 0
    assert row["loss"] == pytest.approx(
        row["reconstruction"] + row["kl_static"] + row["kl_dynamic"], rel=1e-5
    )


def test_validation_leaves_the_model_as_it_was():
    module, _ = measured(sequences=12, batch_size=6)
    assert module.method.training
    for name, value in toy_method("dsvae", "video").state_dict().items():
        assert torch.equal(module.method.state_dict()[name], value), name


def test_validation_draws_are_not_those_the_model_was_made_with(monkeypatch: pytest.MonkeyPatch):
    seeds = []
    monkeypatch.setattr(
        "unbraid.training.validation.seed_draws",
        lambda *key: (seed_draws(*key), seeds.append(torch.initial_seed())),
    )
    measured(sequences=4, batch_size=4)
    seed_draws(0, "start")
    assert torch.initial_seed() not in seeds


def test_a_row_with_new_columns_keeps_the_old_rows(tmp_path: Path):
    path = tmp_path / "log.csv"
    append_row(path, {"step": 1.0, "a": 0.5})
    append_row(path, {"step": 2.0, "a": 0.25})
    append_row(path, {"step": 3.0, "a": 0.125, "b": 7.0})
    append_row(path, {"step": 4.0, "b": 8.0})
    assert [list(row.values()) for row in read_rows(path)] == [
        ["1", "0.5", ""],
        ["2", "0.25", ""],
        ["3", "0.125", "7"],
        ["4", "", "8"],
    ]
    cut_rows(path, 2)
    assert [row["step"] for row in read_rows(path)] == ["1", "2"]


def test_a_step_beyond_a_million_is_logged_exactly(tmp_path: Path):
    path = tmp_path / "log.csv"
    append_row(path, {"step": 1_234_567.0, "a": 0.5})
    append_row(path, {"step": 1_234_568.0, "a": 0.5})
    assert [row["step"] for row in read_rows(path)] == ["1234567", "1234568"]


def test_half_a_row_of_a_killed_process_is_dropped_on_resume(tmp_path: Path):
    path = tmp_path / "log.csv"
    for step in (1.0, 2.0):
        append_row(path, {"step": step, "loss": 0.5})
    with path.open("a") as file:
        file.write("1")  # of "10,0.5"
    cut_rows(path, 5)
    append_row(path, {"step": 3.0, "loss": 0.5})
    assert [row["step"] for row in read_rows(path)] == ["1", "2", "3"]


def test_a_full_disk_leaves_no_half_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "log.csv"
    append_row(path, {"step": 1.0, "loss": 0.5})
    before = path.read_bytes()

    def full(self: object, row: object) -> None:
        path.write_bytes(before + b"2,")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("csv.DictWriter.writerow", full)
    with pytest.raises(OSError, match="No space left"):
        append_row(path, {"step": 2.0, "loss": 0.5})
    assert path.read_bytes() == before


def test_a_collapse_is_said_once_and_so_is_recovery():
    monitor = CollapseMonitor(after=200)
    healthy, dead = {"kl_static": 3.0, "kl_dynamic": 5.0}, {"kl_static": 3.0, "kl_dynamic": 0.04}
    assert monitor.update(100, dead) == []  # too early to say
    assert monitor.update(220, dead) == [
        "d has collapsed at step 220: kl_dynamic is 0.040 nats, so d tells nothing of the input. "
        "Try a smaller method.w_kl_dynamic."
    ]
    assert monitor.update(240, dead) == []
    assert monitor.update(260, {"kl_static": 3.0, "kl_dynamic": 0.15}) == []  # in between
    assert monitor.update(280, healthy) == [
        "d is in use again at step 280: kl_dynamic is 5.00 nats."
    ]
    assert monitor.update(300, healthy) == []
    assert len(monitor.update(320, dead)) == 1


def test_both_codes_can_collapse_at_once():
    sentences = CollapseMonitor().update(200, {"kl_static": 0.0, "kl_dynamic": 0.0})
    assert [sentence[0] for sentence in sentences] == ["s", "d"]


def test_a_method_without_these_terms_never_collapses():
    assert CollapseMonitor().update(500, {"reconstruction": 0.0}) == []
