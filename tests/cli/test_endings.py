"""However the program ends, it is one sentence and an exit code."""

import re
from pathlib import Path

import pytest


def test_an_unexpected_error_is_one_sentence_and_a_log(run_program, monkeypatch, tmp_path):
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the wheel\nhas come off")

    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("unbraid.runs.plan.make_plan", broken)
    code, _, error = run_program("fit", "toy-series")
    assert code == 1
    assert error.count("\n") == 1
    assert "unexpected RuntimeError: the wheel" in error
    log = Path(re.search(r"traceback is in (\S+\.log)", error)[1])
    assert log.parent == tmp_path
    text = log.read_text()
    assert "Traceback" in text
    assert "has come off" in text
    assert "unbraid fit toy-series" in text


@pytest.mark.parametrize("device", ["mps", "tpu", "", "meta", "cuda:x", "cpu:9"])
def test_a_device_that_is_none_is_refused(run_program, device, tmp_path):
    code, _, error = run_program("fit", "toy-series", "--device", device, "--out", str(tmp_path))
    assert code == 2
    assert "device must be auto, cpu, cuda or cuda:N" in error
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("word", ["method=3", "training=fast", "data=1"])
def test_a_section_that_is_no_table_is_refused(run_program, word, tmp_path):
    code, _, error = run_program("fit", "toy-series", "--set", word, "--out", str(tmp_path))
    assert code == 2
    assert re.search(rf"{word.partition('=')[0]} is a section .*e\.g\. --set", error)
