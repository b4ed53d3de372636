import sys

import pytest

from unbraid.cli import main


@pytest.fixture
def run_program(monkeypatch, capsys):
    """Return what runs the program: words -> exit code, what it printed, what it complained."""

    def program(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["unbraid", *words])
        monkeypatch.setattr("unbraid.evaluation.protocols.probes.TREES", 10)  # quick, not good
        with pytest.raises(SystemExit) as ended:
            main()
        out = capsys.readouterr()
        return int(ended.value.code or 0), out.out, out.err

    return program
