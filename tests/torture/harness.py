"""The program in forked processes, where it can be killed, starved of disk, and measured."""

import errno
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from unbraid.cli import main

# Imported once, here, so that a forked process starts at once.
OURS = (
    "training.fit",
    "workflows.evaluate.measure",
    "workflows.evaluate.page",
    "workflows.evaluate.judging",
    "workflows.reproduce.comparison",
    "workflows.tune.tuning",
    "workflows.export.job",
    "workflows.check.preview",
    "workflows.check.examination",
    "workflows.check.terminal",
    "data.readers.tables.frames",
    "data.readers.videos",
    "data.readers.sounds",
    "screen",
)
OTHERS = (
    "sklearn.svm",
    "sklearn.ensemble",
    "sklearn.manifold",
    "sklearn.neighbors",
    "sklearn.linear_model",
    "sklearn.model_selection",
    "matplotlib.figure",
    "matplotlib.backends.backend_agg",
    "soundfile",
    "av",
)
for _name in (*(f"unbraid.{name}" for name in OURS), *OTHERS):
    import_module(_name)

SECONDS = 240  # after which a process counts as hanging
WRITES = ("os.rename", "os.remove", "os.truncate", "os.mkdir", "os.rmdir")
Fault = Literal["kill", "full"]


@dataclass(frozen=True)
class Ended:
    """How a process ended."""

    code: int  # negative: by a signal
    out: str
    err: str
    megabytes: float  # peak, all libraries included

    @property
    def sentence(self) -> bool:
        """Whether it ended in one sentence and exit code 2, as all mistakes of users do."""
        lines = self.err.strip().splitlines()
        one_sentence = (
            bool(lines) and lines[-1].startswith("Error: ") and self.err.count("Error: ") == 1
        )
        return (
            self.code == 2
            and (one_sentence or "problem:" in self.out)
            and "Traceback" not in self.err
        )


class Process:
    """The program, started in a folder with words of the command line."""

    def __init__(
        self, folder: Path, words: Sequence[object], prepare: Callable[[], None] | None = None
    ) -> None:
        self.files = [tempfile.TemporaryFile("w+", encoding="utf-8") for _ in range(2)]  # noqa: SIM115
        self.began = time.monotonic()
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            self._run(folder, [str(word) for word in words], prepare)

    def _run(self, folder: Path, words: list[str], prepare: Callable[[], None] | None) -> None:
        """Be the program, and never return."""
        code = 70
        try:
            for number, file in enumerate(self.files, start=1):
                os.dup2(file.fileno(), number)
            sys.stdout, sys.stderr = (open(n, "w", closefd=False) for n in (1, 2))  # noqa: SIM115
            warnings.resetwarnings()
            warnings.simplefilter("ignore")
            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.chdir(folder)
            sys.argv = ["unbraid", *words]
            if prepare is not None:
                prepare()
            main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def kill(self) -> None:
        """End it without a word."""
        os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> Ended:
        """Wait until it has ended; one that hangs is killed."""
        while True:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() - self.began > SECONDS:
                self.kill()
            time.sleep(0.005)
        texts = []
        for file in self.files:
            file.seek(0)
            texts.append(file.read())
            file.close()
        code = os.waitstatus_to_exitcode(status)
        return Ended(code, *texts, megabytes=usage.ru_maxrss / 1e3)


def program(folder: Path, *words: object, prepare: Callable[[], None] | None = None) -> Ended:
    """Run the program to its end."""
    return Process(folder, words, prepare).wait()


def inject(fault: Fault, number: int, root: Path) -> Callable[[], None]:
    """Return what makes the `number`-th change of files below a folder fail, once it is called.

    Opening to write, renaming, removing, truncating, making folders and fsync are changes. `kill`
    ends the process there; at an fsync the file is cut to half first, as if its rest had never
    reached the disk. `full` raises `ENOSPC` instead, from then on every time, and leaves a file
    `<root>.hit`: the program may do without what could not be written.
    """
    return _Injector(fault, number, root).begin


class _Injector:
    """Counts changes of files, and lets one of them fail."""

    def __init__(self, fault: Fault, number: int, root: Path) -> None:
        self.fault, self.number, self.root, self.count = fault, number, str(root), 0
        self.fsync = os.fsync

    def begin(self) -> None:
        os.fsync = self._sync  # type: ignore[assignment]
        sys.addaudithook(self._audit)

    def _change(self, path: Any) -> None:
        if not os.path.abspath(os.fspath(path)).startswith(self.root):  # noqa: PTH100
            return
        self.count += 1
        if self.count == self.number and self.fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.count >= self.number and self.fault == "full":
            os.close(os.open(f"{self.root}.hit", os.O_CREAT))
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _audit(self, event: str, args: tuple[Any, ...]) -> None:
        if not args or not isinstance(args[0], str | bytes | os.PathLike):
            return
        if event == "open":
            if (args[2] or 0) & (os.O_WRONLY | os.O_RDWR) or set(str(args[1])) & set("wax+"):
                self._change(args[0])
        elif event in WRITES and not (self.fault == "full" and _frees(event)):
            self._change(args[0])

    def _sync(self, handle: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{handle}"))  # noqa: PTH115
        if self.fault == "kill" and self.count + 1 == self.number and path.is_file():
            os.truncate(path, path.stat().st_size // 2)
        self._change(path)
        self.fsync(handle)


def _frees(event: str) -> bool:
    """Say whether a change needs no space."""
    return event in ("os.remove", "os.rmdir", "os.truncate")


def snapshot(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder; locks and logs of errors are no results."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in files
        if path.name not in (".lock", ".holder.json", "checked.json")
    }


def copied(source: Path, target: Path) -> Path:
    """Return a fresh copy of a folder."""
    shutil.rmtree(target, ignore_errors=True)
    return Path(shutil.copytree(source, target))


def draws(seed: int) -> random.Random:
    """Return draws that are the same every time."""
    return random.Random(seed)
