"""Malformed inputs: exit code 2, one sentence, no file changed, and memory stays small."""

import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from tests.torture.harness import copied, program, snapshot
from tests.torture.inputs import FAMILIES, Case
from tests.torture.jobs import FIT

MEGABYTES = 1500.0  # of which the libraries take a third


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    assert program(folder, *FIT).code == 0
    return folder


@pytest.mark.parametrize("family", list(FAMILIES))
def test_a_malformed_input_is_refused(trained: Path, tmp_path: Path, report, family: str):
    strategy, count = FAMILIES[family]
    outcomes = {"refused": 0, "readable": 0}
    peak, failures = 0.0, []

    @settings(
        max_examples=count,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def campaign(case: Case) -> None:
        nonlocal peak
        folder = copied(trained, tmp_path / "job")
        shutil.rmtree(tmp_path / "cache", ignore_errors=True)
        words = case.write(folder)
        before = snapshot(folder)
        ended = program(folder, *words)
        peak = max(peak, ended.megabytes)
        outcomes["refused" if ended.code else "readable"] += 1
        changed = [
            name for name, content in snapshot(folder).items() if before.get(name) != content
        ]
        if not (ended.sentence or (ended.code == 0 and case.lenient)) or (ended.code and changed):
            failures.append(f"{case}\n  {words}\n  {ended.code} {changed} {ended.err[-600:]}")

    campaign()
    assert not failures, f"{len(failures)} of {count}:\n" + "\n".join(failures[:30])
    assert peak < MEGABYTES
    report(f"malformed {family}: {outcomes}, peak {peak:.0f} MB")
