"""Encoding a split into a file: the same codes as `embed`, part by part, stopped and gone on."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from unbraid.evaluation.manipulate import embed
from unbraid.precision import inference_precision
from unbraid.runs.run import open_run
from unbraid.workflows.export import EncodeConfig, encode, job, parts
from unbraid.workflows.export.use import Source

TWO = EncodeConfig(batch_size=2)  # 9 sequences: 5 parts, the last with a single sequence


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def stop_after(count: int, monkeypatch, stop) -> None:
    """Call `stop` when a part is to be written and `count` parts are there."""
    plain, written = parts.Parts.write, []

    def write(self: parts.Parts, part: int, batches: list) -> None:
        if len(written) == count:
            stop()
        plain(self, part, batches)
        written.append(part)

    monkeypatch.setattr(parts.Parts, "write", write)


def interrupt() -> None:
    raise KeyboardInterrupt


def stopped_run(run: Path, out: Path, *, count: int = 2) -> None:
    """Encode until `count` parts are there."""
    with pytest.MonkeyPatch.context() as patch:
        stop_after(count, patch, interrupt)
        with pytest.raises(KeyboardInterrupt):
            encode(run, Source(), out, config=TWO)


def encoded_parts(run: Path, out: Path, source: Source | None = None) -> list[int]:
    """Encode; return the parts that were not there yet."""
    written, plain = [], parts.Parts.write

    def write(self: parts.Parts, part: int, batches: list) -> None:
        written.append(part)
        plain(self, part, batches)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts.Parts, "write", write)
        encode(run, source or Source(), out, config=TWO)
    return written


def test_the_file_holds_the_codes_of_embed_in_order_with_ids_and_labels(run, tmp_path):
    assert encode(run, Source(), tmp_path / "codes.npz", config=TWO) == (tmp_path / "codes.npz",)
    opened = open_run(run)
    split = opened.corpus().test
    codes = embed(opened.model(), split, batch_size=2)
    with np.load(tmp_path / "codes.npz", allow_pickle=False) as file:
        labels = {f"label_{name}" for name in split.labels}
        assert set(file.files) == {"s", "d", "mask", "id", *labels}
        for name in ("s", "d", "mask"):
            assert np.array_equal(file[name], getattr(codes, name)), name
            assert file[name].dtype == getattr(codes, name).dtype
        assert np.array_equal(file["id"], split.rows)
        for name in split.labels:
            assert np.array_equal(file[f"label_{name}"], split.label(name)), name
    assert names(tmp_path) == ["codes.npz"]


def test_without_a_target_the_file_lies_in_the_run_folder(run, tmp_path):
    mine = shutil.copytree(run, tmp_path / "run")
    first = encode(mine, Source())
    assert first == (mine / "use" / "codes.npz",)
    assert encode(mine, Source(split="train")) == first  # our own file is replaced
    with np.load(first[0]) as file:
        assert len(file["s"]) == 12


@pytest.mark.parametrize("name", ["codes.npz", "codes.parquet"])
def test_an_interrupted_job_goes_on_and_ends_with_the_same_bytes(run, tmp_path, name):
    whole = encode(run, Source(), tmp_path / "whole" / name, config=TWO)
    target = tmp_path / "stopped" / name
    stopped_run(run, target)
    assert not target.exists()
    assert encoded_parts(run, target) == [2, 3, 4]
    for path in whole:
        assert (target.parent / path.name).read_bytes() == path.read_bytes()
    assert names(target.parent) == sorted(path.name for path in whole)


def test_sigterm_keeps_the_finished_parts(run, tmp_path, monkeypatch):
    with pytest.MonkeyPatch.context() as patch:
        stop_after(3, patch, lambda: os.kill(os.getpid(), signal.SIGTERM))
        with pytest.raises(KeyboardInterrupt):
            encode(run, Source(), tmp_path / "codes.npz", config=TWO)
    assert encoded_parts(run, tmp_path / "codes.npz") == [3, 4]


def test_a_killed_process_leaves_parts_that_can_be_used(run, tmp_path):
    target = tmp_path / "codes.npz"
    script = (
        "import os, signal, sys\n"
        "from unbraid.workflows.export import EncodeConfig, encode, parts\n"
        "from unbraid.workflows.export.use import Source\n"
        "from unbraid.precision import inference_precision\n"
        "inference_precision.set('fp32')\n"
        "parts.SEQUENCES, plain = 2, parts.np.savez\n"
        "def savez(file, **arrays):\n"
        "    plain(file, **arrays)\n"
        "    file.flush()\n"
        "    if 'part-000003' in file.name: os.kill(os.getpid(), signal.SIGKILL)\n"
        "parts.np.savez = savez\n"
        "encode(sys.argv[1], Source(), sys.argv[2], config=EncodeConfig(batch_size=2))\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", script, str(run), str(target)]
    assert subprocess.run(command, timeout=300, check=False).returncode == -signal.SIGKILL
    assert encoded_parts(run, target) == [3, 4]
    encode(run, Source(), tmp_path / "whole.npz", config=TWO)
    assert target.read_bytes() == (tmp_path / "whole.npz").read_bytes()
    assert names(tmp_path) == ["codes.npz", "whole.npz"]


def test_stopped_while_the_file_is_written_only_that_is_done_again(run, tmp_path, monkeypatch):
    target = tmp_path / "codes.npz"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job.Target, "write", lambda *_: interrupt())
        with pytest.raises(KeyboardInterrupt):
            encode(run, Source(), target, config=TWO)
    assert encoded_parts(run, target) == []
    assert target.is_file()


def test_parts_of_another_model_are_not_used(run, other_run, tmp_path, capsys):
    mine, target = shutil.copytree(run, tmp_path / "run"), tmp_path / "codes.npz"
    stopped_run(mine, target)
    shutil.rmtree(mine)
    shutil.copytree(other_run, mine)
    encode(mine, Source(), target, config=TWO, console=Console())
    assert "starting anew: model changed since the last attempt" in capsys.readouterr().out
    wanted = embed(open_run(mine).model(), open_run(mine).corpus().test, batch_size=2)
    with np.load(target) as file:
        assert np.array_equal(file["s"], wanted.s)


@pytest.mark.parametrize(
    ("source", "batch_size", "changed"),
    [(Source(split="train"), 2, "split, sequences"), (Source(), 1, "batch_size")],
)
def test_parts_of_other_settings_are_not_used(run, tmp_path, capsys, source, batch_size, changed):
    target = tmp_path / "codes.npz"
    stopped_run(run, target)
    config = EncodeConfig(batch_size=batch_size)
    encode(run, source, target, config=config, console=Console())
    assert f"starting anew: {changed} changed" in capsys.readouterr().out
    split = open_run(run).corpus().split(source.split)
    wanted = embed(open_run(run).model(), split, batch_size=batch_size)
    with np.load(target) as file:
        assert np.array_equal(file["s"], wanted.s)


def test_parts_of_another_precision_are_not_used(run, tmp_path, capsys):
    target = tmp_path / "codes.npz"
    token = inference_precision.set("fp32")
    try:
        stopped_run(run, target)
        inference_precision.set("bf16")
        encode(run, Source(), target, config=TWO, console=Console())
    finally:
        inference_precision.reset(token)
    assert "starting anew: precision changed since the last attempt" in capsys.readouterr().out


def test_parts_whose_sequences_have_changed_are_encoded_again(run, tmp_path):
    x = np.random.default_rng(0).normal(size=(6, 5, 4, 6)).astype(np.float32)
    data, target = tmp_path / "mine.npz", tmp_path / "codes.npz"
    source = Source(file=str(data))
    np.savez(data, x=x)
    with pytest.MonkeyPatch.context() as patch:
        stop_after(2, patch, interrupt)
        with pytest.raises(KeyboardInterrupt):
            encode(run, source, target, config=TWO)
    x[3] += 1  # in the second of three parts
    np.savez(data, x=x)
    assert encoded_parts(run, target, source) == [1, 2]
    encode(run, source, tmp_path / "whole.npz", config=TWO)
    assert target.read_bytes() == (tmp_path / "whole.npz").read_bytes()


def test_a_damaged_part_is_encoded_again(run, tmp_path):
    target = tmp_path / "codes.npz"
    stopped_run(run, target, count=3)
    first, second = (tmp_path / "codes.npz.parts" / f"part-00000{i}.npz" for i in range(2))
    first.write_bytes(first.read_bytes()[:100])
    content = bytearray(second.read_bytes())
    content[len(content) // 2] ^= 1
    second.write_bytes(content)
    assert encoded_parts(run, target) == [0, 1, 3, 4]
